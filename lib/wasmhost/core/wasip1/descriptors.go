package wasip1

import (
	"io"
	"os"
)

// maxFiles is how many host files a guest may hold open: it shares the descriptors
// of its process with every other guest (WIT-60).
const maxFiles = 256

// descriptor is what a number of the guest stands for: a stream, an open file, or
// a directory.
type descriptor struct {
	in  io.Reader // of standard input
	out io.Writer // of standard output and error
	dir *dir      // nil for a stream: the directory it was opened in, or is
	// name is the path of a directory beneath dir; "." is dir itself.
	name    string
	preopen bool     // was there before the guest started
	f       *os.File // nil for a stream, and for a preopened directory not yet used
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
	t.open = []*descriptor{{in: in, preopen: true}, {out: out, preopen: true}, {out: err, preopen: true}}
	for _, d := range c.Dirs {
		t.open = append(t.open, &descriptor{
			dir: &dir{Dir: d}, name: ".", preopen: true, isDir: true})
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

func (t *descriptors) closeAll() {
	for fd, d := range t.open {
		if d != nil {
			// The guest is gone, and with it whoever could be told.
			_ = t.close(uint32(fd))
		}
	}
}
