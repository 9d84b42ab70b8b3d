package shell

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/workfs"
)

// nameless makes a file without a name in a directory, or in memory where the
// file system has no such files.
func nameless(dir *workfs.Root) (*os.File, error) {
	fd, err := unix.Openat(int(dir.File().Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == unix.EOPNOTSUPP || err == unix.EISDIR {
		fd, err = unix.MemfdCreate("spool", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	return os.NewFile(uintptr(fd), "spool"), nil
}
