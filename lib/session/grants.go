package session

// Policy is the capsule's ceiling with every default filled in (SES-93, SES-94).
// An empty list denies.
type Policy struct {
	NetworkAllow              []string             `json:"network_allow"`
	UnixSockets               bool                 `json:"unix_sockets"`
	PeerFetchAllow            []string             `json:"peer_fetch_allow"`
	FilesystemScope           *string              `json:"filesystem_scope"`
	WorkdirExec               bool                 `json:"workdir_exec"`
	ReadOnly                  []string             `json:"read_only"`
	ShellAllow                []string             `json:"shell_allow"`
	ShellStripEnv             []string             `json:"shell_strip_env"`
	ShellBaselineEnv          []string             `json:"shell_baseline_env"`
	InterpreterRuntime        []InterpreterRuntime `json:"interpreter_runtime"`
	StagedRuntime             []StagedRuntime      `json:"staged_runtime"`
	DerivedInterpreterRuntime []DerivedRuntime     `json:"derived_interpreter_runtime"`
	TrustStore                []string             `json:"trust_store"`
	HostPaths                 []string             `json:"host_paths"`
	SpawnAllow                []string             `json:"spawn_allow"`
	SpawnWorkdirSnapshot      []string             `json:"spawn_workdir_snapshot"`
	EnvAllow                  []string             `json:"env_allow"`
	PlanSubmit                bool                 `json:"plan_submit"`
	InstallSkill              []string             `json:"install_skill"`
	InstallTool               []string             `json:"install_tool"`
	InstallFromSources        bool                 `json:"install_from_sources"`
	Limits                    Limits               `json:"limits"`
	DeclaredDeadlineSeconds   *int64               `json:"declared_deadline_seconds"`
	Resources                 Resources            `json:"resources"`
	DeclaredResources         DeclaredResources    `json:"declared_resources"`
	ContainmentFloor          string               `json:"containment_floor"`
	StateDeclared             bool                 `json:"state_declared"`
	ConversationDeclared      bool                 `json:"conversation_declared"`
}

// InterpreterRuntime is a grant of MAN-114 to MAN-116.
type InterpreterRuntime struct {
	Binary string       `json:"binary"`
	Dirs   []RuntimeDir `json:"dirs"`
}

// RuntimeDir is a directory of an interpreter; ListDir allows listing it.
type RuntimeDir struct {
	Path    string `json:"path"`
	ListDir bool   `json:"list_dir"`
}

// StagedRuntime is a grant of MAN-117 to MAN-119.
type StagedRuntime struct {
	Binary     string `json:"binary"`
	SourcePath string `json:"source_path"`
	Pin        string `json:"pin"`
}

// DerivedRuntime is a directory staging found an allowed binary to need.
type DerivedRuntime struct {
	Binary string `json:"binary"`
	Dir    string `json:"dir"`
}

// Limits bound one call of a guest (MAN-130 to MAN-133).
type Limits struct {
	MemoryBytes     uint64 `json:"memory_bytes"`
	TableElements   uint32 `json:"table_elements"`
	Instances       uint32 `json:"instances"`
	DeadlineSeconds int64  `json:"deadline_seconds"`
}

// Resources bound host processes (MAN-134 to MAN-143).
type Resources struct {
	MaxProcesses        int64 `json:"max_processes"`
	MaxOpenFiles        int64 `json:"max_open_files"`
	MaxFileSizeBytes    int64 `json:"max_file_size_bytes"`
	CPUSeconds          int64 `json:"cpu_seconds"`
	MemoryBytes         int64 `json:"memory_bytes"`
	CgroupMemoryBytes   int64 `json:"cgroup_memory_bytes"`
	CgroupPidsMax       int64 `json:"cgroup_pids_max"`
	CgroupCPUPercent    int64 `json:"cgroup_cpu_percent"`
	CgroupIOBytesPerSec int64 `json:"cgroup_io_bytes_per_sec"`
	WorkdirMaxBytes     int64 `json:"workdir_max_bytes"`
}

// DeclaredResources are the resources as written; nil is an omitted field.
type DeclaredResources struct {
	MaxProcesses        *int64 `json:"max_processes"`
	MaxOpenFiles        *int64 `json:"max_open_files"`
	MaxFileSizeBytes    *int64 `json:"max_file_size_bytes"`
	CPUSeconds          *int64 `json:"cpu_seconds"`
	MemoryBytes         *int64 `json:"memory_bytes"`
	CgroupMemoryBytes   *int64 `json:"cgroup_memory_bytes"`
	CgroupPidsMax       *int64 `json:"cgroup_pids_max"`
	CgroupCPUPercent    *int64 `json:"cgroup_cpu_percent"`
	CgroupIOBytesPerSec *int64 `json:"cgroup_io_bytes_per_sec"`
	WorkdirMaxBytes     *int64 `json:"workdir_max_bytes"`
}

// Containment is the class decision (CON section 3). TempMapping is
// "private-tmp" or "env-only".
type Containment struct {
	Declared    string      `json:"declared"`
	DeclaredBy  []FloorVote `json:"declared_by"`
	Achieved    string      `json:"achieved"`
	Tier        string      `json:"tier"`
	Shortfall   *string     `json:"shortfall"`
	TempMapping string      `json:"temp_mapping"`
	Unconfined  bool        `json:"unconfined"`
}

// FloorVote is one source of the floor (CON-23): manifest, global-config,
// project-config or flag.
type FloorVote struct {
	Source string `json:"source"`
	Class  string `json:"class"`
}

// HostFact says where the facts about an allowed binary came from: "probe" or
// "cache".
type HostFact struct {
	Binary string `json:"binary"`
	Path   string `json:"path"`
	Source string `json:"source"`
}

// ProtectedPath is a lowered read_only entry; Relative is beneath the work
// folder.
type ProtectedPath struct {
	Rule     string `json:"rule"`
	Relative string `json:"relative"`
}

// ToolAnnotations are the annotated paths of a tool's input (MAN-273, MAN-274).
// Templates is nil when the schema declares no usable list; an empty list says
// that the tool writes nothing its input names.
type ToolAnnotations struct {
	Destinations []string  `json:"destinations"`
	Opaque       []string  `json:"opaque"`
	Templates    *[]string `json:"templates"`
}

// HostProbe is the reading of the host that staging took (CON-48).
type HostProbe struct {
	BootID         string        `json:"boot_id"`
	KernelRelease  string        `json:"kernel_release"`
	UID            int           `json:"uid"`
	GID            int           `json:"gid"`
	Landlock       LandlockState `json:"landlock"`
	Seccomp        bool          `json:"seccomp"`
	MountNS        bool          `json:"mountns"`
	NetNS          bool          `json:"netns"`
	IPv6           bool          `json:"ipv6"`
	ProcView       string        `json:"proc_view"` // private or host
	UsernsGrant    *string       `json:"userns_grant"`
	SealedBlocker  *Blocker      `json:"sealed_blocker"`
	NetworkBlocker *Blocker      `json:"network_blocker"`
	Cgroup         CgroupState   `json:"cgroup"`
	Root           *RootState    `json:"root"`
}

// LandlockState is full, partial or absent, and the ABI number.
type LandlockState struct {
	State string `json:"state"`
	ABI   int    `json:"abi"`
}

// Blocker says what keeps a mechanism from working. Errno is 0 when none exists.
type Blocker struct {
	Name  string `json:"name"`
	Step  string `json:"step"`
	Errno int    `json:"errno"`
}

// CgroupState says which cgroup hierarchies a scope can be made in.
type CgroupState struct {
	Version     *int              `json:"version"`
	Controllers []string          `json:"controllers"`
	Hierarchies map[string]string `json:"hierarchies"`
	Blocker     *Blocker          `json:"blocker"`
}

// RootState says, for uid 0, whether commands can run as another uid (CON-278).
type RootState struct {
	RunAs   *RunAsState `json:"run_as"`
	Blocker *Blocker    `json:"blocker"`
}

// RunAsState is another uid and gid and how its files are reached.
type RunAsState struct {
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Access string `json:"access"`
}
