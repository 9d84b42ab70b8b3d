package serve

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/shellproto"
)

// line is one request as it came, with the descriptors sent along. A line that was
// too long has no text.
type line struct {
	text  []byte
	files []*os.File
	long  bool
}

func (l line) close() {
	for _, f := range l.files {
		f.Close()
	}
}

// channel is the control socket: JSON lines both ways. A client sends each line
// with its descriptors by one sendmsg(2); that is how they find each other.
type channel struct {
	fd   *os.File
	conn interface {
		Read(f func(fd uintptr) bool) error
		Write(f func(fd uintptr) bool) error
	}
	rest  []byte // of an unfinished line
	files []*os.File
	long  bool
	ready []line

	mu sync.Mutex // of writes
}

func newChannel(fd int) (*channel, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
		return nil, fmt.Errorf("descriptor %d is no socket", fd)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "control")
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &channel{fd: f, conn: conn}, nil
}

// errEnd is the end of input on the channel.
var errEnd = errors.New("end of input")

// next returns the next line.
func (c *channel) next() (line, error) {
	for len(c.ready) == 0 {
		if err := c.receive(); err != nil {
			return line{}, err
		}
	}
	l := c.ready[0]
	c.ready = c.ready[1:]
	return l, nil
}

// receive reads once. The kernel ends a read behind data that came with
// descriptors (unix(7)), so those of one read belong to the last line it touched.
func (c *channel) receive() error {
	buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*16))
	var n, oobn int
	var err error
	gone := c.conn.Read(func(fd uintptr) bool {
		n, oobn, err = recvmsg(int(fd), buf, oob)
		return err != unix.EAGAIN
	})
	if gone != nil || err != nil || n == 0 {
		return errEnd
	}
	var files []*os.File
	if msgs, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil {
		for i := range msgs {
			fds, _ := unix.ParseUnixRights(&msgs[i])
			for _, fd := range fds {
				files = append(files, os.NewFile(uintptr(fd), "passed"))
			}
		}
	}
	data := buf[:n]
	for {
		before, after, complete := bytes.Cut(data, []byte("\n"))
		if !complete {
			c.add(before)
			break
		}
		c.add(before)
		l := line{text: c.rest, files: c.files, long: c.long}
		c.rest, c.files, c.long = nil, nil, false
		data = after
		if len(data) == 0 {
			l.files = append(l.files, files...)
			files = nil
		}
		c.ready = append(c.ready, l)
		if len(data) == 0 {
			break
		}
	}
	c.files = append(c.files, files...)
	return nil
}

func (c *channel) add(p []byte) {
	if len(c.rest)+len(p) > shellproto.MaxRequest {
		c.long, c.rest = true, nil
	}
	if !c.long {
		c.rest = append(c.rest, p...)
	}
}

// send writes one line. An error means that the client has gone.
func (c *channel) send(text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(text) > 0 {
		var n int
		var err error
		gone := c.conn.Write(func(fd uintptr) bool {
			n, err = unix.SendmsgN(int(fd), text, nil, nil, noSignal)
			return err != unix.EAGAIN
		})
		if gone != nil || err != nil {
			return errEnd
		}
		text = text[n:]
	}
	return nil
}

func (c *channel) close() { _ = c.fd.Close() }
