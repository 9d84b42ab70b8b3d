package hostfile

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DataSync is the flag of open(2) with which each write brings its bytes to disk.
const DataSync = unix.O_DSYNC

const omit = unix.UTIME_OMIT

func stamps(st *syscall.Stat_t) (access, change syscall.Timespec) { return st.Atim, st.Ctim }

// SetTimes sets the times of an open file: futimens(3), which neither os nor
// x/sys/unix offers.
func SetTimes(fd int, access, modification time.Time) error {
	ts := [2]unix.Timespec{timespec(access), timespec(modification)}
	_, _, no := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	if no != 0 {
		return os.NewSyscallError("utimensat", no)
	}
	return nil
}

// SyncData brings the bytes of an open file to disk, and of its metadata what
// finding them again needs.
func SyncData(fd int) error { return os.NewSyscallError("fdatasync", unix.Fdatasync(fd)) }

// Append writes p at the end of an open file, wherever other writers have moved
// it, and leaves how the file is open as it was.
func Append(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Pwritev2(fd, [][]byte{p}, 0, unix.RWF_APPEND)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("pwritev2", err)
		}
		p = p[n:]
	}
	return nil
}
