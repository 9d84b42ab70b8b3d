package wasi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

var typeOutgoingBody = wasmtime.NewResourceType()

// bodyPipe carries a request's body from the guest, which writes without
// waiting, to the goroutine that sends it. It holds at most one Chunk.
type bodyPipe struct {
	signal
	buf     bytes.Buffer
	written uint64
	ended   bool
	err     error // nil: the body is complete
	trailer []headerLine
}

func (p *bodyPipe) room() (int, error) {
	p.Lock()
	defer p.Unlock()
	if p.ended {
		return 0, io.ErrClosedPipe
	}
	return Chunk - p.buf.Len(), nil
}

func (p *bodyPipe) ready() <-chan struct{} {
	p.Lock()
	defer p.Unlock()
	if p.ended || p.buf.Len() < Chunk {
		return nil
	}
	return p.wait()
}

func (p *bodyPipe) write(_ context.Context, b []byte) error {
	p.Lock()
	defer p.Unlock()
	if p.ended {
		return io.ErrClosedPipe
	}
	p.buf.Write(b)
	p.written += uint64(len(b))
	p.wake()
	return nil
}

// end completes the body, or breaks it off when err is set. Only the first end
// counts.
func (p *bodyPipe) end(err error, trailer []headerLine) {
	p.Lock()
	defer p.Unlock()
	if p.ended {
		return
	}
	p.ended, p.err, p.trailer = true, err, trailer
	if err != nil {
		p.buf = bytes.Buffer{}
	}
	p.wake()
}

// bodyEnd is the sending side of a bodyPipe: the Body of req.
type bodyEnd struct {
	pipe *bodyPipe
	ctx  context.Context
	req  *http.Request
}

func (e *bodyEnd) Close() error { e.pipe.end(io.ErrClosedPipe, nil); return nil }

func (e *bodyEnd) Read(b []byte) (int, error) {
	p := e.pipe
	for {
		p.Lock()
		if p.buf.Len() > 0 {
			n, err := p.buf.Read(b)
			p.wake()
			p.Unlock()
			return n, err
		}
		if p.ended {
			err := p.err
			if err == nil {
				err = io.EOF
				for _, h := range p.trailer {
					e.req.Trailer.Add(h.name, h.value)
				}
				p.trailer = nil
			}
			p.Unlock()
			return 0, err
		}
		ch := p.wait()
		p.Unlock()
		select {
		case <-ch:
		case <-e.ctx.Done():
			return 0, context.Cause(e.ctx)
		}
	}
}

// outgoingBody is the guest's handle of a request's body.
type outgoingBody struct {
	pipe     *bodyPipe
	declared int64 // content-length, or -1
	taken    bool  // the stream has been handed out
}

// Close breaks the body off: it was dropped without finish.
func (b *outgoingBody) Close() error {
	b.pipe.end(errors.New("the request's body was dropped unfinished"), nil)
	return nil
}

// finish completes the body with its trailers.
func (b *outgoingBody) finish(trailer []headerLine) *httpError {
	b.pipe.Lock()
	n := b.pipe.written
	b.pipe.Unlock()
	if b.declared >= 0 && uint64(b.declared) != n {
		err := sized("HTTP-request-body-size", n, "the body's size is not its content-length")
		b.pipe.end(err, nil)
		return err
	}
	b.pipe.end(nil, trailer)
	return nil
}

func outgoingBodyFuncs() funcs {
	return funcs{
		"[method]outgoing-body.write": method(func(c *call, b *outgoingBody, a []val) (val, error) {
			if b.taken {
				return wasmtime.Err(nil), nil
			}
			b.taken = true
			return wasmtime.Ok(c.Own(typeOutput, b.pipe)), nil
		}),
		"[static]outgoing-body.finish": func(c *call, a []val) (val, error) {
			b := wasmtime.Res[*outgoingBody](c, a[0])
			var trailer []headerLine
			if o := a[1].(option); o.Some {
				f := wasmtime.Res[*fields](c, o.V)
				trailer = append(trailer, f.lines...)
				f.Close() //nolint:errcheck // never fails
			}
			if err := b.finish(trailer); err != nil {
				return wasmtime.Err(err.code), nil
			}
			return wasmtime.Ok(nil), nil
		},
	}
}
