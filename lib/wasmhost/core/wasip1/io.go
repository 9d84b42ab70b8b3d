package wasip1

import (
	"encoding/binary"
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// Bounds of one call: more buffers are refused, as readv(2) does, and more bytes are
// not moved. piece is how much is moved between two looks at the time.
const (
	maxBuffers = 1024
	maxMoved   = 1 << 30
	piece      = 4 << 20
)

// buffers are the ranges of memory an array of n iovecs (pointer, length) names,
// without the empty ones. All are looked at before the first is used.
func (m memory) buffers(ptr, n uint32) ([][]byte, Errno) {
	if n > maxBuffers {
		return nil, EINVAL
	}
	iovs, ok := m.at(ptr, 8*uint64(n))
	if !ok {
		return nil, EFAULT
	}
	var out [][]byte
	for ; len(iovs) > 0; iovs = iovs[8:] {
		b, ok := m.at(binary.LittleEndian.Uint32(iovs), uint64(binary.LittleEndian.Uint32(iovs[4:])))
		if !ok {
			return nil, EFAULT
		}
		if len(b) > 0 {
			out = append(out, b)
		}
	}
	return out, 0
}

// move hands the buffers to op, in pieces, until one is moved only in part. What was
// moved counts more than why it stopped.
func (h *Host) move(buffers [][]byte, op mover) (uint32, Errno) {
	done := 0
	for _, b := range buffers {
		for len(b) > 0 {
			if done >= maxMoved || h.Context.Err() != nil {
				return uint32(done), 0
			}
			p := b[:min(len(b), piece, maxMoved-done)]
			n, err := op(p, int64(done))
			done += n
			if err != nil && !errors.Is(err, io.EOF) && done == 0 {
				return 0, errnoOf(err)
			}
			if err != nil || n < len(p) {
				return uint32(done), 0
			}
			b = b[n:]
		}
	}
	return uint32(done), 0
}

// mover moves the bytes of one buffer; done is how many were moved before it.
type mover func(b []byte, done int64) (int, error)

func fdRead(h *Host, m memory, a args) Errno {
	return h.transfer(m, a, a.u32(3), func(d *descriptor) (mover, Errno) {
		switch {
		case d.in != nil:
			return func(b []byte, _ int64) (int, error) { return d.in.Read(b) }, 0
		case d.isDir:
			return nil, EISDIR
		case d.stream():
			return nil, EBADF
		}
		return func(b []byte, _ int64) (int, error) { return d.f.Read(b) }, 0
	})
}

func fdWrite(h *Host, m memory, a args) Errno {
	return h.transfer(m, a, a.u32(3), func(d *descriptor) (mover, Errno) {
		switch {
		case d.out != nil:
			return func(b []byte, _ int64) (int, error) { return d.out.Write(b) }, 0
		case d.isDir, d.stream():
			return nil, EBADF
		}
		return func(b []byte, _ int64) (int, error) { return d.f.Write(b) }, 0
	})
}

func fdPread(h *Host, m memory, a args) Errno {
	offset := a.i64(3)
	return h.transfer(m, a, a.u32(4), func(d *descriptor) (mover, Errno) {
		switch {
		case d.stream():
			return nil, ESPIPE
		case d.isDir:
			return nil, EISDIR
		case offset < 0:
			return nil, EINVAL
		}
		return func(b []byte, done int64) (int, error) { return d.f.ReadAt(b, offset+done) }, 0
	})
}

// fdPwrite goes to the system call: os.File refuses WriteAt on a file opened to
// append.
func fdPwrite(h *Host, m memory, a args) Errno {
	offset := a.i64(3)
	return h.transfer(m, a, a.u32(4), func(d *descriptor) (mover, Errno) {
		switch {
		case d.stream():
			return nil, ESPIPE
		case d.isDir:
			return nil, EBADF
		case offset < 0:
			return nil, EINVAL
		}
		return func(b []byte, done int64) (n int, err error) {
			err = control(d.f, func(fd int) (err error) {
				n, err = unix.Pwrite(fd, b, offset+done)
				n = max(n, 0)
				return err
			})
			return n, err
		}, 0
	})
}

// transfer is what the four have in common: a descriptor, an array of buffers, and
// a pointer to the number of bytes moved. way says how the descriptor moves bytes,
// or why it does not, which counts also when there is nothing to move.
func (h *Host) transfer(m memory, a args, moved uint32, way func(*descriptor) (mover, Errno)) Errno {
	d := h.fds.get(a.u32(0))
	if d == nil {
		return EBADF
	}
	buffers, errno := m.buffers(a.u32(1), a.u32(2))
	if errno != 0 {
		return errno
	}
	if _, ok := m.at(moved, 4); !ok {
		return EFAULT // before anything is moved
	}
	op, errno := way(d)
	if errno != 0 {
		return errno
	}
	n, errno := h.move(buffers, op)
	if errno != 0 {
		return errno
	}
	return m.putU32(moved, n)
}
