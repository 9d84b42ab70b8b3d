package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/cgroups"

	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest"
)

// groupIn makes a group beside this process's own in the v2 tree, controller "", which
// a hybrid host has too, or in a v1 hierarchy that scopes would be made in.
func groupIn(t *testing.T, controller string) string {
	t.Helper()
	parent := probe.Host().Cgroup.Hierarchies[controller]
	if controller == "" {
		parent = ownV2(t)
	}
	if parent == "" {
		t.Skipf("no hierarchy with the controller %q is there for scopes", controller)
	}
	dir, err := os.MkdirTemp(parent, "murmur-kill-test-")
	if err != nil {
		t.Skipf("uid %d can not make a group: %v", os.Getuid(), err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	return dir
}

// ownV2 is this process's group in the v2 tree, "" without one.
func ownV2(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if left, right, _ := strings.Cut(line, " - "); strings.HasPrefix(right, "cgroup2 ") {
			for group := range strings.Lines(string(own)) {
				if path, ok := strings.CutPrefix(strings.TrimSpace(group), "0::"); ok {
					return filepath.Join(strings.Fields(left)[4], path)
				}
			}
		}
	}
	return ""
}

// A leaf is killed in one of three ways: in one step by cgroup.kill, frozen, and
// without a freezer again and again. In each, chains of processes that do nothing but
// start a successor in a session of its own and end are gone with what they left.
// CON-189, CON-190
func TestWaysToKill(t *testing.T) {
	for _, way := range []struct {
		name        string
		version     int
		controllers []string
		file        string // what the kernel must have for it
	}{
		{"at once", 2, []string{""}, "cgroup.kill"},
		{"frozen", 1, []string{"pids", "freezer"}, "freezer.state"},
		{"again and again", 1, []string{"pids"}, "cgroup.procs"},
	} {
		t.Run(way.name, func(t *testing.T) {
			if _, err := exec.LookPath("setsid"); err != nil {
				t.Skip("no program setsid")
			}
			l := &Leaf{scope: &Scope{version: way.version}, paths: map[string]string{}}
			last := ""
			for _, c := range way.controllers {
				last = groupIn(t, c)
				l.paths[c] = last
			}
			if _, err := os.Stat(filepath.Join(last, way.file)); err != nil {
				t.Skipf("this kernel has no %s", way.file)
			}
			if way.version == 1 { // what kills at once freezes nothing
				var err error
				if l.m, err = l.scope.manager(l.paths, &cgroups.Resources{SkipDevices: true}); err != nil {
					t.Fatal(err)
				}
			}
			nap := murtest.Naptime()
			script := filepath.Join(t.TempDir(), "chain")
			if err := os.WriteFile(script, []byte("sleep 0.01\nsetsid sh \"$0\" "+nap+" &\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			var chains strings.Builder
			for range 12 {
				fmt.Fprintf(&chains, "sh %s %s >/dev/null 2>&1 & ", script, nap)
			}
			if out, err := within(t, l, chains.String()+"setsid sleep "+nap+" >/dev/null 2>&1 & sleep 0.2"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if pids, err := cgroups.GetAllPids(l.processes()); err != nil || len(pids) < 10 {
				t.Fatalf("%d processes run: %v", len(pids), err)
			}
			began := time.Now()
			if err := l.Kill(); err != nil {
				t.Error(err)
			}
			t.Logf("killed within %s", time.Since(began))
			// A group with a process in it can not be removed.
			if _, err := os.Stat(last); err == nil {
				t.Errorf("%s is left", last)
			}
			if left := murtest.Processes(t, nap); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// A bomb at the limit of processes stands still and is gone. CON-189, CON-190
func TestKillEndsAForkBomb(t *testing.T) {
	_, leaf := scope(t, Limits{PidsMax: 200, MemoryBytes: 256 << 20})
	cmd := exec.Command("/bin/sh", "-c", "read go; f() { f | f & }; f; sleep 100")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := leaf.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "go")
	in.Close()
	if err := leaf.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	// For the clean-up, which kills a leaf that is there.
	if err := leaf.scope.make(leaf.paths); err != nil {
		t.Fatal(err)
	}
}
