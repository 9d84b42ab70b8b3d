package wasi

import (
	"context"
	"io"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost/hostfile"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// fileError marks an error of a file's stream, so that filesystem-error-code
// knows its own.
type fileError struct{ error }

func (e fileError) Unwrap() error { return e.error }

// fileReader is the input-stream of read-via-stream.
type fileReader struct {
	always
	file *sharedFile
	off  int64
}

func (r *fileReader) Close() error { return r.file.Close() }

func (r *fileReader) read(p []byte) (int, error) {
	n, err := r.file.ReadAt(p, r.off)
	r.off += int64(n)
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case err == io.EOF:
		return 0, err
	}
	return 0, fileError{err}
}

// fileWriter is the output-stream of write-via-stream and append-via-stream.
type fileWriter struct {
	always
	file   *sharedFile
	off    int64
	append bool
}

func (w *fileWriter) Close() error       { return w.file.Close() }
func (w *fileWriter) room() (int, error) { return Chunk, nil }

func (w *fileWriter) write(_ context.Context, p []byte) error {
	if w.append {
		if err := hostfile.Append(int(w.file.Fd()), p); err != nil {
			return fileError{err}
		}
		return nil
	}
	n, err := w.file.WriteAt(p, w.off)
	w.off += int64(n)
	if err != nil {
		return fileError{err}
	}
	return nil
}

// fileOffset reads a filesize; more than a file can have is invalid.
func fileOffset(v val) (int64, error) {
	n := v.(uint64)
	if n > math.MaxInt64 {
		return 0, syscall.EINVAL
	}
	return int64(n), nil
}

// mayUse checks how a descriptor was opened, and reads an offset.
func (d *descriptor) mayUse(write bool, off val) (int64, error) {
	switch {
	case d.file == nil:
		return 0, syscall.EISDIR
	case write && !d.write, !write && !d.read:
		return 0, syscall.EBADF
	}
	return fileOffset(off)
}

// onFile adapts a function on an open file whose argument at index arg is an
// offset or a size; -1 means there is none.
func onFile(write bool, arg int, f func(c *call, d *descriptor, a []val, off int64) (val, error)) wasmtime.Func {
	return fsFunc(func(c *call, d *descriptor, a []val) (val, error) {
		var number val = uint64(0)
		if arg >= 0 {
			number = a[arg]
		}
		off, err := d.mayUse(write, number)
		if err != nil {
			return nil, err
		}
		return f(c, d, a, off)
	})
}

// readAt is descriptor.read: the bytes, valid until the next call, and whether
// the file ends there. No bytes are an end at any rate, also when none were asked
// for: the preview 1 adapter takes "none, and no end" for an interruption.
func readAt(c *call, d *descriptor, length uint64, off int64) ([]byte, bool, error) {
	p := instance(c).buffer()[:min(length, Chunk)]
	n, err := d.file.ReadAt(p, off)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	return p[:n], n == 0 || err == io.EOF, nil
}

// fileFuncs are the descriptor methods without a path.
func fileFuncs() map[string]wasmtime.Func {
	stat := func(show func(os.FileInfo) val) wasmtime.Func {
		return fsFunc(func(c *call, d *descriptor, a []val) (val, error) {
			fi, err := d.stat()
			if err != nil {
				return nil, err
			}
			return show(fi), nil
		})
	}
	return map[string]wasmtime.Func{
		"read-via-stream": onFile(false, 0, func(c *call, d *descriptor, a []val, off int64) (val, error) {
			return c.Own(typeInput, &fileReader{file: d.file.hold(), off: off}), nil
		}),
		"write-via-stream": onFile(true, 0, func(c *call, d *descriptor, a []val, off int64) (val, error) {
			return c.Own(typeOutput, &fileWriter{file: d.file.hold(), off: off}), nil
		}),
		"append-via-stream": onFile(true, -1, func(c *call, d *descriptor, a []val, _ int64) (val, error) {
			return c.Own(typeOutput, &fileWriter{file: d.file.hold(), append: true}), nil
		}),
		"read": onFile(false, 1, func(c *call, d *descriptor, a []val, off int64) (val, error) {
			p, eof, err := readAt(c, d, a[0].(uint64), off)
			return tuple{p, eof}, err
		}),
		"write": onFile(true, 1, func(c *call, d *descriptor, a []val, off int64) (val, error) {
			n, err := d.file.WriteAt(wasmtime.Bytes(a[0]), off)
			return uint64(n), err
		}),
		"set-size": onFile(true, 0, func(c *call, d *descriptor, a []val, size int64) (val, error) {
			return nil, d.file.Truncate(size)
		}),
		"advise":        fsFunc(func(*call, *descriptor, []val) (val, error) { return nil, nil }), // the kernel's guess is good
		"sync":          fsFunc(func(c *call, d *descriptor, a []val) (val, error) { return nil, d.sync(false) }),
		"sync-data":     fsFunc(func(c *call, d *descriptor, a []val) (val, error) { return nil, d.sync(true) }),
		"get-flags":     fsFunc(func(c *call, d *descriptor, a []val) (val, error) { return d.flags, nil }),
		"get-type":      stat(func(fi os.FileInfo) val { return fileType(fi.Mode()) }),
		"stat":          stat(statRecord),
		"metadata-hash": stat(metadataHash),
		"set-times": fsFunc(func(c *call, d *descriptor, a []val) (val, error) {
			at, mt, err := timestamps(c, a[0], a[1])
			if err != nil {
				return nil, err
			}
			if d.file == nil {
				return nil, d.root.Chtimes(".", at, mt)
			}
			if !d.write {
				return nil, syscall.EPERM
			}
			return nil, hostfile.SetTimes(int(d.file.Fd()), at, mt)
		}),
	}
}

func (d *descriptor) sync(dataOnly bool) error {
	f := d.file
	if f == nil {
		dir, err := d.root.Open(".")
		if err != nil {
			return err
		}
		defer dir.Close()
		return dir.Sync()
	}
	if dataOnly {
		return hostfile.SyncData(int(f.Fd()))
	}
	return f.Sync()
}

// timestamps reads two new-timestamp values; the zero time means no change.
func timestamps(c *call, access, modification val) (at, mt time.Time, err error) {
	if at, err = timestamp(c, access); err == nil {
		mt, err = timestamp(c, modification)
	}
	return at, mt, err
}

func timestamp(c *call, v val) (time.Time, error) {
	switch x := v.(variant); x.Name {
	case "now":
		return instance(c).cfg.Now(), nil
	case "timestamp":
		r := x.V.(record)
		sec, nsec := r.Get("seconds").(uint64), r.Get("nanoseconds").(uint32)
		if sec >= math.MaxInt64/uint64(time.Second) { // Go sets times as nanoseconds in 64 bits: until 2262
			return time.Time{}, syscall.EOVERFLOW
		}
		if nsec >= 1e9 {
			return time.Time{}, syscall.EINVAL
		}
		return time.Unix(int64(sec), int64(nsec)), nil
	}
	return time.Time{}, nil
}
