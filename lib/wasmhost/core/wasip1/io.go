package wasip1

import (
	"encoding/binary"
	"errors"
	"io"
)

// Bounds of one call, as of readv(2): more buffers are refused, more bytes are not
// moved. piece is how much is moved between two looks at the time.
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

// move hands the buffers to op, in pieces, with the number of bytes before each,
// until one is moved only in part. What was moved counts more than why it stopped.
func (h *Host) move(buffers [][]byte, op func(b []byte, done int64) (int, error)) (uint32, Errno) {
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

func fdRead(h *Host, m memory, a args) Errno {
	d := h.fds.get(a.u32(0))
	if d == nil {
		return EBADF
	}
	buffers, errno := m.buffers(a.u32(1), a.u32(2))
	if errno != 0 {
		return errno
	}
	n, errno := h.move(buffers, func(b []byte, _ int64) (int, error) {
		if d.in != nil {
			return d.in.Read(b)
		}
		return 0, EBADF
	})
	if errno != 0 {
		return errno
	}
	return m.putU32(a.u32(3), n)
}

func fdWrite(h *Host, m memory, a args) Errno {
	d := h.fds.get(a.u32(0))
	if d == nil {
		return EBADF
	}
	buffers, errno := m.buffers(a.u32(1), a.u32(2))
	if errno != 0 {
		return errno
	}
	n, errno := h.move(buffers, func(b []byte, _ int64) (int, error) {
		if d.out != nil {
			return d.out.Write(b)
		}
		return 0, EBADF
	})
	if errno != 0 {
		return errno
	}
	return m.putU32(a.u32(3), n)
}
