// Package cgroup bounds a session's processes as a whole (CON section 13): one
// scope a session with its limits, one leaf below it for each worker, counters
// that say which limit was hit, and an end that leaves nothing. It works on cgroup
// v2 and v1 through the hierarchies a confine.Reading names; where they are is
// decided there. Only Linux has cgroups: elsewhere no scope can be made (CON-178).
package cgroup

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/policy"
)

// Limits are those of a scope; 0 sets none (CON-186).
type Limits struct {
	MemoryBytes uint64
	PidsMax     uint64
	CPUPercent  uint64 // of one core
}

// LimitsOf are a session's: all of a contained one, the declared ones of an unconfined
// one (CON-28, SES-110).
func LimitsOf(p policy.Policy, unconfined bool) Limits {
	r, d := p.Resources, p.DeclaredResources
	pick := func(value int64, declared *int64) uint64 {
		if unconfined && declared == nil {
			return 0
		}
		return uint64(value)
	}
	return Limits{
		MemoryBytes: pick(r.CgroupMemoryBytes, d.CgroupMemoryBytes), PidsMax: pick(r.CgroupPidsMax, d.CgroupPidsMax),
		CPUPercent: pick(r.CgroupCPUPercent, d.CgroupCPUPercent),
	}
}

// Counts are what a scope and a leaf have counted; a difference over a command
// says which limit ended it (CON-198 to CON-200). -1: the kernel has no counter.
type Counts struct {
	OOMKills int64 // of the leaf
	PidsMax  int64 // of the scope; v1 counts where the fork was, so the leaf's are added
}

// Name is what the scope of a session is called that process pid makes (CON-185).
func Name(id string, pid int) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, id)
	return fmt.Sprintf("murmur-%s-%d-1", plain, pid)
}

// maker is the process that made a group: a scope by its name, or the probe of
// CON-183. 0 is nobody of ours.
func maker(name string) int {
	number, ok := strings.CutPrefix(name, "murmur-delegation-probe-")
	if !ok {
		scope, ours := strings.CutPrefix(name, "murmur-")
		rest, first := strings.CutSuffix(scope, "-1")
		i := strings.LastIndexByte(rest, '-')
		if !ours || !first || i <= 0 {
			return 0
		}
		number = rest[i+1:]
	}
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 || strconv.Itoa(pid) != number {
		return 0
	}
	return pid
}
