package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// event is one server-sent event; data is marshalled unless it is a string.
type event struct {
	name string
	data any
}

func (e event) text() string {
	data, ok := e.data.(string)
	if !ok {
		b, err := json.Marshal(e.data)
		if err != nil {
			panic(err) // built here, of plain values
		}
		data = string(b)
	}
	if e.name == "" {
		return "data: " + data + "\n\n"
	}
	return "event: " + e.name + "\ndata: " + data + "\n\n"
}

// sender writes one answer with one fault.
type sender struct {
	w     http.ResponseWriter
	ctx   context.Context // ends when the client leaves
	opt   Options
	fault Fault
}

func (s *sender) whole(body []byte) {
	s.w.Header().Set("Content-Type", "application/json")
	if s.fault == MidError || s.fault == Malformed {
		body = append(bytes.Clone(body[:len(body)/2]), `"}]!`...)
	}
	s.send(body, len(body))
}

func (s *sender) stream(wire wire, events []event) {
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	var b strings.Builder
	b.WriteString(wire.pause())
	for i, e := range events {
		switch {
		case i == len(events)/2 && s.fault == MidError:
			b.WriteString(wire.midError().text())
			events = nil
		case i == len(events)/2 && s.fault == Malformed:
			b.WriteString(event{e.name, `{"type":"content_block`}.text())
			events = nil
		default:
			b.WriteString(e.text())
		}
		if events == nil {
			break
		}
		if i%3 == 2 {
			b.WriteString(wire.pause())
		}
	}
	text := b.String()
	if s.opt.CRLF {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	size := s.opt.Pieces
	if size == 0 {
		size = len(text)
	}
	s.send([]byte(text), size)
}

// send writes body in pieces of at most size bytes, or as much of it as the
// fault lets through.
func (s *sender) send(body []byte, size int) {
	var pause time.Duration
	switch s.fault {
	case Hang:
		<-s.ctx.Done()
		return
	case Empty:
		return
	case Stall, Cut, Short:
		body = body[:len(body)/2]
	case Slow:
		size = max(1, min(size, len(body)/20))
		if pause = s.opt.Drip; pause == 0 {
			pause = 20 * time.Millisecond
		}
	}
	step := 0
	for len(body) > 0 {
		// Sizes from 1 to size, the same in every run.
		step++
		n := min(len(body), 1+(step*7+step*step*3)%max(1, size))
		if size >= len(body) && s.opt.Pieces == 0 {
			n = len(body)
		}
		if _, err := s.w.Write(body[:n]); err != nil {
			return
		}
		_ = http.NewResponseController(s.w).Flush()
		body = body[n:]
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-s.ctx.Done():
				return
			}
		}
	}
	switch s.fault {
	case Stall:
		<-s.ctx.Done()
	case Cut:
		panic(http.ErrAbortHandler)
	}
}

// split cuts text into parts of about n characters.
func split(text string, n int) (parts []string) {
	runes := []rune(text)
	for len(runes) > n {
		parts = append(parts, string(runes[:n]))
		runes = runes[n:]
	}
	return append(parts, string(runes))
}
