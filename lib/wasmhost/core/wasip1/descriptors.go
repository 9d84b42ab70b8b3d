package wasip1

import (
	"io"
	"os"
	"path"
	"slices"
)

// maxFiles is how many host files a guest may hold open: it shares the descriptors
// of its process with every other guest (WIT-60).
const maxFiles = 256

// maxNumber is above every number a guest may give a file: more than there can be
// streams, granted directories and files.
const maxNumber = 1024

// descriptor is what a number of the guest stands for: a stream, an open file, or
// a directory.
type descriptor struct {
	in  io.Reader // of standard input
	out io.Writer // of standard output and error
	dir *Dir      // nil for a stream: the directory it was opened in, or is
	// name is the path of a directory beneath dir; "." is dir itself.
	name    string
	granted bool     // a directory the guest found opened
	f       *os.File // nil for a stream, and for a granted directory not yet used
	isDir   bool
	append  bool
	list    listing // of a directory
}

func (d *descriptor) stream() bool { return d.dir == nil }

// descriptors are the numbers a guest has in use. The zero value has none.
type descriptors struct {
	open  []*descriptor // nil where a number is free
	files int           // how many of them hold a host file
}

// preopen gives a new guest its numbers.
func (t *descriptors) preopen(c Config) {
	in, out, err := c.Stdin, c.Stdout, c.Stderr
	if in == nil {
		in = eof{}
	}
	if out == nil {
		out = io.Discard
	}
	if err == nil {
		err = io.Discard
	}
	t.open = []*descriptor{{in: in}, {out: out}, {out: err}}
	dirs := slices.Clone(c.Dirs)
	for i := range dirs {
		d := &dirs[i]
		for j := range dirs {
			if d.Hidden != "" && path.Clean(dirs[j].Guest) == path.Join(d.Guest, d.Hidden) {
				d.over = &dirs[j]
			}
		}
		t.open = append(t.open, &descriptor{dir: d, name: ".", granted: true, isDir: true})
	}
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// get is what a number stands for, nil when nothing.
func (t *descriptors) get(fd uint32) *descriptor {
	if uint64(fd) >= uint64(len(t.open)) {
		return nil
	}
	return t.open[fd]
}

// full tells that no further host file may be opened.
func (t *descriptors) full() bool { return t.files >= maxFiles }

// add gives d the lowest free number. The caller has asked full.
func (t *descriptors) add(d *descriptor) uint32 {
	t.files++
	for i, there := range t.open {
		if there == nil {
			t.open[i] = d
			return uint32(i)
		}
	}
	t.open = append(t.open, d)
	return uint32(len(t.open) - 1)
}

// close frees a number and closes its file.
func (t *descriptors) close(fd uint32) error {
	d := t.open[fd]
	t.open[fd] = nil
	if d.f == nil {
		return nil
	}
	t.files--
	return d.f.Close()
}

// renumber moves what from stands for to another number, and closes what that one
// stood for. The granted directories stay where they are: libraries remember their
// numbers. The numbers go no further than files can be opened.
func (t *descriptors) renumber(from, to uint32) Errno {
	d, there := t.get(from), t.get(to)
	switch {
	case d == nil, uint64(to) >= maxNumber:
		return EBADF
	case d.granted, there != nil && there.granted:
		return ENOTSUP
	case from == to:
		return 0
	}
	for uint64(to) >= uint64(len(t.open)) {
		t.open = append(t.open, nil)
	}
	var err error
	if there != nil {
		err = t.close(to)
	}
	t.open[from], t.open[to] = nil, d
	return errnoOf(err)
}

func (t *descriptors) closeAll() {
	for fd, d := range t.open {
		if d != nil {
			// The guest is gone, and with it whoever could be told.
			_ = t.close(uint32(fd))
		}
	}
}
