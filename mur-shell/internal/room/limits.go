package room

import (
	"fmt"
	"syscall"

	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/worker"
	"github.com/mur-capsules/mur/lib/policy"
)

// rlimits are a command's: all fields of a contained session, the declared ones
// of an unconfined one (CON-28, CON-169). That of processes is the headroom alone.
func rlimits(p policy.Policy, unconfined bool) worker.Limits {
	r, d := p.Resources, p.DeclaredResources
	pick := func(value int64, declared *int64) *uint64 {
		if unconfined && declared == nil {
			return nil
		}
		v := uint64(value)
		return &v
	}
	return worker.Limits{
		OpenFiles: pick(r.MaxOpenFiles, d.MaxOpenFiles), FileSize: pick(r.MaxFileSizeBytes, d.MaxFileSizeBytes),
		CPUSeconds: pick(r.CPUSeconds, d.CPUSeconds), AddressSpace: pick(r.MemoryBytes, d.MemoryBytes),
		Processes: pick(r.MaxProcesses, d.MaxProcesses),
	}
}

// evidence is what shows which limit a command met (CON-198).
type evidence struct {
	status        syscall.WaitStatus
	before, after cgroup.Counts
	// alone: no other command of the scope ran meanwhile, so that its counters
	// prove something (CON-201).
	alone bool
}

// limitHit names the field that demonstrably ended a command or hindered it, or
// "" (CON-197 to CON-201).
func limitHit(e evidence) string {
	grew := func(before, after int64) bool { return before >= 0 && after > before }
	switch {
	case e.status.Signaled() && e.status.Signal() == syscall.SIGXCPU:
		return "cpu_seconds"
	case e.status.Signaled() && e.status.Signal() == syscall.SIGXFSZ:
		return "max_file_size_bytes"
	case grew(e.before.OOMKills, e.after.OOMKills):
		return "cgroup_memory_bytes"
	case e.alone && grew(e.before.PidsMax, e.after.PidsMax):
		return "cgroup_pids_max"
	}
	return ""
}

// LimitNote is the sentence about a limit that was met, for a resource_limit that
// limitHit named (SHL-32).
func LimitNote(field string, r policy.Resources) string {
	value := map[string]int64{
		"cpu_seconds": r.CPUSeconds, "max_file_size_bytes": r.MaxFileSizeBytes,
		"cgroup_memory_bytes": r.CgroupMemoryBytes, "cgroup_pids_max": r.CgroupPidsMax,
	}[field]
	return fmt.Sprintf("The command met the resource limit %s = %d.", field, value)
}
