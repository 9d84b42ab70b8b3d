package wasi

import (
	"context"
	"errors"
	"io"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

var (
	typeError  = wasmtime.NewResourceType()
	typeInput  = wasmtime.NewResourceType()
	typeOutput = wasmtime.NewResourceType()
)

// reader is the value behind an input-stream. read fills at most len(p) bytes
// and never waits longer than a disk does: (0, nil) means none yet, io.EOF the
// end. It is ready when a read would return bytes or an error.
type reader interface {
	source
	read(p []byte) (int, error)
}

// writer is the value behind an output-stream. room is how many bytes the next
// write takes; it is ready when room is not 0 or an error. write keeps nothing
// of p.
type writer interface {
	source
	room() (int, error)
	write(ctx context.Context, p []byte) error
}

// empty is the input that is at its end: standard input (WIT-70).
type empty struct{ always }

func (empty) read([]byte) (int, error) { return 0, io.EOF }

var zeroes [Chunk]byte

// readStream reads at most limit bytes, waiting for the first when block is
// set. The bytes are valid until the instance's next call.
func readStream(c *call, r reader, limit uint64, block bool) ([]byte, error) {
	p := instance(c).buffer()[:min(limit, Chunk)]
	for {
		n, err := r.read(p)
		if n > 0 {
			return p[:n], nil
		}
		if err != nil || !block || limit == 0 {
			return p[:0], err
		}
		if err := wait(c.Context(), r); err != nil {
			return nil, err
		}
	}
}

// buffer is where the bytes of the call in progress lie.
func (in *Instance) buffer() []byte {
	if in.scratch == nil {
		in.scratch = make([]byte, Chunk, Chunk+64) // unpack needs a little more
	}
	return in.scratch
}

// writeNow is output-stream.write: the guest has asked how much there is room for.
func writeNow(c *call, w writer, p []byte) error {
	n, err := w.room()
	if err != nil {
		return err
	}
	if len(p) > n {
		return trapf("write of %d bytes where check-write allowed %d", len(p), n)
	}
	return w.write(c.Context(), p)
}

// writeAll writes p however long it takes.
func writeAll(c *call, w writer, p []byte) error {
	for len(p) > 0 {
		n, err := w.room()
		if err != nil {
			return err
		}
		if n == 0 {
			if err := wait(c.Context(), w); err != nil {
				return err
			}
			continue
		}
		n = min(n, len(p))
		if err := w.write(c.Context(), p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func splice(c *call, w writer, r reader, limit uint64, block bool) (int, error) {
	if block {
		if err := wait(c.Context(), w); err != nil {
			return 0, err
		}
	}
	n, err := w.room()
	if err != nil || n == 0 {
		return 0, err
	}
	p, err := readStream(c, r, min(limit, uint64(n)), block)
	if err != nil || len(p) == 0 {
		return 0, err
	}
	return len(p), w.write(c.Context(), p)
}

// streamError tells the guest err: a stream-error.
func streamError(c *call, err error) val {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return variant{Name: "closed"}
	}
	return variant{Name: "last-operation-failed", V: c.Own(typeError, err)}
}

// streamResult makes result<v, stream-error>.
func streamResult(c *call, v val, err error) (val, error) {
	if err == nil {
		return wasmtime.Ok(v), nil
	}
	if fatal, ok := isTrap(err); ok {
		return nil, fatal
	}
	return wasmtime.Err(streamError(c, err)), nil
}

func ioInterfaces() []wasmtime.Interface {
	return []wasmtime.Interface{
		{Name: "io/error", Resources: resources{"error": typeError}, Funcs: funcs{
			"[method]error.to-debug-string": method(func(c *call, err error, a []val) (val, error) { return err.Error(), nil }),
		}},
		pollInterface(),
		{Name: "io/streams", Resources: resources{"input-stream": typeInput, "output-stream": typeOutput}, Funcs: streamFuncs()},
	}
}

func streamFuncs() funcs {
	m := funcs{
		"[method]input-stream.subscribe":  method(func(c *call, r reader, a []val) (val, error) { return subscribe(c, r), nil }),
		"[method]output-stream.subscribe": method(func(c *call, w writer, a []val) (val, error) { return subscribe(c, w), nil }),
		"[method]output-stream.check-write": method(func(c *call, w writer, a []val) (val, error) {
			n, err := w.room()
			return streamResult(c, uint64(n), err)
		}),
		"[method]output-stream.write": method(func(c *call, w writer, a []val) (val, error) {
			return streamResult(c, nil, writeNow(c, w, wasmtime.Bytes(a[0])))
		}),
		"[method]output-stream.blocking-write-and-flush": method(func(c *call, w writer, a []val) (val, error) {
			return streamResult(c, nil, writeAll(c, w, wasmtime.Bytes(a[0])))
		}),
		"[method]output-stream.write-zeroes": method(func(c *call, w writer, a []val) (val, error) {
			n := a[0].(uint64)
			if n > Chunk {
				return nil, trapf("write of %d zeroes; at most %d are written at a time", n, Chunk)
			}
			return streamResult(c, nil, writeNow(c, w, zeroes[:n]))
		}),
		"[method]output-stream.blocking-write-zeroes-and-flush": method(func(c *call, w writer, a []val) (val, error) {
			n := a[0].(uint64)
			if n > Chunk {
				return nil, trapf("write of %d zeroes; at most %d are written at a time", n, Chunk)
			}
			return streamResult(c, nil, writeAll(c, w, zeroes[:n]))
		}),
	}
	// Nothing is held back in an output-stream that flush could push: a file and
	// a host writer have taken the bytes when write returns, and the request
	// that drains a body runs by itself.
	flush := method(func(c *call, w writer, a []val) (val, error) {
		_, err := w.room()
		return streamResult(c, nil, err)
	})
	m["[method]output-stream.flush"], m["[method]output-stream.blocking-flush"] = flush, flush

	for prefix, block := range map[string]bool{"": false, "blocking-": true} {
		m["[method]input-stream."+prefix+"read"] = method(func(c *call, r reader, a []val) (val, error) {
			p, err := readStream(c, r, a[0].(uint64), block)
			return streamResult(c, p, err)
		})
		m["[method]input-stream."+prefix+"skip"] = method(func(c *call, r reader, a []val) (val, error) {
			p, err := readStream(c, r, a[0].(uint64), block)
			return streamResult(c, uint64(len(p)), err)
		})
		m["[method]output-stream."+prefix+"splice"] = method(func(c *call, w writer, a []val) (val, error) {
			n, err := splice(c, w, wasmtime.Res[reader](c, a[0]), a[1].(uint64), block)
			return streamResult(c, uint64(n), err)
		})
	}
	addPacked("wasi:io/streams", m)
	return m
}
