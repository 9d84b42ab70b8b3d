//go:build linux && cgo

package terms

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// dying is the argument that makes this program one that is killed as soon as it has
// made its scope: no room is open yet, and nobody else knows of it.
const dying = "dies-with-its-scope"

func TestMain(m *testing.M) {
	room.Init()
	if len(os.Args) == 2 && os.Args[1] == dying {
		die()
	}
	os.Exit(m.Run())
}

func die() {
	t := &Terms{ID: "test", Reading: probe.Host(), notes: NewNotes()}
	t.Decision.Declared = policy.Scoped
	t.Policy.Resources = (*policy.DeclaredResources)(nil).Resolve()
	var err error
	if t.Network, err = room.StartNetwork(context.Background(), nil, t.notes.Add); err == nil {
		err = t.makeScope()
	}
	if err != nil {
		os.Stdout.WriteString("error: " + err.Error())
		os.Exit(1)
	}
	for _, dir := range t.scope.Dirs() {
		if _, err := os.Stat(dir); err != nil {
			os.Stdout.WriteString("error: " + err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(dir + "\n")
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// However early a run is killed, it leaves no group: the holder knows of the scope
// before it is there. CON-133, CON-190
func TestKilledWithAFreshScope(t *testing.T) {
	r := probe.Host()
	if r.Cgroup.Version == nil || !r.NetNS {
		t.Skipf("no cgroup (%v) or no network namespace (%v) can be made here", r.Cgroup.Blocker, r.NetworkBlocker)
	}
	cmd := exec.Command("/proc/self/exe", dying)
	var out strings.Builder
	cmd.Stdout = &out
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v: %s", err, out.String())
	}
	dirs := strings.Fields(out.String())
	if len(dirs) == 0 {
		t.Fatal("it had no group")
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var left []string
		for _, dir := range dirs {
			if _, err := os.Stat(dir); err == nil {
				left = append(left, dir)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left %q", left)
		}
	}
}

// An unconfined run is bounded by what it declares alone, and by nothing that it does
// not. SES-110, CON-177, MAN-304
func TestWhoGetsAScope(t *testing.T) {
	one, blocker := int64(1), &confine.Blocker{Name: "delegation-missing", Step: "make a group", Errno: 13}
	for _, tc := range []struct {
		name   string
		class  policy.Class
		asked  policy.DeclaredResources
		err    string
		warned bool
	}{
		{"unconfined", policy.Unconfined, policy.DeclaredResources{}, "", false},
		{"unconfined with a limit", policy.Unconfined, policy.DeclaredResources{CgroupPidsMax: &one}, "the cgroup_* limits can not be held", false},
		{"scoped", policy.Scoped, policy.DeclaredResources{}, "", true},
		{"scoped with a limit", policy.Scoped, policy.DeclaredResources{CgroupIOBytesPerSec: &one}, "the cgroup_* limits can not be held", false},
	} {
		r := confine.Reading{Cgroup: confine.Cgroup{Blocker: blocker}, Landlock: confine.Landlock{State: confine.LandlockEnforced}}
		terms := &Terms{ID: "test", Reading: r, notes: NewNotes()}
		terms.Decision.Declared = tc.class
		terms.Policy.Resources, terms.Policy.DeclaredResources = tc.asked.Resolve(), tc.asked
		err := terms.makeScope()
		if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if (len(terms.Warnings) > 0) != tc.warned {
			t.Errorf("%s: warned of %v", tc.name, terms.Warnings)
		}
	}
}
