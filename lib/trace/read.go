package trace

import (
	"bytes"
	"fmt"
	"io"
)

// State is what a reader found a line to be.
type State int

// The states of a line.
const (
	Whole     State = iota // a JSON object with its newline
	Malformed              // has its newline and is no JSON object (TRC-88)
	Torn                   // the last one, without its newline (TRC-86)
)

// Reader reads a trace line by line in file order, in memory that grows only
// with the longest line. It tolerates what TRC section 6 says a reader must.
type Reader struct {
	Line   Line  // the current line; cut into members only when Whole
	State  State // what the current line is
	Number int64 // of the current line, from 1
	Offset int64 // of its first byte

	src        io.Reader
	buf        []byte
	start, end int // unread bytes of buf
	eof        bool
	err        error
	next       int64 // offset of buf[start]
}

const readSize = 256 << 10

// NewReader returns a reader of r, which should not be buffered itself.
func NewReader(r io.Reader) *Reader { return &Reader{src: r} }

// Reset makes the reader read r from its beginning and keeps its memory.
func (r *Reader) Reset(src io.Reader) {
	*r = Reader{src: src, buf: r.buf, Line: Line{members: r.Line.members}}
}

// Next reads the next line and reports whether there was one.
func (r *Reader) Next() bool {
	raw, newline := r.take()
	if raw == nil {
		return false
	}
	r.Number++
	switch {
	case !newline:
		r.State = Torn
		r.Line = Line{raw: raw, members: r.Line.members[:0]}
	case r.Line.Parse(raw):
		r.State = Whole
	default:
		r.State = Malformed
		r.Line = Line{raw: raw, members: r.Line.members[:0]}
	}
	return true
}

// Err returns what ended Next, nil for the end of the trace.
func (r *Reader) Err() error { return r.err }

// take returns the next line without its newline, and whether it had one; nil
// at the end.
func (r *Reader) take() ([]byte, bool) {
	searched := r.start
	for {
		if i := bytes.IndexByte(r.buf[searched:r.end], '\n'); i >= 0 {
			line := r.buf[r.start : searched+i]
			r.advance(searched + i + 1)
			return line, true
		}
		searched = r.end
		if r.eof || r.err != nil {
			if r.start == r.end || r.err != nil {
				return nil, false
			}
			line := r.buf[r.start:r.end]
			r.advance(r.end)
			return line, false
		}
		searched -= r.fill()
	}
}

func (r *Reader) advance(to int) {
	r.Offset = r.next
	r.next += int64(to - r.start)
	r.start = to
}

// fill reads more into buf and returns by how much it moved what was there.
func (r *Reader) fill() (moved int) {
	if r.start > 0 {
		moved = r.start
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, r.end-moved
	}
	if r.end == len(r.buf) {
		grown := make([]byte, max(readSize, 2*len(r.buf)))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	switch {
	case err == io.EOF:
		r.eof = true
	case err != nil:
		r.err = fmt.Errorf("the trace can not be read: %w", err)
	}
	return moved
}

// ReadHead returns the header of the session_start a trace begins with, or nil
// when its first line is not a whole session_start. The error is one of
// reading.
func ReadHead(r io.Reader) (*Header, error) {
	rd := NewReader(r)
	if !rd.Next() {
		return nil, rd.Err()
	}
	h := rd.Line.Header()
	if rd.State != Whole || h.EventType != "session_start" || h.EventID == "" || h.SessionID == "" {
		return nil, nil
	}
	return &h, nil
}

// Buffered reports whether another whole line has been read already, so that
// Next will not wait for the source.
func (r *Reader) Buffered() bool {
	return bytes.IndexByte(r.buf[r.start:r.end], '\n') >= 0
}
