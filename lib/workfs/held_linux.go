package workfs

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// chmodDir sets the mode of the directory seg, which may be one that a umask or
// its maker closed to us. The mode is set through a descriptor opened without
// following, never by name.
func chmodDir(parent int, seg string, mode fs.FileMode) error {
	fd, err := retry(func() (int, error) {
		return unix.Openat(parent, seg, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), uint32(mode.Perm()))
}

// touch sets the times of an open file to now.
func touch(f *os.File) error {
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	return unix.UtimesNanoAt(int(f.Fd()), "", now, unix.AT_EMPTY_PATH)
}
