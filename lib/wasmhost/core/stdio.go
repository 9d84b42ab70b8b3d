package core

import (
	"context"
	"fmt"
	"io"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

const (
	maxOutput  = 64 << 20 // a result and a slot (WIT-40, WIT-47)
	maxLog     = 64 << 10 // standard error of a tool or driver, a call (WIT-49)
	stderrTail = 4 << 10  // kept for a failed exit (WIT-48)
)

// resultBuffer is the standard output of a tool command.
type resultBuffer struct {
	c *call
	b []byte
}

// Write keeps p; beyond maxOutput it ends the guest, which would otherwise fill
// the pipe until its deadline.
func (w *resultBuffer) Write(p []byte) (int, error) {
	if len(p) > maxOutput-len(w.b) {
		w.c.end(&wasmhost.Fault{Cause: wasmhost.BadOutput, Err: fmt.Errorf("it is over %d bytes", maxOutput)})
	}
	w.b = append(w.b, p...)
	return len(p), nil
}

// errorStream is the standard error of a guest: passed on up to a limit, and
// its end kept.
type errorStream struct {
	out  io.Writer // nil discards
	left int       // bytes still passed on; negative is no limit
	tail []byte
}

// Write never fails for want of room: what is over the limit is dropped.
func (w *errorStream) Write(p []byte) (int, error) {
	w.tail = append(w.tail, p[max(0, len(p)-stderrTail):]...)
	if len(w.tail) > stderrTail {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-stderrTail:]...)
	}
	pass := p
	if w.left >= 0 {
		pass = p[:min(len(p), w.left)]
		w.left -= len(pass)
	}
	if w.out == nil || len(pass) == 0 {
		return len(p), nil
	}
	if n, err := w.out.Write(pass); err != nil {
		return n, err
	}
	return len(p), nil
}

// patientWriter writes to a stream of the caller's, which may block, and stops
// waiting when the call ends. The goroutine of a write that blocks on ends when
// its reader takes the bytes or goes away; the bytes are a copy.
type patientWriter struct {
	c *call
	w io.Writer
}

func (w *patientWriter) Write(p []byte) (int, error) {
	type result struct {
		n     int
		err   error
		panic any
	}
	done := make(chan result, 1)
	go func(p []byte) {
		var res result
		defer func() {
			res.panic = recover()
			done <- res
		}()
		res.n, res.err = w.w.Write(p)
	}(append([]byte(nil), p...))
	select {
	case res := <-done:
		if res.panic != nil {
			panic(res.panic) // of the guest's host function (guarded)
		}
		return res.n, res.err
	case <-w.c.ctx.Done():
		return 0, context.Cause(w.c.ctx)
	}
}

// stream wraps a writer of the caller's; nil stays nil.
func (c *call) stream(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return &patientWriter{c, w}
}
