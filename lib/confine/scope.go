package confine

import "github.com/mur-capsules/mur/lib/policy"

// ScopeReport states everything a session may reach (CON section 6). It is what
// mur-stage --explain-scope --json prints and what the staged-session document
// and session_start carry as effective_grants. Every member is always present
// but ShortfallReason, which is absent when the floor is met (CON-55).
type ScopeReport struct {
	DeclaredContainment      policy.Class       `json:"declared_containment"`
	AchievedContainment      policy.Class       `json:"achieved_containment"`
	FloorMet                 bool               `json:"floor_met"`
	ShortfallReason          string             `json:"shortfall_reason,omitempty"`
	EnforcementTier          string             `json:"enforcement_tier"`
	UsernsGrant              *string            `json:"userns_grant"`
	FilesystemScope          *string            `json:"filesystem_scope"`
	WorkdirExec              bool               `json:"workdir_exec"`
	ReadOnlyPaths            []string           `json:"read_only_paths"`
	ReadOnlyAdvisoryFor      []string           `json:"read_only_advisory_for"`
	Preopens                 []Preopen          `json:"preopens"`
	NetworkAllow             []string           `json:"network_allow"`
	UnixSockets              bool               `json:"unix_sockets"`
	ShellAllow               []string           `json:"shell_allow"`
	SpawnAllow               []string           `json:"spawn_allow"`
	EnvAllow                 []string           `json:"env_allow"`
	PlanSubmit               bool               `json:"plan_submit"`
	InterpreterRuntimeGrants []string           `json:"interpreter_runtime_grants"`
	ExportsFiles             *FilesExport       `json:"exports_files"`
	PeerFiles                *PeerExport        `json:"peer_files"`
	PeerFetchAllow           []string           `json:"peer_fetch_allow"`
	StateStores              []StateStore       `json:"state_stores"`
	ConfiguredArtifacts      []string           `json:"configured_artifacts"`
	StagedRuntimeGrants      []string           `json:"staged_runtime_grants"`
	RuntimeWrites            []RuntimeWrite     `json:"runtime_writes"`
	IOMax                    IOMax              `json:"io_max"`
	FilesystemBoundary       FilesystemBoundary `json:"filesystem_boundary"`
	TempDir                  TempDir            `json:"temp_dir"`
	DerivedRuntimeGrants     []string           `json:"derived_runtime_grants"`
	TrustStoreGrants         []string           `json:"trust_store_grants"`
	HostPaths                []string           `json:"host_paths"`
	ParentWorkdir            *ParentWorkdir     `json:"parent_workdir"`
	InstallGrants            InstallGrants      `json:"install_grants"`
	SpawnWorkdirSnapshot     []string           `json:"spawn_workdir_snapshot"`
	ProcessBoundary          ProcessBoundary    `json:"process_boundary"`
}

// Preopen says what of the work folder a guest sees; Surface is whole-workdir,
// scoped-subtree or nothing.
type Preopen struct {
	Artifact string  `json:"artifact"`
	Role     string  `json:"role"`
	Scope    *string `json:"scope"`
	Surface  string  `json:"surface" words:"whole-workdir,scoped-subtree,nothing"`
}

// FilesExport is what the door serves of the work folder.
type FilesExport struct {
	Root     string `json:"root"`
	Mode     string `json:"mode" words:"read-only"`
	MaxBytes int64  `json:"max_bytes"`
}

// PeerExport is what peers may fetch of the work folder.
type PeerExport struct {
	Root       string `json:"root"`
	MaxTTLSecs *int64 `json:"max_ttl_secs"`
	MaxBytes   int64  `json:"max_bytes"`
}

// StateStore is a durable store granted to an artifact.
type StateStore struct {
	Artifact string `json:"artifact"`
	Store    string `json:"store"`
	HostPath string `json:"host_path"`
}

// RuntimeWrite is something the runtime itself may create in the work folder.
type RuntimeWrite struct {
	Path      string `json:"path"`
	Kind      string `json:"kind" words:"file,directory"`
	Condition string `json:"condition"`
}

// RuntimeWrites returns the two rows of SES-50, the same for every session.
func RuntimeWrites() []RuntimeWrite {
	return []RuntimeWrite{
		{Path: "peer-in", Kind: "directory", Condition: "peer-fetch"},
		{Path: "out", Kind: "directory", Condition: "script-session"},
	}
}

// IOMax says what became of the bandwidth limit: enforced, unavailable,
// not-required or not-probed.
type IOMax struct {
	DeclaredBytesPerSec *int64 `json:"declared_bytes_per_sec"`
	Status              string `json:"status" words:"enforced,unavailable,not-required,not-probed"`
	Reason              string `json:"reason,omitempty"`
}

// FilesystemBoundary says how far commands are kept to their grants: Restriction
// is advisory, enforced or absent; NotProtected holds the words of CON-58.
type FilesystemBoundary struct {
	Restriction  string   `json:"restriction" words:"advisory,enforced,absent"`
	NotProtected []string `json:"not_protected"`
}

// TempDir is the session's temporary folder and whether a literal /tmp reaches
// it: private-tmp or env-only.
type TempDir struct {
	Path    string `json:"path"`
	Mapping string `json:"mapping" words:"private-tmp,env-only"`
}

// ParentWorkdir says what a delegating parent copied into the work folder.
type ParentWorkdir struct {
	Files         int64  `json:"files"`
	Bytes         int64  `json:"bytes"`
	SourceSession string `json:"source_session"`
}

// InstallGrants say what a session may pull.
type InstallGrants struct {
	Skill       []string `json:"skill"`
	Tool        []string `json:"tool"`
	FromSources bool     `json:"from_sources"`
}

// ProcessBoundary says what commands see of other processes: ProcView is private
// or host, Signals pid-namespace, landlock or unmediated.
type ProcessBoundary struct {
	ProcView    string `json:"proc_view" words:"private,host"`
	Signals     string `json:"signals" words:"pid-namespace,landlock,unmediated"`
	LandlockABI int    `json:"landlock_abi"`
}
