package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/confine/probe"
)

// CON-190: whatever is in a scope, its end leaves nothing.
func TestClearLeavesNothing(t *testing.T) {
	r := probe.Host().Cgroup
	if r.Version == nil {
		t.Skipf("no cgroup is delegated to uid %d: %v", os.Getuid(), r.Blocker)
	}
	s, err := New(r, fmt.Sprintf("murmur-clear-%d", os.Getpid()), Limits{PidsMax: 50})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := s.Leaf("leaf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Leaf("empty"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "read go; sleep 60 & sleep 60")
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
	time.Sleep(50 * time.Millisecond)
	if err := s.Clear(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	for _, dir := range s.Dirs() {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
	if err := s.Clear(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}
