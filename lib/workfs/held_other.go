//go:build !linux

package workfs

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// chmodDir sets the mode of the directory seg, which may be one that a umask or
// its maker closed to us. A directory that can be opened gets it through the
// descriptor; one that can not, by its name, without following a link that stands
// there meanwhile (AT_SYMLINK_NOFOLLOW of fchmodat(2), which the BSDs and macOS
// have in the kernel).
func chmodDir(parent int, seg string, mode fs.FileMode) error {
	fd, err := retry(func() (int, error) { return unix.Openat(parent, seg, openDir, 0) })
	if err == nil {
		defer unix.Close(fd)
		return unix.Fchmod(fd, uint32(mode.Perm()))
	}
	var st unix.Stat_t
	if err != unix.EACCES || unix.Fstatat(parent, seg, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	return unix.Fchmodat(parent, seg, uint32(mode.Perm()), unix.AT_SYMLINK_NOFOLLOW)
}

// touch sets the times of an open file to now.
func touch(f *os.File) error { return unix.Futimes(int(f.Fd()), nil) }
