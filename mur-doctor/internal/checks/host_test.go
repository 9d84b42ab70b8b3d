package checks

import (
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/policy"
)

// CON-7, CON-4: a host of another system has one row, which names no kernel option.
func TestAnotherSystem(t *testing.T) {
	b := &confine.Blocker{Name: confine.NotLinux}
	r := confine.Reading{Landlock: confine.Landlock{State: confine.LandlockAbsent}, ProcView: "host", SealedBlocker: b, NetworkBlocker: b, Cgroup: confine.Cgroup{Blocker: b}}
	rows := confinement(r, Facts{}, confine.Decide(r, policy.Sealed, nil))
	if len(rows) != 1 || rows[0].Status != Warning || rows[0].Code != "E-CAP-003" {
		t.Fatalf("%+v", rows)
	}
	for _, want := range []string{"advisory", "not-linux", "cgroup"} {
		if !strings.Contains(rows[0].Message, want) {
			t.Errorf("%q does not say %s", rows[0].Message, want)
		}
	}
	if !strings.Contains(rows[0].Remedy, "Linux virtual machine") {
		t.Errorf("remedy %q", rows[0].Remedy)
	}
}
