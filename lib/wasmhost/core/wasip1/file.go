package wasip1

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/mur-capsules/mur/lib/wasmhost/hostfile"
)

// file is a descriptor with its host file opened. A stream has none; a granted
// directory gets it with the first use.
func (h *Host) file(fd uint32) (*descriptor, Errno) {
	d := h.fds.get(fd)
	switch {
	case d == nil:
		return nil, EBADF
	case d.stream() || d.f != nil:
		return d, 0
	case h.fds.full():
		return nil, EMFILE
	}
	f, err := d.dir.Root.Open(".")
	if err != nil {
		return nil, errnoOf(err)
	}
	d.f = f
	h.fds.files++
	return d, 0
}

// onFile makes a function of op, which is given what the first argument stands for,
// and for a stream answers stream.
func onFile(stream Errno, op func(d *descriptor, m memory, a args) error) function {
	return func(h *Host, m memory, a args) Errno {
		d, errno := h.file(a.u32(0))
		switch {
		case errno != 0:
			return errno
		case d.stream():
			return stream
		}
		return errnoOf(op(d, m, a))
	}
}

var (
	fdSync = onFile(0, func(d *descriptor, _ memory, _ args) error { return d.f.Sync() })

	fdDatasync = onFile(0, func(d *descriptor, _ memory, _ args) error { return control(d.f, hostfile.SyncData) })

	fdSeek = onFile(ESPIPE, func(d *descriptor, m memory, a args) error {
		return d.seek(m, a.i64(1), a.u32(2), a.u32(3))
	})

	fdTell = onFile(ESPIPE, func(d *descriptor, m memory, a args) error {
		return d.seek(m, 0, io.SeekCurrent, a.u32(1))
	})

	// What is advised is not needed here, but has to make sense.
	fdAdvise = onFile(0, func(_ *descriptor, _ memory, a args) error {
		if _, ok := end(a.u64(1), a.u64(2)); !ok || a.u32(3) > 5 {
			return EINVAL
		}
		return nil
	})

	// fdAllocate makes the file as long as asked. It takes no blocks: they are
	// somebody else's until they are written.
	fdAllocate = onFile(ESPIPE, func(d *descriptor, _ memory, a args) error {
		size, ok := end(a.u64(1), a.u64(2))
		if !ok {
			return EINVAL
		}
		fi, err := d.f.Stat()
		if err != nil || !d.isDir && fi.Size() >= size {
			return err
		}
		return d.truncate(size)
	})

	fdFilestatSetSize = onFile(EINVAL, func(d *descriptor, _ memory, a args) error { return d.truncate(a.i64(1)) })

	// fdFilestatSetTimes is futimens(3): utimensat(2) with a descriptor and no path.
	fdFilestatSetTimes = onFile(ENOTSUP, func(d *descriptor, _ memory, a args) error {
		stamps, errno := stampsOf(a.u64(1), a.u64(2), a.flags(3))
		if errno != 0 {
			return errno
		}
		return control(d.f, func(fd int) error { return hostfile.SetTimes(fd, stamps[0].time(), stamps[1].time()) })
	})
)

// end is the position after a range of a file.
func end(offset, length uint64) (int64, bool) {
	if offset > math.MaxInt64 || length > math.MaxInt64-offset {
		return 0, false
	}
	return int64(offset + length), true
}

func (d *descriptor) truncate(size int64) error {
	switch {
	case d.isDir:
		return EISDIR
	case size < 0:
		return EINVAL
	}
	return d.f.Truncate(size)
}

func (d *descriptor) seek(m memory, offset int64, whence, result uint32) error {
	switch {
	case d.isDir:
		return EISDIR
	case whence > io.SeekEnd:
		return EINVAL
	}
	out, ok := m.at(result, 8)
	if !ok {
		return EFAULT
	}
	n, err := d.f.Seek(offset, int(whence))
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(out, uint64(n))
	return nil
}

func fdFilestatGet(h *Host, m memory, a args) Errno {
	out, ok := m.at(a.u32(1), statSize)
	if !ok {
		return EFAULT
	}
	d, errno := h.file(a.u32(0))
	switch {
	case errno != 0:
		return errno
	case d.stream():
		putStreamStat(out)
		return 0
	}
	fi, err := d.f.Stat()
	if err != nil {
		return errnoOf(err)
	}
	return putStat(out, fi)
}
