package wasip1

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// maxPath bounds a path, as Linux does.
const maxPath = 4096

// place is where a path of a guest leads: a name, not yet resolved, beneath a
// granted directory. It is local: "." or without "..", and ends in a slash when the
// guest says that it is a directory.
type place struct {
	dir  *Dir
	name string
}

// text copies a path out of memory, or the target of a link.
func (m memory) text(ptr, n uint32) (string, Errno) {
	b, ok := m.at(ptr, uint64(n))
	switch {
	case !ok:
		return "", EFAULT
	case n > maxPath:
		return "", ENAMETOOLONG
	case n == 0:
		return "", ENOENT
	}
	s := string(b)
	if strings.IndexByte(s, 0) >= 0 {
		return "", EINVAL
	}
	return s, 0
}

// place finds the place of a path, which the guest gives relative to a descriptor.
// It may not begin with a slash or climb above the descriptor.
func (h *Host) place(m memory, fd, ptr, n uint32) (place, Errno) {
	p, errno := m.text(ptr, n)
	if errno != 0 {
		return place{}, errno
	}
	d := h.fds.get(fd)
	if d == nil {
		return place{}, EBADF
	}
	if !d.isDir {
		return place{}, ENOTDIR
	}
	clean := path.Clean(p)
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(clean, "/") {
		return place{}, EPERM
	}
	name := path.Join(d.name, clean)
	if first, _, _ := strings.Cut(name, "/"); first == d.dir.Hidden {
		return place{}, ENOENT
	}
	if name != "." && (strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.")) {
		name += "/"
	}
	if len(name) > maxPath {
		return place{}, ENAMETOOLONG
	}
	return place{d.dir, name}, 0
}

// entry is the name as that of an entry that is made or taken away, which may be
// given with a slash after it.
func (p place) entry() string { return strings.TrimRight(p.name, "/") }

// within runs an operation on the parent directory of the entry, with its last name.
func (p place) within(op func(parent int, name string) error) error {
	parent, name := path.Split(p.entry())
	f, err := p.dir.Root.Open(path.Join(".", parent))
	if err != nil {
		return err
	}
	defer f.Close()
	return control(f, func(fd int) error { return op(fd, name) })
}

// stat tells of the entry, or with follow of what a link leads to.
func (p place) stat(follow bool) (fs.FileInfo, error) {
	if follow {
		return p.dir.Root.Stat(p.name)
	}
	return p.dir.Root.Lstat(p.name)
}

// unlink takes away an entry that is not a directory.
func (p place) unlink() error {
	if fi, err := p.dir.Root.Lstat(p.name); err != nil {
		return err
	} else if fi.IsDir() {
		return EISDIR
	}
	return p.dir.Root.Remove(p.name)
}

// rmdir takes away an empty directory.
func (p place) rmdir() error {
	if fi, err := p.dir.Root.Lstat(p.entry()); err != nil {
		return err
	} else if !fi.IsDir() {
		return ENOTDIR
	}
	return p.dir.Root.Remove(p.entry())
}

// rename moves the entry to another place.
func (p place) rename(to place) error {
	if p.dir != to.dir {
		return EXDEV
	}
	if !p.mayBeAt(to) {
		return EPERM
	}
	return p.dir.Root.Rename(p.entry(), to.entry())
}

// link gives the entry a second name. It follows no link.
func (p place) link(to place) error {
	if p.dir != to.dir {
		return EXDEV
	}
	if !p.mayBeAt(to) {
		return EPERM
	}
	return p.dir.Root.Link(p.name, to.name)
}

// mayBeAt tells whether the entry may have the name to: a link only when it stays
// inside from there (WIT-60).
func (p place) mayBeAt(to place) bool {
	target, err := p.dir.Root.Readlink(p.entry())
	return err != nil || to.mayLinkTo(target)
}

// symlink makes the entry a link.
func (p place) symlink(target string) error {
	if !p.mayLinkTo(target) {
		return EPERM
	}
	return p.dir.Root.Symlink(target, p.entry())
}

// mayLinkTo tells whether a link at that place leads to a place inside the
// directory. It allows only targets that climb first and descend after, from where
// the link really lies: what a later ".." means depends on links before it.
func (p place) mayLinkTo(target string) bool {
	if target == "" || strings.HasPrefix(target, "/") {
		return false
	}
	depth, ok := depth(p.dir.Root, path.Dir(p.entry()))
	if !ok {
		return false
	}
	climbing := true
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; !climbing || depth < 0 {
				return false
			}
		default:
			climbing = false
		}
	}
	return true
}

// depth counts the directories from the root to dir; it knows only paths without
// links.
func depth(root *os.Root, dir string) (int, bool) {
	if dir == "." {
		return 0, true
	}
	parts := strings.Split(dir, "/")
	for i := range parts {
		fi, err := root.Lstat(strings.Join(parts[:i+1], "/"))
		if err != nil || !fi.IsDir() {
			return 0, false
		}
	}
	return len(parts), true
}

// control runs a system call on an open descriptor.
func control(f *os.File, op func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var opErr error
	if err := conn.Control(func(fd uintptr) { opErr = op(int(fd)) }); err != nil {
		return err
	}
	return opErr
}

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
	return &descriptor{
		dir: p.dir, name: path.Clean(p.name), f: f, isDir: fi.IsDir(), append: r.flags&flagAppend != 0,
	}, nil
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
		return EACCES
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
