//go:build !linux

package shell

import (
	"crypto/rand"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/workfs"
)

// nameless makes a file in a directory and takes its name away at once.
func nameless(dir *workfs.Root) (*os.File, error) {
	at, name := int(dir.File().Fd()), ".spool-"+rand.Text()
	fd, err := unix.Openat(at, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	if err := unix.Unlinkat(at, name, 0); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("unlink", err)
	}
	return os.NewFile(uintptr(fd), "spool"), nil
}
