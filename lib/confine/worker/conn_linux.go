//go:build linux && cgo

package worker

/*
#include "protocol.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Name is the argv[0] under which the program becomes a worker.
const Name = "mur-worker"

// HolderName is the argv[0] under which it enters a network namespace of its
// own, and a user namespace unless it is root, before main.
const HolderName = "mur-holder"

var steps = map[uint32]string{
	C.MUR_STEP_PACKET: "read packet", C.MUR_STEP_PRIVATE_MOUNTS: "make mounts private", C.MUR_STEP_OPEN_TREE: "open writable tree",
	C.MUR_STEP_SAME_TREE: "compare writable tree", C.MUR_STEP_BIND_TREE: "bind writable tree", C.MUR_STEP_READ_ONLY: "make mounts read-only",
	C.MUR_STEP_WRITABLE_TREE: "set flags of writable tree", C.MUR_STEP_MOVE_TREE: "place writable tree", C.MUR_STEP_PROC: "mount proc",
	C.MUR_STEP_SUBREAPER: "become subreaper", C.MUR_STEP_CLOSE_RANGE: "mark descriptors close-on-exec", C.MUR_STEP_USER: "switch user",
	C.MUR_STEP_CAPABILITIES: "drop capabilities", C.MUR_STEP_NO_NEW_PRIVS: "set no_new_privs", C.MUR_STEP_RULESET: "create Landlock ruleset",
	C.MUR_STEP_RULE: "add Landlock rule", C.MUR_STEP_RESTRICT: "enter Landlock domain", C.MUR_STEP_SECCOMP: "install filter",
	C.MUR_STEP_DUMPABLE: "become non-dumpable", C.MUR_STEP_STRINGS: "read arguments", C.MUR_STEP_FORK: "fork", C.MUR_STEP_SESSION: "make session",
	C.MUR_STEP_LIMITS: "set limits", C.MUR_STEP_DIRECTORY: "change directory", C.MUR_STEP_STDIO: "place descriptors", C.MUR_STEP_EXECVE: "execve",
	C.MUR_STEP_USERNS: "unshare user namespace", C.MUR_STEP_SETGROUPS: "deny setgroups", C.MUR_STEP_UIDMAP: "write uid_map",
	C.MUR_STEP_GIDMAP: "write gid_map", C.MUR_STEP_NETNS: "unshare network namespace",
}

// StepError is a step the worker could not do (CON-128): of its set-up, after
// which it has ended, or of the start of a command, after which it goes on.
type StepError struct {
	Step  string
	Errno syscall.Errno
}

func (e *StepError) Error() string { return e.Step + ": " + e.Errno.Error() }

// Unwrap returns the system's error.
func (e *StepError) Unwrap() error { return e.Errno }

// ErrGone is the error of a worker that has ended by itself (CON-284).
var ErrGone = errors.New("the worker has ended")

// Socketpair returns the two ends a worker is spoken through: ours, and the one
// to be the worker's descriptor 3.
func Socketpair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	// The worker reads with blocking calls; only our end goes to Go's poller.
	if err := unix.SetNonblock(fds[1], false); err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "worker"), nil
}

func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// send writes one packet with descriptors.
func (w *Worker) send(packet []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	var err error
	ctlErr := w.raw.Write(func(fd uintptr) bool {
		err = unix.Sendmsg(int(fd), packet, oob, nil, unix.MSG_NOSIGNAL)
		return err != unix.EAGAIN
	})
	if ctlErr != nil {
		return ErrGone
	}
	if err == unix.EPIPE || err == unix.ECONNRESET {
		return ErrGone
	}
	return err
}

// receive reads one packet into buf.
func (w *Worker) receive(buf []byte) (n int, err error) {
	ctlErr := w.raw.Read(func(fd uintptr) bool {
		n, _, _, _, err = unix.Recvmsg(int(fd), buf, nil, 0)
		return err != unix.EAGAIN
	})
	if ctlErr != nil || n == 0 || err != nil {
		return 0, ErrGone
	}
	return n, nil
}
