package workfs

import (
	"errors"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"
)

// Remove unlinks the file rel or removes the empty directory rel. A link or
// special file is unlinked itself. A missing name is an error that wraps
// fs.ErrNotExist.
func (r *Root) Remove(rel string) error {
	dir, name, err := r.parent(rel, false)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	step("remove", rel)
	err = unix.Unlinkat(dir, name, 0)
	if err == unix.EISDIR || err == unix.EPERM {
		if rerr := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); rerr != unix.ENOTDIR {
			err = rerr
		}
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: r.Join(rel), Err: err}
	}
	return r.syncDir(dir, rel)
}

// RemoveAll removes rel and everything beneath it without following a link; a
// missing name is success. Directories it may not enter are opened up first
// when they are ours. It goes on after a failure and returns the first one.
func (r *Root) RemoveAll(rel string) error {
	dir, name, err := r.parent(rel, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	rm := remover{top: dir}
	rm.entry(dir, name, r.Join(rel), 0)
	for len(rm.later) > 0 {
		moved := rm.later[0]
		rm.later = rm.later[1:]
		rm.entry(dir, moved, path.Join(path.Dir(r.Join(rel)), moved), 0)
	}
	if rm.err != nil {
		return rm.err
	}
	return r.syncDir(dir, rel)
}

// maxDepth bounds the descriptors RemoveAll holds; a deeper directory is moved
// up beside the tree's top and removed from there.
const maxDepth = 64

type remover struct {
	top   int
	later []string
	err   error
}

func (rm *remover) fail(op, path string, err error) {
	if rm.err == nil {
		rm.err = &fs.PathError{Op: op, Path: path, Err: err}
	}
}

func (rm *remover) entry(dir int, name, full string, depth int) {
	step("remove", name)
	err := unix.Unlinkat(dir, name, 0)
	switch err {
	case nil, unix.ENOENT:
		return
	case unix.EISDIR, unix.EPERM: // EPERM is what POSIX says for a directory
	default:
		rm.fail("remove", full, err)
		return
	}
	fd, err := openForRemoval(dir, name)
	if err == unix.ENOTDIR || err == unix.ELOOP || err == unix.EMLINK { // EMLINK: a link, on FreeBSD
		// Not a directory, so the EPERM was a real one.
		rm.fail("remove", full, unix.EPERM)
		return
	}
	if err != nil {
		rm.fail("open", full, err)
		return
	}
	rm.children(fd, full, depth)
	unix.Close(fd)
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil && err != unix.ENOENT {
		rm.fail("remove", full, err)
	}
}

func (rm *remover) children(fd int, full string, depth int) {
	names, err := namesOf(fd, full)
	if err != nil {
		rm.fail("list", full, err)
		return
	}
	for _, child := range names {
		if depth < maxDepth {
			rm.entry(fd, child, full+"/"+child, depth+1)
			continue
		}
		if err := unix.Unlinkat(fd, child, 0); err == nil || err == unix.ENOENT {
			continue
		}
		moved, err := tempName("removing")
		if err == nil {
			err = unix.Renameat(fd, child, rm.top, moved)
		}
		if err != nil {
			rm.fail("remove", full+"/"+child, err)
			continue
		}
		rm.later = append(rm.later, moved)
	}
}

// openForRemoval opens a directory and makes sure its owner may list and change
// it.
func openForRemoval(dir int, name string) (int, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(dir, name, openDir, 0) })
	if err == unix.EACCES {
		if chmodDir(dir, name, 0o700) != nil {
			return -1, err
		}
		fd, err = retry(func() (int, error) { return unix.Openat(dir, name, openDir, 0) })
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(fd, 0o700)
	}
	return fd, nil
}
