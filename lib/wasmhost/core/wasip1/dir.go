package wasip1

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/wasmhost/hostfile"
)

// maxPath bounds a path, as Linux does.
const maxPath = 4096

// place is where a path of a guest leads: a name, not yet resolved, beneath a
// granted directory. Read as text it is local (filepath.IsLocal); what a ".." in it
// means once links are followed, os.Root finds.
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
	case n >= maxPath:
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
	if !filepath.IsLocal(p) {
		return place{}, EPERM
	}
	name := p
	if d.name != "." {
		name = d.name + "/" + p
	}
	if len(name) >= maxPath {
		return place{}, ENAMETOOLONG
	}
	first, rest, _ := strings.Cut(path.Clean(name), "/")
	switch {
	case first != d.dir.Hidden:
		return place{d.dir, name}, 0
	case d.dir.over == nil:
		return place{}, ENOENT
	case rest == "":
		rest = "."
	case strings.HasSuffix(name, "/"):
		rest += "/"
	}
	return place{d.dir.over, rest}, 0
}

// entry is the name as that of an entry that is made or taken away, which may be
// given with a slash after it.
func (p place) entry() string { return strings.TrimRight(p.name, "/") }

// parent opens the directory the entry is in, for what os.Root does not do or does
// differently from the system. The name is a plain one, which stays in there.
func (p place) parent() (dir *os.File, name string, err error) {
	parent, name := path.Split(p.entry())
	if name == "." || name == ".." {
		return nil, "", EINVAL
	}
	dir, err = p.dir.Root.Open(parent + ".")
	return dir, name, err
}

// stat tells of the entry, or with follow of what a link leads to.
func (p place) stat(follow bool) (fs.FileInfo, error) {
	if follow {
		return p.dir.Root.Stat(p.name)
	}
	return p.dir.Root.Lstat(p.name)
}

// setTimes sets stamps of the entry, or with follow of what a link leads to.
func (p place) setTimes(stamps [2]stamp, follow bool) error {
	fi, err := p.stat(follow)
	if err != nil {
		return err
	}
	if fi.Mode()&fs.ModeSymlink == 0 {
		return p.dir.Root.Chtimes(p.name, stamps[0].time(), stamps[1].time())
	}
	parent, name, err := p.parent()
	if err != nil {
		return err
	}
	defer parent.Close()
	return control(parent, func(fd int) error { return hostfile.SetEntryTimes(fd, name, stamps[0].time(), stamps[1].time()) })
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
	src, srcName, err := p.parent()
	if err != nil {
		return err
	}
	defer src.Close()
	dst, dstName, err := to.parent()
	if err != nil {
		return err
	}
	defer dst.Close()
	// rename(2) follows no link at the end, and wants a directory before a slash.
	srcName += p.name[len(p.entry()):]
	dstName += to.name[len(to.entry()):]
	return control(src, func(srcFD int) error {
		return control(dst, func(dstFD int) error { return unix.Renameat(srcFD, srcName, dstFD, dstName) })
	})
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

// symlink makes the entry a link. A slash after the name asks for a directory, which
// a link is not.
func (p place) symlink(target string) error {
	if !p.mayLinkTo(target) {
		return EPERM
	}
	if p.entry() != p.name {
		if _, err := p.dir.Root.Lstat(p.entry()); err != nil {
			return err
		}
		return EEXIST
	}
	return p.dir.Root.Symlink(target, p.entry())
}

// mayLinkTo tells whether a link at that place leads to a place inside the
// directory. It allows only targets that climb first and descend after, from where
// the link really lies: what a later ".." means depends on links before it (WIT-74).
func (p place) mayLinkTo(target string) bool {
	if target == "" || strings.HasPrefix(target, "/") {
		return false
	}
	parent, _ := path.Split(p.entry())
	depth, climbing := depth(p.dir.Root, parent), true
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

// depth is how many directories dir lies below the root at least: none when the way
// goes through a link or "..".
func depth(root *os.Root, dir string) int {
	depth, prefix := 0, ""
	for part := range strings.SplitSeq(dir, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			return 0
		}
		prefix = path.Join(prefix, part)
		if fi, err := root.Lstat(prefix); err != nil || !fi.IsDir() {
			return 0
		}
		depth++
	}
	return depth
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
