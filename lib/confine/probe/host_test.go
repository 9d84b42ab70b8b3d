//go:build linux && cgo

package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"golang.org/x/sys/unix"
)

// The probe must agree with what the test itself can see of this host. CON-8, CON-16, CON-48
func TestHostReading(t *testing.T) {
	r := Host()
	t.Logf("%+v", r)
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if (errno == 0) != (r.Landlock.State != confine.LandlockAbsent) {
		t.Errorf("Landlock is %s, asking its version gives %v", r.Landlock.State, errno)
	}
	if errno == 0 && r.Landlock.ABI != int(abi) {
		t.Errorf("Landlock ABI %d, want %d", r.Landlock.ABI, abi)
	}
	if r.BootID != trimmed("/proc/sys/kernel/random/boot_id") || r.BootID == "" {
		t.Errorf("boot id %q", r.BootID)
	}
	if r.UID != os.Getuid() || (r.Root != nil) != (r.UID == 0) {
		t.Errorf("uid %d, root %+v", r.UID, r.Root)
	}
	if (r.SealedBlocker == nil) != (r.Tier() == confine.TierSealed) {
		t.Errorf("tier %s with blocker %+v", r.Tier(), r.SealedBlocker)
	}
	if r.NetNS != (r.NetworkBlocker == nil) {
		t.Errorf("network namespace %v with blocker %+v", r.NetNS, r.NetworkBlocker)
	}
}

// CON-13
func TestHostLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	before := readText("/proc/self/mountinfo")
	Host()
	if after := readText("/proc/self/mountinfo"); after != before {
		t.Errorf("the mount table changed:\n%s", after)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if kids := trimmed("/proc/self/task/" + filepath.Base(trimmedLink(t, "/proc/thread-self")) + "/children"); kids != "" {
		t.Errorf("children left: %s", kids)
	}
}

func trimmedLink(t *testing.T, path string) string {
	t.Helper()
	s, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// CON-17, CON-18
func TestUsernsGrant(t *testing.T) {
	const on, restrict, restrictOld, attr = "/sys/module/apparmor/parameters/enabled", "/sys/module/apparmor/parameters/restrict_unprivileged_userns",
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/proc/self/attr/current"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no AppArmor", nil, confine.UsernsAppArmorAbsent},
		{"off", map[string]string{on: "N", restrict: "1"}, confine.UsernsAppArmorAbsent},
		{"no switch", map[string]string{on: "Y"}, confine.UsernsAppArmorAbsent},
		{"open", map[string]string{on: "Y", restrict: "0"}, confine.UsernsHostWide},
		{"older switch", map[string]string{on: "1", restrictOld: "0"}, confine.UsernsHostWide},
		{"profile", map[string]string{on: "Y", restrict: "1", attr: "mur-sealed (enforce)"}, confine.UsernsProfile},
		{"withheld", map[string]string{on: "Y", restrict: "1", attr: "unconfined"}, confine.UsernsWithheld},
	} {
		if got := usernsGrant(func(p string) string { return tc.files[p] }); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// CON-179, CON-181, CON-182, CON-183
func TestChooseCgroups(t *testing.T) {
	const v2 = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	const hybrid = "30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
		"31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"32 20 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" +
		"33 20 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	refuse := func(string) error { return &os.PathError{Op: "mkdir", Path: "x", Err: unix.EROFS} }
	crowded := func(string) error { return &os.PathError{Op: "write", Path: "x", Err: unix.EBUSY} }
	allow := func(string) error { return nil }
	for _, tc := range []struct {
		name, mounts, own, controllers string
		try                            func(string) error
		version                        int
		hierarchy                      string // of memory
		blocker                        string // and its step after a blank
	}{
		{"v2", v2, "0::/user.slice\n", "cpu memory pids io", allow, 2, "/sys/fs/cgroup/user.slice", ""},
		{"hybrid takes v1", hybrid, "3:memory:/job\n2:pids:/\n1:cpu,cpuacct:/\n0::/\n", "hugetlb", allow, 1, "/sys/fs/cgroup/memory/job", ""},
		{"v2, moved out of the way", v2, "0::/user.slice/a.scope/murmur-supervisor\n", "cpu memory pids", allow, 2, "/sys/fs/cgroup/user.slice/a.scope", ""},
		{"nothing mounted", "", "", "", allow, 0, "", "controller-missing find controller memory"},
		{"v2 without pids", v2, "0::/a\n", "cpu memory", allow, 0, "", "controller-missing find controller pids in /sys/fs/cgroup/a"},
		{"a user's session", v2, "0::/user.slice/user-1000.slice/session-3.scope\n", "memory pids", allow, 0, "", "controller-missing find controller cpu in /sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope"},
		{"v1 without cpu", strings.Join(strings.SplitAfter(hybrid, "\n")[:3], ""), "0::/\n", "hugetlb", allow, 0, "", "controller-missing find controller cpu"},
		{"others in the group", v2, "0::/a\n", "cpu memory pids", crowded, 0, "", "delegation-missing hand down controllers from /sys/fs/cgroup/a"},
		{"read-only", v2, "0::/\n", "cpu memory pids", refuse, 0, "", "delegation-missing make a group in /sys/fs/cgroup"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			read := func(p string) string {
				if strings.HasSuffix(p, "cgroup.controllers") {
					return tc.controllers
				}
				return ""
			}
			got := chooseCgroups(tc.mounts, tc.own, read, tc.try)
			if tc.blocker != "" {
				if got.Blocker == nil || got.Blocker.Name+" "+got.Blocker.Step != tc.blocker || got.Version != nil {
					t.Fatalf("got %+v", got)
				}
				return
			}
			if got.Version == nil || *got.Version != tc.version || got.Hierarchies["memory"] != tc.hierarchy {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// From which groups of v2 controllers are handed down, with directories in the place
// of groups: TestMakesWay of lib/confine/cgroup tries what the kernel does. CON-184
func TestHandsDown(t *testing.T) {
	init, self := "1\n", fmt.Sprintf("%d\n", os.Getpid())
	for name, tc := range map[string]struct {
		files map[string]string
		busy  bool
	}{
		"v1":                      {map[string]string{"cgroup.procs": init}, false},
		"the root":                {map[string]string{"cgroup.subtree_control": "", "cgroup.procs": init}, false},
		"its own":                 {map[string]string{"cgroup.subtree_control": "", "cgroup.type": "domain\n", "cgroup.procs": self}, false},
		"a process that ended":    {map[string]string{"cgroup.subtree_control": "", "cgroup.type": "domain\n", "cgroup.procs": "4999999\n"}, false},
		"somebody else's":         {map[string]string{"cgroup.subtree_control": "memory pids\n", "cgroup.type": "domain\n", "cgroup.procs": self + init}, true},
		"handing down already":    {map[string]string{"cgroup.subtree_control": "cpu memory pids\n", "cgroup.type": "domain\n", "cgroup.procs": init}, false},
		"a group without anybody": {map[string]string{"cgroup.subtree_control": "", "cgroup.type": "domain\n", "cgroup.procs": ""}, false},
	} {
		dir := t.TempDir()
		for file, text := range tc.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := handsDown(dir, os.Getpid()); errors.Is(err, unix.EBUSY) != tc.busy || err != nil && !tc.busy {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CON-12: a refused step keeps its errno.
func TestBlockerKeepsErrno(t *testing.T) {
	err := delegated(filepath.Join(t.TempDir(), "missing"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkHost(b *testing.B) {
	for b.Loop() {
		Host()
	}
}
