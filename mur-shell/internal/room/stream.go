package room

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// HeadBytes is how much of a stream is given back (SHL-61).
const HeadBytes = 16384

// drainBuffer and pipeSize keep a command that prints a lot from waiting.
const (
	drainBuffer = 256 << 10
	pipeSize    = 1 << 20
)

// stream reads one output of a command to its end, keeps its head, counts it and
// copies it on. What the copy does can be changed while it runs.
type stream struct {
	from *os.File
	mu   sync.Mutex
	head bytes.Buffer
	n    int64
	to   io.Writer // nil: nowhere
}

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

func newStream(to io.Writer) (*stream, *os.File, error) {
	r, w, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	// The default of 64 KiB does as well, more slowly, where a user's quota of
	// pipe pages is used up (pipe(7)).
	_, _ = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, pipeSize)
	return &stream{from: r, to: to}, w, nil
}

// drain reads until end of file, or until the reader of the copy has gone: then
// the command learns that nobody reads, as it would without us.
func (s *stream) drain() {
	defer s.from.Close()
	buf := buffers.Get().(*[drainBuffer]byte)
	defer buffers.Put(buf)
	for {
		n, err := s.from.Read(buf[:])
		if n > 0 && !s.take(buf[:n]) || err != nil {
			return
		}
	}
}

var buffers = sync.Pool{New: func() any { return new([drainBuffer]byte) }}

func (s *stream) take(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += int64(len(p))
	if room := HeadBytes - s.head.Len(); room > 0 {
		s.head.Write(p[:min(room, len(p))])
	}
	if s.to != nil {
		if _, err := s.to.Write(p); err != nil {
			return !errors.Is(err, unix.EPIPE)
		}
	}
	return true
}

// Text is the head of a stream as valid text (SHL-62).
func Text(head []byte) string { return strings.ToValidUTF8(string(head), "\uFFFD") }
