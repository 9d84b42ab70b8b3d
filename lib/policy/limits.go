package policy

// Limits bound one guest call, fully resolved (MAN-130 to MAN-133). No field
// is ever 0.
type Limits struct {
	MemoryBytes     int64 `json:"memory_bytes"`
	TableElements   int64 `json:"table_elements"`
	Instances       int64 `json:"instances"`
	DeadlineSeconds int64 `json:"deadline_seconds"`
}

// DeclaredLimits are capabilities.limits as written; nil is an omitted field.
type DeclaredLimits struct {
	MemoryBytes     *int64 `json:"memory_bytes"`
	TableElements   *int64 `json:"table_elements"`
	Instances       *int64 `json:"instances"`
	DeadlineSeconds *int64 `json:"deadline_seconds"`
}

// HookDeadlineSeconds is the deadline of a hook's lifecycle call when the
// manifest declares none (MAN-133, SES-95).
const HookDeadlineSeconds = 30

// Resolve replaces each omitted field by its default. A nil receiver is an
// absent block.
func (d *DeclaredLimits) Resolve() Limits {
	if d == nil {
		d = &DeclaredLimits{}
	}
	return Limits{
		MemoryBytes:     or(d.MemoryBytes, 512<<20),
		TableElements:   or(d.TableElements, 100_000),
		Instances:       or(d.Instances, 1000),
		DeadlineSeconds: or(d.DeadlineSeconds, 600),
	}
}

// Resources bound host processes, fully resolved (MAN-134 to MAN-143). Units
// are bytes, seconds, counts and percent of one core. In a contained session no
// field is 0; in an unconfined one an undeclared field applies nothing (MAN-144),
// which DeclaredResources tells.
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

// DeclaredResources are capabilities.resources as written; nil is an omitted
// field.
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

// Resolve replaces each omitted field by its default. A nil receiver is an
// absent block.
func (d *DeclaredResources) Resolve() Resources {
	if d == nil {
		d = &DeclaredResources{}
	}
	return Resources{
		MaxProcesses:        or(d.MaxProcesses, 128),
		MaxOpenFiles:        or(d.MaxOpenFiles, 1024),
		MaxFileSizeBytes:    or(d.MaxFileSizeBytes, 4<<30),
		CPUSeconds:          or(d.CPUSeconds, 3600),
		MemoryBytes:         or(d.MemoryBytes, 2<<30),
		CgroupMemoryBytes:   or(d.CgroupMemoryBytes, 4<<30),
		CgroupPidsMax:       or(d.CgroupPidsMax, 256),
		CgroupCPUPercent:    or(d.CgroupCPUPercent, 200),
		CgroupIOBytesPerSec: or(d.CgroupIOBytesPerSec, 100<<20),
		WorkdirMaxBytes:     or(d.WorkdirMaxBytes, 10<<30),
	}
}

// Cgroup tells whether a field that needs a cgroup scope is declared, which in
// an unconfined session is the only reason to make one (MAN-144).
func (d *DeclaredResources) Cgroup() bool {
	return d != nil && (d.CgroupMemoryBytes != nil || d.CgroupPidsMax != nil ||
		d.CgroupCPUPercent != nil || d.CgroupIOBytesPerSec != nil)
}

func or(v *int64, def int64) int64 {
	if v != nil {
		return *v
	}
	return def
}
