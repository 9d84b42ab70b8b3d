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

// drainBuffer keeps a command that prints a lot from waiting.
const drainBuffer = 256 << 10

// stream reads one output of a command to its end, keeps its head, counts it and
// copies it on. What the copy does can be changed while it runs.
type stream struct {
	from *os.File
	mu   sync.Mutex
	head bytes.Buffer
	n    int64
	to   io.Writer // nil: nowhere
}

func newStream(to io.Writer) (*stream, *os.File, error) {
	r, w, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	widen(w)
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
