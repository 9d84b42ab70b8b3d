package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine/probe"
)

func scope(t *testing.T, l Limits) (*Scope, *Leaf) {
	t.Helper()
	r := probe.Host().Cgroup
	if r.Version == nil {
		t.Skipf("no cgroup is delegated to uid %d: %v", os.Getuid(), r.Blocker)
	}
	s, err := New(r, fmt.Sprintf("murmur-test-%d", os.Getpid()), l)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := s.Leaf("leaf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := leaf.Kill(); err != nil {
			t.Error(err)
		}
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
		for _, dir := range s.paths {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		}
	})
	return s, leaf
}

// within runs a shell line that waits to be moved into the leaf.
func within(t *testing.T, l *Leaf, line string) (string, error) {
	t.Helper()
	return begin(t, l, line)()
}

// begin starts such a line and returns the wait for its end.
func begin(t *testing.T, l *Leaf, line string) func() (string, error) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "read go; "+line)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "go")
	in.Close()
	return func() (string, error) {
		err := cmd.Wait()
		return out.String(), err
	}
}

// CON-186, CON-197, CON-198, CON-200
func TestLimitsAreHitAndCounted(t *testing.T) {
	_, leaf := scope(t, Limits{MemoryBytes: 32 << 20, PidsMax: 20, CPUPercent: 100})
	before := leaf.Counts()
	if _, err := within(t, leaf, "head -c 200m /dev/zero | tail -c 200m > /dev/null; exit 0"); err != nil {
		t.Log(err)
	}
	after := leaf.Counts()
	if before.OOMKills < 0 || after.OOMKills <= before.OOMKills {
		t.Errorf("OOM kills %d then %d", before.OOMKills, after.OOMKills)
	}
	out, _ := within(t, leaf, "for i in $(seq 60); do sleep 0.3 & done; wait")
	if n := leaf.Counts().PidsMax; n <= after.PidsMax {
		t.Errorf("pids limit hit %d times: %s", n, out)
	}
}

// What writes 0 into every door is in the leaf with all its children. CON-132
func TestDoors(t *testing.T) {
	_, leaf := scope(t, Limits{})
	doors, err := leaf.Doors()
	if err != nil {
		t.Fatal(err)
	}
	if leaf.scope.version == 2 {
		if doors != nil {
			t.Error("a process of cgroup v2 has no doors")
		}
		return
	}
	if len(doors) != len(leaf.scope.paths) {
		t.Errorf("%d doors to %d hierarchies", len(doors), len(leaf.scope.paths))
	}
	var script strings.Builder
	for i, f := range doors {
		defer f.Close()
		fmt.Fprintf(&script, "echo 0 >&%d; ", 3+i)
	}
	cmd := exec.Command("/bin/sh", "-c", script.String()+"cat /proc/self/cgroup")
	cmd.ExtraFiles = doors
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n := strings.Count(string(out), "/leaf\n"); n < len(leaf.paths) {
		t.Errorf("in %d leaves of %d:\n%s", n, len(leaf.paths), out)
	}
	if n := strings.Count(string(out), fmt.Sprintf("murmur-test-%d", os.Getpid())); n < len(doors) {
		t.Errorf("in %d groups of %d:\n%s", n, len(doors), out)
	}
}
