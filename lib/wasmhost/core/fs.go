package core

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	wsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// rootFS is a granted directory as a guest sees it. Every path is resolved by
// os.Root, which follows no link, name or ".." out of the directory (WIT-60);
// what is neither a file, a directory nor a link can not be opened, so that no
// open or read waits for somebody else.
type rootFS struct {
	wsys.UnimplementedFS
	root   *os.Root
	hidden string // an entry of the directory itself that another mount covers (WIT-59)
	files  *openFiles
}

// openFiles are the host files of one instance.
type openFiles struct{ open map[*os.File]struct{} }

// maxOpenFiles keeps a guest from using up the descriptors of the process.
const maxOpenFiles = 256

func (o *openFiles) add(f *os.File) {
	if o.open == nil {
		o.open = map[*os.File]struct{}{}
	}
	o.open[f] = struct{}{}
}

func (o *openFiles) remove(f *os.File) { delete(o.open, f) }

func (o *openFiles) closeAll() {
	for f := range o.open {
		f.Close()
	}
}

// local makes a path of the guest one for os.Root, or says why not.
func (d *rootFS) local(p string) (string, wsys.Errno) {
	p = strings.TrimLeft(p, "/")
	if strings.ContainsRune(p, 0) {
		return "", wsys.EINVAL
	}
	if p == "" {
		return ".", 0
	}
	first, _, _ := strings.Cut(path.Clean(p), "/")
	switch first {
	case "..":
		return "", wsys.EPERM
	case d.hidden:
		if d.hidden != "" {
			return "", wsys.ENOENT
		}
	}
	return p, 0
}

func (d *rootFS) OpenFile(p string, flag wsys.Oflag, _ fs.FileMode) (wsys.File, wsys.Errno) {
	name, errno := d.local(p)
	if errno != 0 {
		return nil, errno
	}
	if len(d.files.open) >= maxOpenFiles {
		return nil, wsys.EIO // WASI has a number for this, wazero has not
	}
	if flag&wsys.O_NOFOLLOW != 0 {
		if fi, err := d.root.Lstat(name); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return nil, wsys.ELOOP
		}
	}
	f, err := d.root.OpenFile(name, openFlags(flag), 0o666)
	if err != nil {
		return nil, errnoOf(err)
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, errnoOf(err)
	}
	switch mode := fi.Mode(); {
	case mode.IsDir() && flag&(wsys.O_WRONLY|wsys.O_RDWR) != 0:
		errno = wsys.EISDIR
	case flag&wsys.O_DIRECTORY != 0 && !mode.IsDir():
		errno = wsys.ENOTDIR
	case !mode.IsDir() && !mode.IsRegular():
		errno = wsys.EACCES
	}
	if errno != 0 {
		f.Close()
		return nil, errno
	}
	d.files.add(f)
	file := &rootFile{dir: d, f: f, isDir: fi.IsDir(), flag: flag}
	if file.isDir && name == "." {
		file.hidden = d.hidden
	}
	return file, 0
}

// openFlags translates wazero's flags. O_NONBLOCK makes opening a pipe return
// at once; it is refused after that.
func openFlags(flag wsys.Oflag) int {
	out := os.O_RDONLY | syscall.O_NONBLOCK
	switch {
	case flag&wsys.O_RDWR != 0:
		out = os.O_RDWR | syscall.O_NONBLOCK
	case flag&wsys.O_WRONLY != 0:
		out = os.O_WRONLY | syscall.O_NONBLOCK
	}
	for from, to := range map[wsys.Oflag]int{
		wsys.O_APPEND: os.O_APPEND, wsys.O_CREAT: os.O_CREATE, wsys.O_EXCL: os.O_EXCL,
		wsys.O_SYNC: os.O_SYNC, wsys.O_DSYNC: os.O_SYNC, wsys.O_RSYNC: os.O_SYNC, wsys.O_TRUNC: os.O_TRUNC,
	} {
		if flag&from != 0 {
			out |= to
		}
	}
	return out
}

func (d *rootFS) Lstat(p string) (sys.Stat_t, wsys.Errno) { return d.stat(p, d.root.Lstat) }
func (d *rootFS) Stat(p string) (sys.Stat_t, wsys.Errno)  { return d.stat(p, d.root.Stat) }

func (d *rootFS) stat(p string, stat func(string) (fs.FileInfo, error)) (sys.Stat_t, wsys.Errno) {
	name, errno := d.local(p)
	if errno != 0 {
		return sys.Stat_t{}, errno
	}
	fi, err := stat(name)
	if err != nil {
		return sys.Stat_t{}, errnoOf(err)
	}
	return sys.NewStat_t(fi), 0
}

func (d *rootFS) Mkdir(p string, _ fs.FileMode) wsys.Errno {
	return d.do(p, func(name string) error { return d.root.Mkdir(strings.TrimRight(name, "/"), 0o777) })
}

func (d *rootFS) Unlink(p string) wsys.Errno {
	return d.do(p, func(name string) error {
		if fi, err := d.root.Lstat(name); err != nil {
			return err
		} else if fi.IsDir() {
			return syscall.EISDIR
		}
		return d.root.Remove(name)
	})
}

func (d *rootFS) Rmdir(p string) wsys.Errno {
	return d.do(p, func(name string) error {
		name = strings.TrimRight(name, "/")
		if fi, err := d.root.Lstat(name); err != nil {
			return err
		} else if !fi.IsDir() {
			return syscall.ENOTDIR
		}
		return d.root.Remove(name)
	})
}

func (d *rootFS) Rename(from, to string) wsys.Errno {
	return d.do(from, func(from string) error {
		to, errno := d.local(to)
		if errno != 0 {
			return errno
		}
		from, to = strings.TrimRight(from, "/"), strings.TrimRight(to, "/")
		if target, err := d.root.Readlink(from); err == nil && !d.staysInside(target, to) {
			return syscall.EPERM
		}
		return d.root.Rename(from, to)
	})
}

func (d *rootFS) Link(from, to string) wsys.Errno {
	return d.do(from, func(from string) error {
		to, errno := d.local(to)
		if errno != 0 {
			return errno
		}
		return d.root.Link(from, to)
	})
}

// Symlink makes link point at target unless that leads out (WIT-60).
func (d *rootFS) Symlink(target, link string) wsys.Errno {
	target = strings.Clone(target) // wazero passes a view of guest memory
	return d.do(link, func(link string) error {
		if !d.staysInside(target, link) {
			return syscall.EPERM
		}
		return d.root.Symlink(target, strings.TrimRight(link, "/"))
	})
}

// staysInside tells whether a link of that name and target leads to a place
// inside the directory. It allows only targets that climb first and descend
// after, from where the link really lies: what a later ".." means depends on
// links before it.
func (d *rootFS) staysInside(target, link string) bool {
	if target == "" || strings.HasPrefix(target, "/") {
		return false
	}
	depth, ok := d.depth(path.Dir(strings.TrimRight(link, "/")))
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

// depth counts the directories from the root to dir; it knows only paths
// without links.
func (d *rootFS) depth(dir string) (int, bool) {
	if dir = path.Clean(dir); dir == "." {
		return 0, true
	}
	parts := strings.Split(dir, "/")
	for i := range parts {
		fi, err := d.root.Lstat(strings.Join(parts[:i+1], "/"))
		if err != nil || !fi.IsDir() {
			return 0, false
		}
	}
	return len(parts), true
}

func (d *rootFS) Readlink(p string) (target string, errno wsys.Errno) {
	errno = d.do(p, func(name string) (err error) {
		target, err = d.root.Readlink(name)
		return err
	})
	return target, errno
}

func (d *rootFS) Utimens(p string, atim, mtim int64) wsys.Errno {
	return d.do(p, func(name string) error {
		return d.root.Chtimes(name, stampTime(atim), stampTime(mtim))
	})
}

// stampTime makes the zero time, which leaves a stamp alone, of UTIME_OMIT.
func stampTime(nanos int64) time.Time {
	if nanos == wsys.UTIME_OMIT {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

// do runs one operation on a path of the guest.
func (d *rootFS) do(p string, op func(name string) error) wsys.Errno {
	name, errno := d.local(p)
	if errno != 0 {
		return errno
	}
	return errnoOf(op(name))
}

// errnoOf finds the number WASI has for an error of package os.
func errnoOf(err error) wsys.Errno {
	if err == nil || errors.Is(err, io.EOF) {
		return 0
	}
	var werr wsys.Errno
	if errors.As(err, &werr) {
		return werr
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return wsys.UnwrapOSError(no)
	}
	switch {
	case errors.Is(err, fs.ErrClosed):
		return wsys.EBADF
	case errors.Is(err, fs.ErrInvalid):
		return wsys.EINVAL
	case errors.Is(err, fs.ErrNotExist):
		return wsys.ENOENT
	case errors.Is(err, fs.ErrExist):
		return wsys.EEXIST
	}
	// What is left of os.Root's errors is its refusal to leave the directory,
	// which has no value to compare with.
	if strings.Contains(err.Error(), "escapes") {
		return wsys.EPERM
	}
	return wsys.EIO
}
