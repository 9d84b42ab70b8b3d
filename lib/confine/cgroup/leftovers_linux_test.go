package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/murtest"
)

// Only the empty groups of processes that are gone are left over, and one of them that
// came to life since is not removed. CON-190, DIA-209
func TestLeftovers(t *testing.T) {
	gone := exec.Command("/bin/sh", "-c", "exit 0")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	runs := exec.Command("sleep", murtest.Naptime())
	if err := runs.Start(); err != nil {
		t.Fatal(err)
	}
	dead, alive := gone.Process.Pid, runs.Process.Pid
	pids, freezer := groupIn(t, "pids"), groupIn(t, "freezer")
	group := func(parent, name string, pid int) string {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if pid != 0 {
			if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	left, kept := Name("left", dead), Name("kept", alive)
	for _, parent := range []string{pids, freezer} {
		group(group(parent, left, 0), "worker-1", 0)
		group(parent, kept, 0)
	}
	group(group(pids, Name("busy", dead), 0), "worker-1", alive)
	group(pids, "user.slice", 0)
	version := 1
	r := confine.Cgroup{Version: &version, Hierarchies: map[string]string{"freezer": freezer, "pids": pids, "cpu": pids}}
	found := Leftovers(r)
	if len(found) != 1 || found[0].Name != left || found[0].PID != dead || len(found[0].dirs) != 2 {
		t.Fatalf("%+v", found)
	}
	if err := found[0].Remove(); err != nil {
		t.Error(err)
	}
	for _, parent := range []string{pids, freezer} {
		if _, err := os.Stat(filepath.Join(parent, left)); err == nil {
			t.Errorf("%s is left", filepath.Join(parent, left))
		}
		if _, err := os.Stat(filepath.Join(parent, kept)); err != nil {
			t.Error(err)
		}
	}
	if again := Leftovers(r); len(again) != 0 {
		t.Errorf("still %+v", again)
	}
	if err := found[0].Remove(); err != nil {
		t.Errorf("a second time: %v", err)
	}
	group(pids, left, alive)
	if err := found[0].Remove(); err == nil {
		t.Error("a group with a process was removed")
	}
	_ = runs.Process.Kill()
	_ = runs.Wait()
}

// CON-185
func TestDirs(t *testing.T) {
	one, two := 1, 2
	for _, tc := range []struct {
		r    confine.Cgroup
		want []string
	}{
		{confine.Cgroup{}, nil},
		{confine.Cgroup{Version: &one, Hierarchies: map[string]string{"pids": "/p", "memory": "/m"}}, []string{"/m/x", "/p/x"}},
		{confine.Cgroup{Version: &two, Hierarchies: map[string]string{"pids": "/u", "memory": "/u"}}, []string{"/u/x"}},
	} {
		if got := Dirs(tc.r, "x"); !slices.Equal(got, tc.want) {
			t.Errorf("%q", got)
		}
	}
}
