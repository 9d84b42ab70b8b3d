// Package hostfile does what both hosts of WASI need of an open file and package os
// does not offer, the same on each system the programs are built for: times to the
// nanosecond where the system takes them, times of a link itself, data without its
// metadata brought to disk, and writes that land at the end.
//
// A zero time stands for one that is left as it is. The package opens nothing and
// resolves no path; errors are the system's own.
package hostfile

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Times are the stamps of a file: of the last access, and of the last change of
// its state. ok is false where the file comes from no file system of the host.
func Times(fi fs.FileInfo) (access, change time.Time, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return access, change, false
	}
	a, c := stamps(st)
	return time.Unix(a.Unix()), time.Unix(c.Unix()), true
}

// SetEntryTimes sets the times of the entry name of an open directory. It follows
// no link: the times are the link's own (utimensat(2)).
func SetEntryTimes(dir int, name string, access, modification time.Time) error {
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{timespec(access), timespec(modification)}, unix.AT_SYMLINK_NOFOLLOW)
}

func timespec(t time.Time) unix.Timespec {
	if t.IsZero() {
		return unix.Timespec{Nsec: omit}
	}
	return unix.NsecToTimespec(t.UnixNano())
}
