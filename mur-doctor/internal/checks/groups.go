package checks

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
)

// cgroupScope predicts E-RUN-012 (CON-178, CON-179).
func cgroupScope(c confine.Cgroup, systemd bool, uid int) Check {
	if c.Version != nil {
		return ok("cgroup", fmt.Sprintf("a scope can be made on cgroup v%d with %s", *c.Version, strings.Join(c.Controllers, ", ")))
	}
	row := Check{Name: "cgroup", Status: Warning, Code: "E-RUN-012", Message: "no cgroup scope can be made, so a capsule that runs processes is refused", Remedy: cureCgroup(c.Blocker, systemd, uid)}
	if c.Blocker != nil {
		row.Message += ": " + c.Blocker.String()
	}
	return row
}

// cureCgroup says how to get a scope, by what stood in the way and by what runs the
// system (CON-180).
func cureCgroup(b *confine.Blocker, systemd bool, uid int) string {
	switch {
	case b == nil:
		return ""
	case b.Remedy() != "":
		return b.Remedy()
	case b.Errno == int(unix.EROFS):
		return "the cgroup file systems are mounted read-only: in a container mount them writable (docker run --cgroupns=private -v /sys/fs/cgroup:/sys/fs/cgroup:rw), or run on the host"
	}
	denied := b.Errno == int(unix.EACCES) || b.Errno == int(unix.EPERM)
	// Only v2 has controllers that a group above did not hand down.
	withheld := b.Name == "controller-missing" && strings.Contains(b.Step, " in /")
	if own := systemdRun(uid); systemd && (denied || withheld || b.Errno == int(unix.EBUSY)) {
		cure := "start mur in a group of its own: " + own
		if withheld && uid != 0 {
			cure += "; if the controller is missing there too, have root write [Service] and Delegate=cpu memory pids to /etc/systemd/system/user@.service.d/delegate.conf, and log in again"
		}
		if denied {
			cure += "; on cgroup v1 have root make one in each hierarchy and chown it to you"
		}
		return cure
	}
	switch {
	case denied:
		return "have root make a group in each hierarchy, chown it to you and start mur in it (on cgroup v2 hand memory, pids and cpu down to it)"
	case b.Errno == int(unix.EBUSY):
		return "start mur in a group that holds no other process: on cgroup v2 controllers are handed down from such alone"
	}
	return "have the controllers memory, pids and cpu mounted, and on v2 enabled in cgroup.subtree_control of every group above"
}

// systemdRun starts a command in a scope that is its own to divide.
func systemdRun(uid int) string {
	if uid == 0 {
		return "systemd-run --scope -p Delegate=yes <command>"
	}
	return "systemd-run --user --scope -p Delegate=yes <command>"
}

// leftGroups is a row for each group that a killed program left (CON-190).
func leftGroups(left []cgroup.Leftover) []Check {
	var rows []Check
	for _, l := range left {
		rows = append(rows, Check{
			Name: "cgroup-leftover", Subject: l.Name, Status: Warning, Message: fmt.Sprintf("process %d, which made this cgroup, is gone and nothing is in it", l.PID),
			Remedy: "mur-doctor --fix removes it",
			fix:    func() (string, error) { return "removed it", l.Remove() },
		})
	}
	return rows
}
