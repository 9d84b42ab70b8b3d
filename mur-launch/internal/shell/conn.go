package shell

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/shellproto"
)

// conn is the control socket: JSON lines both ways, descriptors towards
// mur-shell.
type conn struct {
	sock *net.UnixConn
	in   *bufio.Reader

	mu sync.Mutex // of writes: one line is one sendmsg, with its descriptors
}

// pair makes a control socket; theirs goes to mur-shell and is closed here once
// it has it.
func pair() (ours *conn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no process in between inherits them
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make the control socket: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "control")
	f := os.NewFile(uintptr(fds[0]), "control")
	defer f.Close() // FileConn has its own
	c, err := net.FileConn(f)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("make the control socket: %w", err)
	}
	return &conn{sock: c.(*net.UnixConn), in: bufio.NewReaderSize(c, 64<<10)}, theirs, nil
}

// errTooLong is the error of a request that is no line of the protocol.
var errTooLong = errors.New("the call is longer than 1 MiB")

// send writes one request with its descriptors.
func (c *conn) send(q shellproto.Request, files ...*os.File) error {
	line, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if len(line) >= shellproto.MaxRequest {
		return errTooLong
	}
	line = append(line, '\n')
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _, err := c.sock.WriteMsgUnix(line, rights, nil)
	if err == nil && n < len(line) {
		_, err = c.sock.Write(line[n:])
	}
	return err
}

// next reads one answer.
func (c *conn) next() (event, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		if line = append(line, part...); len(line) > shellproto.MaxAnswer {
			return event{}, errors.New("an answer of mur-shell is too long")
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return event{}, err
		}
		break
	}
	e := event{raw: line}
	if err := json.Unmarshal(line, &e); err != nil || e.Event == "" {
		return e, fmt.Errorf("mur-shell said what is no answer: %.200q", line)
	}
	return e, nil
}

func (c *conn) close() { _ = c.sock.Close() }

// ended tells the end of input from a fault.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) }
