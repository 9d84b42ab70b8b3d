// Package packet is a SEQPACKET socket between two processes of mur: whole
// messages, with descriptors beside them (unix(7)).
package packet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone is the error of a peer that has ended.
var ErrGone = errors.New("the other end has gone")

// maxFDs is how many descriptors one message may bring.
const maxFDs = 253

// Conn is one end. Send and Receive may be called at the same time, each by one
// goroutine.
type Conn struct {
	file *os.File
	raw  syscall.RawConn
}

// Pair returns our end and a file to become the peer's descriptor. The peer's
// end blocks, so that a program without an event loop can read it.
func Pair() (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "peer")
	ours, err := From(fds[0])
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// From takes over an inherited descriptor, which it closes on error.
func From(fd int) (*Conn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("socket: %w", err)
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "socket")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("socket: %w", err)
	}
	return &Conn{file: f, raw: raw}, nil
}

// Send writes one message with descriptors, which stay the caller's.
func (c *Conn) Send(msg []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	var err error
	gone := c.raw.Write(func(fd uintptr) bool {
		err = unix.Sendmsg(int(fd), msg, oob, nil, unix.MSG_NOSIGNAL)
		return err != unix.EAGAIN
	})
	if gone != nil || err == unix.EPIPE || err == unix.ECONNRESET {
		return ErrGone
	}
	return err
}

// Receive reads one message into buf and returns its length and descriptors,
// which are close-on-exec and now the caller's.
func (c *Conn) Receive(buf []byte) (n int, fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*maxFDs))
	var oobn, flags int
	gone := c.raw.Read(func(fd uintptr) bool {
		n, oobn, flags, _, err = unix.Recvmsg(int(fd), buf, oob, unix.MSG_CMSG_CLOEXEC)
		return err != unix.EAGAIN
	})
	if gone != nil || err != nil || n == 0 {
		return 0, nil, ErrGone
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return 0, nil, fmt.Errorf("control message: %w", err)
	}
	for i := range msgs {
		got, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return 0, nil, fmt.Errorf("control message: %w", err)
		}
		fds = append(fds, got...)
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return 0, nil, errors.New("a message is longer than its reader takes")
	}
	return n, fds, nil
}

// Expire makes every pending and later call fail at once when ctx ends; the
// returned function undoes that.
func (c *Conn) Expire(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = c.file.SetDeadline(time.Unix(1, 0)) })
}

// Close closes this end; the peer reads ErrGone.
func (c *Conn) Close() error { return c.file.Close() }
