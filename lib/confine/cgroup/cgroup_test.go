package cgroup

import (
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
)

// CON-183, CON-185
func TestNames(t *testing.T) {
	if got := Name("ses_0a/..b\u00e9", 7); got != "murmur-ses_0ab-7-1" {
		t.Errorf("%q", got)
	}
	for name, pid := range map[string]int{
		Name("run-1796078838531-23739", 23739): 23739, Name("ses_01a22f", 4): 4,
		"murmur-delegation-probe-12": 12, "murmur-supervisor": 0, "murmur-ses-1": 0, "murmur-7-1": 0, "murmur--7-1": 0,
		"murmur-ses_x-07-1": 0, "murmur-ses_x--7-1": 7, "murmur-ses_x-0-1": 0, "murmur-ses_x-99999999999999999999-1": 0,
		"run-1-2-1": 0, "": 0, "murmur-delegation-probe-": 0, "user.slice": 0,
	} {
		if got := maker(name); got != pid {
			t.Errorf("%q is made by %d, not by %d", name, got, pid)
		}
	}
}

// CON-28, CON-186, SES-110
func TestLimitsOf(t *testing.T) {
	pids := int64(7)
	d := policy.DeclaredResources{CgroupPidsMax: &pids}
	p := policy.Policy{Resources: d.Resolve(), DeclaredResources: d}
	if got, want := LimitsOf(p, false), (Limits{MemoryBytes: 4 << 30, PidsMax: 7, CPUPercent: 200}); got != want {
		t.Errorf("contained: %+v", got)
	}
	if got, want := LimitsOf(p, true), (Limits{PidsMax: 7}); got != want {
		t.Errorf("unconfined: %+v", got)
	}
}
