package checks

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
)

// What helps depends on what stood in the way, on whether systemd runs the system and
// on who asks. CON-180, CON-184, DIA-195
func TestCureOfAMissingScope(t *testing.T) {
	const user, root = "systemd-run --user --scope -p Delegate=yes <command>", "systemd-run --scope -p Delegate=yes <command>"
	make := func(errno unix.Errno) *confine.Blocker {
		return &confine.Blocker{Name: "delegation-missing", Step: "make a group in /sys/fs/cgroup/user.slice", Errno: int(errno)}
	}
	v2 := &confine.Blocker{Name: "controller-missing", Step: "find controller cpu in /sys/fs/cgroup/user.slice"}
	v1 := &confine.Blocker{Name: "controller-missing", Step: "find controller cpu"}
	for _, tc := range []struct {
		name    string
		b       *confine.Blocker
		systemd bool
		uid     int
		want    []string
		not     string
	}{
		{"a user of systemd", make(unix.EACCES), true, 1000, []string{user, "on cgroup v1"}, "delegate.conf"},
		{"a user without systemd", make(unix.EACCES), false, 1000, []string{"have root make a group", "chown"}, "systemd"},
		{"a user's session without a controller", v2, true, 1000, []string{user, "/etc/systemd/system/user@.service.d/delegate.conf", "Delegate=cpu memory pids"}, "cgroup v1"},
		{"root in a session without a controller", v2, true, 0, []string{root}, "--user"},
		{"v2 without a controller and systemd", v2, false, 1000, []string{"cgroup.subtree_control of every group above"}, "systemd"},
		{"v1 without a controller", v1, true, 1000, []string{"have the controllers memory, pids and cpu mounted"}, "systemd"},
		{"root in a shell's group", make(unix.EBUSY), true, 0, []string{root}, "--user"},
		{"others in the group, no systemd", make(unix.EBUSY), false, 0, []string{"holds no other process"}, "systemd"},
		{"read-only", make(unix.EROFS), true, 1000, []string{"--cgroupns=private"}, "systemd"},
		{"no probe", &confine.Blocker{Name: confine.ProbeUnavailable}, true, 1000, []string{"build mur with cgo"}, "systemd"},
		{"nothing known", nil, true, 1000, []string{""}, "systemd"},
	} {
		row := cgroupScope(confine.Cgroup{Blocker: tc.b}, tc.systemd, tc.uid)
		if row.Status != Warning || row.Code != "E-RUN-012" || tc.b != nil && !strings.Contains(row.Message, tc.b.String()) {
			t.Errorf("%s: %+v", tc.name, row)
		}
		for _, want := range tc.want {
			if !strings.Contains(row.Remedy, want) {
				t.Errorf("%s: %q lacks %q", tc.name, row.Remedy, want)
			}
		}
		if strings.Contains(row.Remedy, tc.not) {
			t.Errorf("%s: %q names %q", tc.name, row.Remedy, tc.not)
		}
	}
}
