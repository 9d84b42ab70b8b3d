package wasip1

import (
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Flags of path_open: oflags, and of fdflags what counts.
const (
	openCreate    = 1
	openDirectory = 2
	openExclusive = 4
	openTruncate  = 8
	openFlags     = 15

	flagAppend   = 1
	flagDsync    = 2
	flagNonblock = 4
	flagRsync    = 8
	flagSync     = 16
)

// request is how path_open is asked to open a place.
type request struct {
	follow bool
	oflags uint16
	flags  uint16 // fdflags
	rights uint64
}

// open opens a file or directory, never anything else: a pipe or a device could
// make somebody wait, or do something by being opened.
func (p place) open(r request) (*descriptor, error) {
	if r.oflags&^openFlags != 0 || r.oflags&openDirectory != 0 && r.oflags&openCreate != 0 {
		return nil, EINVAL
	}
	const makes = openCreate | openExclusive // nothing may be there
	if fi, err := p.stat(r.follow); err == nil && r.oflags&makes != makes {
		if errno := r.refuses(fi.Mode()); errno != 0 {
			return nil, errno
		}
	}
	f, err := p.dir.Root.OpenFile(p.name, r.mode(), 0o666)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil {
		// It may have become something else since.
		if errno := r.refuses(fi.Mode()); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	d := &descriptor{dir: p.dir, name: p.entry(), f: f, isDir: fi.IsDir(), append: r.flags&flagAppend != 0}
	if path.Clean(d.name) == "." {
		d.name = "."
	}
	return d, nil
}

// refuses says why what has that mode is not opened.
func (r request) refuses(mode fs.FileMode) Errno {
	switch {
	case mode&fs.ModeSymlink != 0:
		return ELOOP
	case r.oflags&openDirectory != 0 && !mode.IsDir():
		return ENOTDIR
	case mode.IsDir() && r.mode()&(os.O_WRONLY|os.O_RDWR) != 0:
		return EISDIR
	case !mode.IsDir() && !mode.IsRegular():
		return EPERM
	}
	return 0
}

// mode is the request as flags of open(2). WASI has no mode of reading and writing:
// the rights stand for it, and where they name neither, what else is asked for.
// O_NONBLOCK makes opening a pipe return at once, which is refused after that.
func (r request) mode() int {
	const read, write = rightRead, rightWrite
	out := syscall.O_NONBLOCK | syscall.O_NOCTTY
	switch {
	case r.rights&(read|write) == read|write:
		out |= os.O_RDWR
	case r.rights&write != 0:
		out |= os.O_WRONLY
	case r.rights&read != 0:
	case r.oflags&(openCreate|openTruncate) != 0 || r.flags&flagAppend != 0:
		out |= os.O_RDWR
	}
	if r.oflags&openCreate != 0 {
		out |= os.O_CREATE
	}
	if r.oflags&openExclusive != 0 && r.oflags&openDirectory == 0 {
		out |= os.O_EXCL
	}
	if r.oflags&openTruncate != 0 {
		out |= os.O_TRUNC
	}
	if r.flags&flagAppend != 0 {
		out |= os.O_APPEND
	}
	if r.flags&(flagDsync|flagRsync|flagSync) != 0 {
		out |= os.O_SYNC
	}
	return out
}
