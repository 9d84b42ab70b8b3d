// Package cgroup bounds a session's processes as a whole (CON section 13): one
// scope a session with its limits, one leaf below it for each worker, counters
// that say which limit was hit, and an end that leaves nothing. It works on cgroup
// v2 and v1 through the hierarchies a confine.Reading names; where they are is
// decided there. Only Linux has cgroups: elsewhere no scope can be made (CON-178).
package cgroup

// Limits are those of a scope; 0 sets none (CON-186).
type Limits struct {
	MemoryBytes uint64
	PidsMax     uint64
	CPUPercent  uint64 // of one core
}

// Counts are what a scope and a leaf have counted; a difference over a command
// says which limit ended it (CON-198 to CON-200). -1: the kernel has no counter.
type Counts struct {
	OOMKills int64 // of the leaf
	PidsMax  int64 // of the scope; v1 counts where the fork was, so the leaf's are added
}
