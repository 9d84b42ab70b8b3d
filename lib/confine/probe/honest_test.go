//go:build linux && cgo

package probe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
)

// pivotEnv makes this test program a process that enters a root of its own in the
// directory it names, and ends.
const pivotEnv = "MUR_PROBE_TEST_PIVOT"

func TestMain(m *testing.M) {
	if os.Getenv("MUR_TEST_AHEAD") != "" {
		sayAhead()
		Settle()
		os.Exit(0)
	}
	if dir := os.Getenv(pivotEnv); dir != "" {
		if err := pivot(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func pivot(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make private: %w", err)
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount tmpfs: %w", err)
	}
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	return nil
}

// Many tests skip where the probe finds a mechanism missing. So that none skips on a
// host that has it, each mechanism is tried here without the probe's code, and the
// probe must not deny what works. CON-8, CON-20, CON-179
func TestProbeDeniesNothingThatWorks(t *testing.T) {
	r := Host()
	if err := inNamespaces(t, syscall.CLONE_NEWNET, ""); err == nil && !r.NetNS {
		t.Errorf("a network namespace can be made, and the probe says %s", r.NetworkBlocker.String())
	} else if err != nil {
		t.Logf("no network namespace: %v", err)
	}
	if err := inNamespaces(t, syscall.CLONE_NEWNS, t.TempDir()); err == nil && !r.MountNS {
		t.Errorf("a root of its own can be entered, and the probe says %s", r.SealedBlocker.String())
	} else if err != nil {
		t.Logf("no root of its own: %v", err)
	}
	// With a filter that is nowhere, a kernel that has filters says so (prctl(2)).
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0); err == unix.EFAULT && !r.Seccomp {
		t.Error("seccomp filters can be installed, and the probe says they can not")
	}
	if abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno == 0 && r.Landlock.State == confine.LandlockAbsent {
		t.Errorf("Landlock has ABI %d, and the probe says it is absent", abi)
	}
	if where := ownGroups(t); where != "" && r.Cgroup.Version == nil {
		t.Errorf("groups can be made %s, and the probe says %s", where, r.Cgroup.Blocker.String())
	}
}

// inNamespaces starts a process in a namespace of that kind, owned by a user namespace
// unless this is root; with dir it enters a root of its own there.
func inNamespaces(t *testing.T, kind uintptr, dir string) error {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = []string{pivotEnv + "=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: kind}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// ownGroups tells where this process can make groups with all controllers a scope
// needs, beneath its own group of each hierarchy; "" for nowhere (cgroups(7)).
func ownGroups(t *testing.T) string {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Logf("no cgroups: %v", err)
		return ""
	}
	made := map[string]bool{}
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		if f[1] == "" { // v2
			dir := filepath.Join(mountOf("cgroup2", ""), f[2])
			control, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
			words := strings.Fields(string(control))
			if slices.Contains(words, "memory") && slices.Contains(words, "pids") && slices.Contains(words, "cpu") && canMake(dir) {
				return "on v2 in " + dir
			}
			continue
		}
		for controller := range strings.SplitSeq(f[1], ",") {
			if mount := mountOf("cgroup", controller); mount != "" && canMake(filepath.Join(mount, f[2])) {
				made[controller] = true
			}
		}
	}
	if made["memory"] && made["pids"] && made["cpu"] {
		return "on v1"
	}
	return ""
}

// mountOf is where a cgroup file system is mounted whole, by the controller for v1.
func mountOf(kind, controller string) string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 3 || right[0] != kind || left[3] != "/" {
			continue
		}
		if controller == "" || slices.Contains(strings.Split(right[2], ","), controller) {
			return left[4]
		}
	}
	return ""
}

func canMake(dir string) bool {
	made, err := os.MkdirTemp(dir, "mur-probe-test-")
	if err != nil {
		return false
	}
	return os.Remove(made) == nil
}
