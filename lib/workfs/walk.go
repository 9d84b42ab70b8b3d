package workfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	openDir  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	openFile = unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
)

// walk opens the directory segs beneath the root, component by component, and
// makes missing ones when create is set. No segments mean the root itself. The
// caller closes the descriptor.
func (r *Root) walk(segs []string, create bool, mode fs.FileMode) (int, error) {
	fd, err := retry(func() (int, error) { return unix.FcntlInt(uintptr(r.fd()), unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: r.path, Err: err}
	}
	for i, seg := range segs {
		next, err := r.enter(fd, segs[:i+1], seg, create, mode)
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

func (r *Root) enter(parent int, upto []string, seg string, create bool, mode fs.FileMode) (int, error) {
	rel := strings.Join(upto, "/")
	open := func() (int, error) {
		return retry(func() (int, error) { return unix.Openat(parent, seg, openDir, 0) })
	}
	fd, err := open()
	if err == unix.ENOENT && create {
		if err = r.mkdirAt(parent, seg, rel, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return -1, err
		}
		fd, err = open()
	}
	if err != nil {
		return -1, r.explain("open", parent, seg, rel, err)
	}
	return fd, nil
}

// mkdirAt makes one directory with exactly mode, whatever the umask.
func (r *Root) mkdirAt(parent int, seg, rel string, mode fs.FileMode) error {
	step("mkdir", rel)
	if err := unix.Mkdirat(parent, seg, 0o700); err != nil {
		return &fs.PathError{Op: "mkdir", Path: r.Join(rel), Err: err}
	}
	if err := chmodDir(parent, seg, mode); err != nil {
		return r.explain("chmod", parent, seg, rel, err)
	}
	return nil
}

// explain turns a failed open into a refusal when a link or special file is the
// cause (SES-44).
func (r *Root) explain(op string, parent int, seg, rel string, cause error) error {
	var st unix.Stat_t
	if unix.Fstatat(parent, seg, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		if what := special(uint32(st.Mode)); what != "" {
			return r.refuse(rel, what)
		}
	}
	return &fs.PathError{Op: op, Path: r.Join(rel), Err: cause}
}

func (r *Root) refuse(rel, what string) error {
	if r.opt.Plain {
		return &fs.PathError{Op: "open", Path: r.Join(rel), Err: fmt.Errorf("it is %s: %w", what, ErrRefused)}
	}
	if r.opt.Relative {
		return r.opt.Latch.Refuse(rel, what)
	}
	return r.opt.Latch.Refuse(r.Join(rel), what)
}

// expectFile refuses what a file operation must not touch: anything at name
// that exists and is neither a regular file nor a directory. It reports whether
// a regular file is there; a directory is an EISDIR error.
func (r *Root) expectFile(op string, parent int, name, rel string) (exists bool, err error) {
	var st unix.Stat_t
	switch err := unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
	case unix.ENOENT:
		return false, nil
	default:
		return false, &fs.PathError{Op: op, Path: r.Join(rel), Err: err}
	}
	return true, r.checkFile(op, uint32(st.Mode), rel)
}

func (r *Root) checkFile(op string, mode uint32, rel string) error {
	if what := special(mode); what != "" {
		return r.refuse(rel, what)
	}
	if mode&unix.S_IFMT == unix.S_IFDIR {
		return &fs.PathError{Op: op, Path: r.Join(rel), Err: unix.EISDIR}
	}
	return nil
}

// special names what a mode is when it is neither file nor directory, else "".
func special(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR:
		return ""
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "a device"
	}
	return "a special file"
}

// parent walks to the directory that holds rel and returns its descriptor,
// which the caller closes, and the last segment.
func (r *Root) parent(rel string, create bool) (int, string, error) {
	segs, err := split(rel)
	if err != nil {
		return -1, "", err
	}
	last := len(segs) - 1
	fd, err := r.walk(segs[:last], create, r.opt.DirMode)
	return fd, segs[last], err
}

// asFile wraps a descriptor opened with O_NONBLOCK after checking that it is
// what expectFile saw.
func (r *Root) asFile(op string, fd int, rel string) (*os.File, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: op, Path: r.Join(rel), Err: err}
	}
	if err := r.checkFile(op, uint32(st.Mode), rel); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), r.Join(rel)), nil
}
