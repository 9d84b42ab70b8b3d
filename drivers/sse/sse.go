// Package sse reads a stream of server-sent events as the HTML standard
// describes it, section 9.2.6: any of the three line ends, comments, data over
// several lines, bytes arriving in any pieces.
package sse

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// MaxEvent bounds the data of one event.
const MaxEvent = 16 << 20

// ErrTooLarge is the error of an event over MaxEvent.
var ErrTooLarge = errors.New("an event of the stream is larger than 16 MiB")

// Event is one event; Name is empty where the stream gave none.
type Event struct {
	Name string
	Data string
}

// Reader reads events one by one.
type Reader struct {
	in    *bufio.Reader
	begun bool
	cr    bool // the last line ended with CR: a newline now belongs to it
}

// NewReader makes a Reader.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReader(r)} }

// Next returns the next event that has data, or the error of the stream, io.EOF
// at its end. An event the stream ends within is returned too: servers exist
// that leave out the last blank line, and what was cut shows in its data.
func (r *Reader) Next() (Event, error) {
	var e Event
	var data strings.Builder
	has := false
	for {
		line, err := r.line()
		if err != nil && (err != io.EOF || line == "" && !has) {
			return Event{}, err
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if has {
				e.Data = data.String()
				return e, nil
			}
			e = Event{}
		case field == "event":
			e.Name = value
		case field == "data":
			if has {
				data.WriteByte('\n')
			}
			has = true
			if data.Len()+len(value) > MaxEvent {
				return Event{}, ErrTooLarge
			}
			data.WriteString(value)
		}
	}
}

// line reads up to a line end, which it does not return.
func (r *Reader) line() (string, error) {
	var b []byte
	if !r.begun {
		r.begun = true
		if mark, err := r.in.Peek(3); err == nil && string(mark) == "\uFEFF" {
			_, _ = r.in.Discard(3)
		}
	}
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return string(b), err
		}
		wasCR := r.cr
		r.cr = c == '\r'
		switch {
		case c == '\n' && wasCR && len(b) == 0: // the second half of CRLF
		case c == '\n' || c == '\r':
			return string(b), nil
		default:
			if len(b) >= MaxEvent {
				return "", ErrTooLarge
			}
			b = append(b, c)
		}
	}
}
