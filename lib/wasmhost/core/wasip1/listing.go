package wasip1

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
)

const (
	direntSize = 24  // of a dirent, before the name
	batch      = 128 // entries read at a time
)

// entry is one of a directory.
type entry struct {
	name string
	ino  uint64
	mode fs.FileMode
}

// listing is how far a guest has read a directory. A cookie is the number of an
// entry; what lies before the last one asked for is forgotten, so that a listing
// takes the same memory however large the directory is. Whoever goes back, and so
// whoever begins again, sees the directory as it is then.
type listing struct {
	begun  bool
	first  uint64  // number of the first of window
	window []entry // what was read and not yet asked past
	done   bool    // nothing comes after window
}

// begin reads the directory anew. Every directory has "." and ".."; what ".." is, a
// guest is not told.
func (d *descriptor) begin() error {
	if _, err := d.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	fi, err := d.f.Stat()
	if err != nil {
		return err
	}
	d.list = listing{begun: true, window: []entry{{".", inode(fi), fs.ModeDir}, {"..", 0, fs.ModeDir}}}
	return nil
}

// entryAt is entry number n, false when there are fewer.
func (h *Host) entryAt(d *descriptor, n uint64) (entry, bool, error) {
	l := &d.list
	if !l.begun || n < l.first {
		if err := d.begin(); err != nil {
			return entry{}, false, err
		}
	}
	for n >= l.first+uint64(len(l.window)) {
		if l.done || h.Context.Err() != nil {
			return entry{}, false, nil
		}
		l.first += uint64(len(l.window))
		l.window = nil
		entries, err := d.f.ReadDir(batch)
		if errors.Is(err, io.EOF) {
			l.done = true
		} else if err != nil {
			return entry{}, false, err
		}
		for _, e := range entries {
			if d.name == "." && e.Name() == d.dir.Hidden {
				continue
			}
			// No inodes: asking for them would take a system call each.
			l.window = append(l.window, entry{name: e.Name(), mode: e.Type()})
		}
	}
	l.window = l.window[n-l.first:]
	l.first = n
	return l.window[0], true, nil
}

// fdReaddir fills the buffer with entries from the one the cookie numbers on; the
// last may be cut off, and comes whole when asked for again. A buffer that is not
// filled is the end.
func fdReaddir(h *Host, m memory, a args) Errno {
	d, errno := h.file(a.u32(0))
	switch {
	case errno != 0:
		return errno
	case !d.isDir:
		return ENOTDIR
	case a.u32(2) < direntSize:
		return EINVAL
	}
	out, ok := m.at(a.u32(1), uint64(a.u32(2)))
	if !ok {
		return EFAULT
	}
	cookie := a.u64(3)
	used := 0
	for used < len(out) {
		e, ok, err := h.entryAt(d, cookie)
		if err != nil {
			return errnoOf(err)
		}
		if !ok {
			break
		}
		cookie++
		used += putEntry(out[used:], e, cookie)
	}
	return m.putU32(a.u32(4), uint32(used))
}

// putEntry writes as much of a dirent as there is room for: the cookie of the next,
// inode, length of the name, type, name.
func putEntry(out []byte, e entry, next uint64) int {
	b := make([]byte, 0, direntSize+len(e.name))
	b = binary.LittleEndian.AppendUint64(b, next)
	b = binary.LittleEndian.AppendUint64(b, e.ino)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.name)))
	b = binary.LittleEndian.AppendUint32(b, uint32(typeOf(e.mode)))
	return copy(out, append(b, e.name...))
}
