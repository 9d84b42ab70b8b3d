//go:build linux

package checks

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
)

// granted is a reading with a value of userns_grant.
func granted(grant string) confine.Reading { return confine.Reading{UsernsGrant: &grant} }

// CON-4, DIA-149, DIA-195: what a fact is called, and its cure.
func TestFactRows(t *testing.T) {
	zero, some := int64(0), int64(1000)
	whole := Facts{Namespaces: map[string]string{"user": "", "pid": ""}, Calls: map[string]bool{"openat2": true}, OpenFiles: Limit{1024, 4096}}
	for _, tc := range []struct {
		name    string
		row     Check
		status  Status
		message string
		remedy  string
	}{
		{"calls", whole.systemCalls(), OK, "answers openat2", ""},
		{"a call refused", Facts{Calls: map[string]bool{"openat2": false, "pidfd_open": true}}.systemCalls(), Warning, "refuses openat2", "container profile"},
		{"namespaces", whole.namespaces(), OK, "can be made: pid, user", ""},
		{"none allowed", Facts{Namespaces: map[string]string{"user": "no space"}, MaxUserNamespaces: &zero}.namespaces(), Warning, "user (no space)", "user.max_user_namespaces"},
		{"refused", Facts{Namespaces: map[string]string{"user": "not permitted"}, MaxUserNamespaces: &some}.namespaces(), Warning, "user (not permitted)", "SYS_ADMIN"},
		{"hybrid", Facts{CgroupV2: []string{"hugetlb"}, CgroupV1: map[string]string{"pids": "/p", "cpu": "/c"}}.cgroupLayout(), OK, "hybrid: v2 carries hugetlb; v1 carries cpu, pids", ""},
		{"hybrid, empty v2", Facts{CgroupV2: []string{}, CgroupV1: map[string]string{"pids": "/p"}}.cgroupLayout(), OK, "hybrid: v2 carries no controller; v1 carries pids", ""},
		{"v2", Facts{CgroupV2: []string{"cpu", "pids"}}.cgroupLayout(), OK, "v2 alone, with cpu, pids", ""},
		{"v1", Facts{CgroupV1: map[string]string{"pids": "/p"}}.cgroupLayout(), OK, "v1 alone, with pids", ""},
		{"no cgroup", Facts{}.cgroupLayout(), OK, "no cgroup hierarchy is mounted", ""},
		{"no memfd setting", Facts{}.memfd(), OK, "the kernel has no vm.memfd_noexec", ""},
		{"memfd setting", Facts{MemfdNoexec: &zero}.memfd(), OK, "vm.memfd_noexec is 0", ""},
		{"files", whole.openFiles(), OK, "1024 files", ""},
		{"few files", Facts{OpenFiles: Limit{64, 256}}.openFiles(), Warning, "256 if raised; a session may need 1024", "ulimit -Hn 1024"},
		{"old Landlock", landlock(confine.Landlock{State: confine.LandlockEnforced, ABI: 3}), OK, "does not know TCP ports, ioctl on devices, signals and abstract sockets, audit, UDP, path-named unix sockets", ""},
		{"no Landlock", landlock(confine.Landlock{State: confine.LandlockAbsent}), Warning, "Landlock is absent", "5.13"},
		{"profile", appArmor(granted(confine.UsernsProfile)), OK, "mur-sealed", ""},
		{"open to all", appArmor(granted(confine.UsernsHostWide)), Warning, "open to every program of this host (kernel.apparmor_restrict_unprivileged_userns is 0)", "apparmor_restrict_unprivileged_userns=1"},
		{"withheld", appArmor(granted(confine.UsernsWithheld)), Warning, "withholds", "apparmor_parser -r mur-sealed"},
		{"cgroup read-only", cgroupScope(confine.Cgroup{Blocker: &confine.Blocker{Name: "delegation-missing", Errno: int(unix.EROFS)}}, true, 4321), Warning, "delegation-missing (read-only file system, errno 30)", "mount them writable"},
		{"cgroup of others", cgroupScope(confine.Cgroup{Blocker: &confine.Blocker{Name: "delegation-missing", Errno: int(unix.EACCES)}}, true, 4321), Warning, "delegation-missing", "Delegate=yes"},
		{"no controller", cgroupScope(confine.Cgroup{Blocker: &confine.Blocker{Name: "controller-missing", Step: "find controller pids"}}, true, 4321), Warning, "find controller pids", "subtree_control"},
	} {
		if tc.row.Status != tc.status || !strings.Contains(tc.row.Message, tc.message) || !strings.Contains(tc.row.Remedy, tc.remedy) || (tc.remedy == "") != (tc.row.Remedy == "") {
			t.Errorf("%s: %+v", tc.name, tc.row)
		}
	}
}

func TestCgroupMounts(t *testing.T) {
	const table = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n" +
		"40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	v2, v1 := cgroupMounts(table, func(dir string) string {
		if dir != "/sys/fs/cgroup/unified" {
			t.Errorf("asked for the controllers of %s", dir)
		}
		return "hugetlb misc\n"
	})
	if strings.Join(v2, " ") != "hugetlb misc" || len(v1) != 2 || v1["cpu"] != "/sys/fs/cgroup/cpu,cpuacct" {
		t.Errorf("v2 %q, v1 %q", v2, v1)
	}
	if v2, v1 := cgroupMounts("", nil); v2 != nil || len(v1) != 0 {
		t.Errorf("of nothing: v2 %q, v1 %q", v2, v1)
	}
}
