package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/murtest"
)

// v2Mount is where the v2 tree is mounted, which is one and the same everywhere.
func v2Mount(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if left, right, _ := strings.Cut(line, " - "); strings.HasPrefix(right, "cgroup2 ") {
			return strings.Fields(left)[4]
		}
	}
	t.Skip("no v2 tree is mounted")
	return ""
}

// Where cgroup v2 stands alone, here in a mount namespace in which it does, the library
// that composes a root puts a container into a group of its own: that too is gone when
// mur-shell is killed. CON-140, CON-190
func TestKilledOnCgroupV2Alone(t *testing.T) {
	needs(t, "sealed")
	if _, err := exec.LookPath("unshare"); err != nil || os.Getuid() != 0 {
		t.Skipf("uid %d can not mount a v2 tree alone: %v", os.Getuid(), err)
	}
	p, nap, tree := newPlace(t), murtest.Naptime(), v2Mount(t)
	// The library hands down every controller there is.
	file := filepath.Join(tree, "cgroup.subtree_control")
	before, _ := os.ReadFile(file)
	t.Cleanup(func() {
		after, _ := os.ReadFile(file)
		for _, c := range strings.Fields(string(after)) {
			if !slices.Contains(strings.Fields(string(before)), c) {
				_ = os.WriteFile(file, []byte("-"+c), 0)
			}
		}
	})
	run := p.command(t, "run", "--containment", "sealed", "--allow", "sh", "--allow", "sleep", "--", "sh", "-c", "echo ready; sleep "+nap)
	// The process stays the same from here to mur-shell.
	line := `mount --make-rprivate / && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"`
	cmd := exec.Command("unshare", append([]string{"-m", "sh", "-c", line, "sh"}, append([]string{run.Path}, run.Args[1:]...)...)...)
	cmd.Dir, cmd.Env = run.Dir, run.Env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n, _ := out.Read(make([]byte, 16)); n == 0 {
		_ = cmd.Wait()
		t.Fatalf("nothing runs with the v2 tree alone: %s", said.String())
	}
	groups := func() []string {
		found, err := filepath.Glob(filepath.Join(tree, fmt.Sprintf("run-*-%d-*", cmd.Process.Pid)))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if len(groups()) != 1 {
		t.Errorf("the box is in %q", groups())
	}
	_ = cmd.Process.Kill()
	if !murtest.Within(5*time.Second, func() bool { return len(murtest.Processes(t, nap)) == 0 && len(groups()) == 0 }) {
		t.Errorf("left %v %v", murtest.Processes(t, nap), groups())
	}
	_ = cmd.Wait()
}
