package room

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize keeps a command that prints a lot from waiting.
const pipeSize = 1 << 20

// pipe is os.Pipe with a writing end that blocks, which a command needs and the
// poller does not.
func pipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}

// widen gives a pipe room. The default of 64 KiB does as well, more slowly, where a
// user's quota of pipe pages is used up (pipe(7)).
func widen(w *os.File) { _, _ = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, pipeSize) }
