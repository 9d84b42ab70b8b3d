//go:build !linux

package hostfile

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DataSync is the flag of open(2) with which each write brings its bytes to disk,
// here with their metadata.
const DataSync = unix.O_SYNC

// omit is UTIME_OMIT of sys/stat.h, on macOS and the BSDs alike; x/sys/unix has
// no name for it on all of them.
const omit = -2

func stamps(st *syscall.Stat_t) (access, change syscall.Timespec) {
	return st.Atimespec, st.Ctimespec
}

// SetTimes sets the times of an open file, to the microsecond: futimes(2) is what
// there is for a descriptor. A time that is left is read and written again.
func SetTimes(fd int, access, modification time.Time) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	var tv [2]unix.Timeval
	for i, t := range []struct {
		to  time.Time
		was unix.Timespec
	}{{access, st.Atim}, {modification, st.Mtim}} {
		nanos := t.was.Nano()
		if !t.to.IsZero() {
			nanos = t.to.UnixNano()
		}
		tv[i] = unix.NsecToTimeval(nanos)
	}
	return os.NewSyscallError("futimes", unix.Futimes(fd, tv[:]))
}

// SyncData brings an open file to disk, its metadata included: less there is not
// everywhere.
func SyncData(fd int) error { return os.NewSyscallError("fsync", unix.Fsync(fd)) }

// Append writes p at the end of an open file, wherever other writers have moved
// it, and leaves how the file is open as it was. Nobody else may write through the
// same descriptor meanwhile.
func Append(fd int, p []byte) (err error) {
	was, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if was&unix.O_APPEND == 0 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, was|unix.O_APPEND); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		defer func() {
			_, again := unix.FcntlInt(uintptr(fd), unix.F_SETFL, was)
			err = errors.Join(err, os.NewSyscallError("fcntl", again))
		}()
	}
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("write", err)
		}
		p = p[n:]
	}
	return nil
}
