package wasi

import (
	"bytes"
	"context"
	"io"
	"time"
)

// output is standard output or error: a host writer that may block in Write.
// The guest waits for each write, but no longer than its context: the Write
// itself runs on a goroutine of its own, because an io.Writer can not be
// cancelled.
type output struct {
	always
	w     io.Writer
	jobs  chan []byte // nil until the first write
	done  chan error
	ended chan struct{}
	stuck bool // a Write was given up
}

func newOutput(w io.Writer) *output {
	if w == nil {
		w = io.Discard
	}
	return &output{w: w}
}

func (o *output) room() (int, error) {
	if o.stuck {
		return 0, io.ErrClosedPipe
	}
	return Chunk, nil
}

func (o *output) write(ctx context.Context, p []byte) error {
	if o.stuck {
		return io.ErrClosedPipe
	}
	if _, memory := o.w.(*bytes.Buffer); memory || o.w == io.Discard || len(p) == 0 { // these never wait
		_, err := o.w.Write(p)
		return err
	}
	if o.jobs == nil {
		o.jobs, o.done, o.ended = make(chan []byte), make(chan error, 1), make(chan struct{})
		go o.serve()
	}
	o.jobs <- bytes.Clone(p) // ours, should the Write outlive this call
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		o.stuck = true
		return trap{context.Cause(ctx)}
	}
}

func (o *output) serve() {
	defer close(o.ended)
	for p := range o.jobs {
		_, err := o.w.Write(p)
		o.done <- err
	}
}

// close ends the goroutine and waits for it where that is possible.
func (o *output) close() {
	if o.jobs == nil {
		return
	}
	close(o.jobs)
	if !o.stuck {
		<-o.ended
		return
	}
	// Files and connections can be woken; other writers end when they end.
	w, ok := o.w.(interface{ SetWriteDeadline(time.Time) error })
	if ok && w.SetWriteDeadline(time.Now()) == nil {
		<-o.ended
		w.SetWriteDeadline(time.Time{}) //nolint:errcheck // it worked a moment ago
	}
}
