package wasi

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/wasmhost/hostfile"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// maxPath is the longest path that is looked at, that of Linux (PATH_MAX).
const maxPath = 4096

// directoryFlags is what every directory says of itself: the grant is for
// reading and writing, and what lies beneath it inherits that. (The preview 1
// adapter of the WASI tool chain never asks for mutate-directory.)
var directoryFlags = flags{"read", "mutate-directory"}

// guestPath checks what can be judged without looking at the disk.
func guestPath(v val) (string, error) {
	p := v.(string)
	switch {
	case p == "":
		return "", syscall.ENOENT
	case len(p) >= maxPath:
		return "", syscall.ENAMETOOLONG
	case path.IsAbs(p):
		return "", syscall.EPERM
	}
	return p, nil
}

// onPath adapts a function on a directory and a path beneath it.
func onPath(arg int, f func(c *call, d *descriptor, p string, a []val) (val, error)) wasmtime.Func {
	return fsFunc(func(c *call, d *descriptor, a []val) (val, error) {
		if d.root == nil {
			return nil, syscall.ENOTDIR
		}
		p, err := guestPath(a[arg])
		if err != nil {
			return nil, err
		}
		return f(c, d, p, a)
	})
}

// entry is the last component of a path, in its open directory: what calls that
// must not follow a last symbolic link work on.
type entry struct {
	dir  *os.File
	base string
}

// entry opens the directory that p's last component is in. The component is a
// plain name: not ".", "..", nothing with a slash.
func (d *descriptor) entry(p string) (entry, error) {
	name := strings.TrimRight(p, "/")
	dir, base := path.Split(name)
	if base == "." || base == ".." || base == "" {
		return entry{}, syscall.EINVAL
	}
	if dir == "" {
		dir = "."
	}
	f, err := d.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return entry{}, err
	}
	if name != p { // "x/" names a directory, and never what a link points to
		fi, err := d.root.Lstat(name)
		if err == nil && !fi.IsDir() {
			f.Close()
			return entry{}, syscall.ENOTDIR
		}
	}
	return entry{f, base}, nil
}

func (e entry) fd() int { return int(e.dir.Fd()) }

// between runs f on two entries of one grant. The kernel could move files
// between grants on one disk, but a grant is a world of its own: the answer is
// that of different disks.
func between(c *call, d *descriptor, oldPath string, other, newPath val, f func(from, to entry) error) error {
	o := wasmtime.Res[*descriptor](c, other)
	switch {
	case o.root == nil:
		return syscall.ENOTDIR
	case o.grant != d.grant:
		return syscall.EXDEV
	}
	p, err := guestPath(newPath)
	if err != nil {
		return err
	}
	from, err := d.entry(oldPath)
	if err != nil {
		return err
	}
	defer from.dir.Close()
	to, err := o.entry(p)
	if err != nil {
		return err
	}
	defer to.dir.Close()
	return f(from, to)
}

// statAt follows a last symbolic link only when the guest's flags ask for it.
func (d *descriptor) statAt(pathFlags val, p string) (fs.FileInfo, error) {
	if pathFlags.(flags).Has("symlink-follow") {
		return d.root.Stat(p)
	}
	return d.root.Lstat(p)
}

// openMode turns the guest's flags into those of open(2).
func openMode(open, desc flags) (int, error) {
	mode := os.O_RDONLY
	if desc.Has("write") {
		mode = os.O_WRONLY
		if desc.Has("read") {
			mode = os.O_RDWR
		}
	}
	for _, f := range []struct {
		name string
		set  flags
		bit  int
	}{
		{"create", open, os.O_CREATE}, {"exclusive", open, os.O_EXCL}, {"truncate", open, os.O_TRUNC}, {"directory", open, syscall.O_DIRECTORY},
		{"file-integrity-sync", desc, syscall.O_SYNC}, {"data-integrity-sync", desc, hostfile.DataSync}, {"requested-write-sync", desc, syscall.O_SYNC},
	} {
		if f.set.Has(f.name) {
			mode |= f.bit
		}
	}
	if open.Has("directory") && (open.Has("create") || open.Has("exclusive") || open.Has("truncate")) {
		return 0, syscall.EINVAL
	}
	return mode | syscall.O_NONBLOCK, nil // a FIFO must not hold the host
}

func (d *descriptor) openAt(pathFlags flags, p string, open, desc flags) (*descriptor, error) {
	mode, err := openMode(open, desc)
	if err != nil {
		return nil, err
	}
	if err := d.in.mayOpen(); err != nil {
		return nil, err
	}
	if !pathFlags.Has("symlink-follow") {
		if fi, err := d.root.Lstat(p); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return nil, syscall.ELOOP
		}
	}
	f, err := d.root.OpenFile(p, mode, 0o666)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case fi.IsDir():
		f.Close()
		return d.openDir(p)
	case !fi.Mode().IsRegular(): // devices, sockets and FIFOs are no business of a guest
		err = syscall.EPERM
	default:
		file, _ := d.in.openFile(f, nil)
		n := &descriptor{in: d.in, grant: d.grant, file: file, write: desc.Has("write")}
		n.read = desc.Has("read") || !n.write
		for _, name := range []string{"read", "write", "file-integrity-sync", "data-integrity-sync", "requested-write-sync"} {
			if desc.Has(name) || name == "read" && n.read {
				n.flags = append(n.flags, name)
			}
		}
		return n, nil
	}
	f.Close()
	return nil, err
}

func (d *descriptor) openDir(p string) (*descriptor, error) {
	r, err := d.root.OpenRoot(p)
	if err != nil {
		return nil, err
	}
	d.in.files++
	return &descriptor{in: d.in, grant: d.grant, root: r, depth: d.depthOf(p), read: true, flags: directoryFlags}, nil
}

// linkTarget judges what a symbolic link made at p would point to. The wall is
// that no path is ever followed out of a grant; this keeps guests from leaving
// links about that lead somewhere for whoever looks at the folder later.
func (d *descriptor) linkTarget(target, p string) error {
	switch {
	case target == "":
		return syscall.ENOENT
	case len(target) >= maxPath:
		return syscall.ENAMETOOLONG
	case path.IsAbs(target):
		return syscall.EPERM
	}
	depth, leading := d.depthOf(path.Dir(p)), true
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			// After a name, ".." goes where the name leads: that may be a link.
			if depth--; depth < 0 || !leading {
				return syscall.EPERM
			}
		default:
			leading = false
		}
	}
	return nil
}

// depthOf is how many directories p lies below the top of the grant at least:
// 0 when p passes a link or "..".
func (d *descriptor) depthOf(p string) int {
	depth, prefix := d.depth, ""
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			return 0
		}
		prefix = path.Join(prefix, part)
		if fi, err := d.root.Lstat(prefix); err != nil || !fi.IsDir() {
			return 0
		}
		depth++
	}
	return depth
}

// pathFuncs are the descriptor methods with a path.
func pathFuncs() map[string]wasmtime.Func {
	stat := func(show func(os.FileInfo) val) wasmtime.Func {
		return onPath(1, func(c *call, d *descriptor, p string, a []val) (val, error) {
			fi, err := d.statAt(a[0], p)
			if err != nil {
				return nil, err
			}
			return show(fi), nil
		})
	}
	remove := func(flag int) wasmtime.Func {
		return onPath(0, func(c *call, d *descriptor, p string, a []val) (val, error) {
			e, err := d.entry(p)
			if err != nil {
				return nil, err
			}
			defer e.dir.Close()
			return nil, unix.Unlinkat(e.fd(), e.base, flag)
		})
	}
	return map[string]wasmtime.Func{
		"stat-at":             stat(statRecord),
		"metadata-hash-at":    stat(metadataHash),
		"unlink-file-at":      remove(0),
		"remove-directory-at": remove(unix.AT_REMOVEDIR),
		"open-at": onPath(1, func(c *call, d *descriptor, p string, a []val) (val, error) {
			n, err := d.openAt(a[0].(flags), p, a[2].(flags), a[3].(flags))
			if err != nil {
				return nil, err
			}
			return c.Own(typeDescriptor, n), nil
		}),
		"read-directory": fsFunc(func(c *call, d *descriptor, a []val) (val, error) {
			if d.root == nil {
				return nil, syscall.ENOTDIR
			}
			if err := d.in.mayOpen(); err != nil {
				return nil, err
			}
			f, err := d.in.openFile(d.root.Open("."))
			if err != nil {
				return nil, err
			}
			return c.Own(typeDirEntries, &dirEntries{sharedFile: f}), nil
		}),
		"create-directory-at": onPath(0, func(c *call, d *descriptor, p string, a []val) (val, error) {
			return nil, d.root.Mkdir(strings.TrimRight(p, "/"), 0o777)
		}),
		"readlink-at": onPath(0, func(c *call, d *descriptor, p string, a []val) (val, error) {
			s, err := d.root.Readlink(p)
			if err == nil && path.IsAbs(s) { // made by others, and no name a guest could use
				err = syscall.EPERM
			}
			return s, err
		}),
		"symlink-at": onPath(1, func(c *call, d *descriptor, p string, a []val) (val, error) {
			target := a[0].(string)
			if err := d.linkTarget(target, p); err != nil {
				return nil, err
			}
			return nil, d.root.Symlink(target, p)
		}),
		"rename-at": onPath(0, func(c *call, d *descriptor, p string, a []val) (val, error) {
			return nil, between(c, d, p, a[1], a[2], func(from, to entry) error {
				return unix.Renameat(from.fd(), from.base, to.fd(), to.base)
			})
		}),
		"link-at": onPath(1, func(c *call, d *descriptor, p string, a []val) (val, error) {
			if a[0].(flags).Has("symlink-follow") {
				return nil, syscall.EINVAL
			}
			return nil, between(c, d, p, a[2], a[3], func(from, to entry) error {
				return unix.Linkat(from.fd(), from.base, to.fd(), to.base, 0)
			})
		}),
		"set-times-at": onPath(1, func(c *call, d *descriptor, p string, a []val) (val, error) {
			at, mt, err := timestamps(c, a[2], a[3])
			if err != nil {
				return nil, err
			}
			fi, err := d.statAt(a[0], p)
			if err != nil {
				return nil, err
			}
			if fi.Mode()&fs.ModeSymlink == 0 {
				return nil, d.root.Chtimes(p, at, mt)
			}
			e, err := d.entry(p)
			if err != nil {
				return nil, err
			}
			defer e.dir.Close()
			return nil, hostfile.SetEntryTimes(e.fd(), e.base, at, mt)
		}),
	}
}
