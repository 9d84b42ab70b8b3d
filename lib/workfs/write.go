package workfs

import (
	"crypto/rand"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

type syscallStat = syscall.Stat_t

// Mkdir makes the directory rel, whose parent exists, with the root's DirMode.
// An existing name is an error that wraps fs.ErrExist.
func (r *Root) Mkdir(rel string) error {
	dir, name, err := r.parent(rel, false)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return r.mkdirAt(dir, name, rel, r.opt.DirMode)
}

// MkdirAll makes the directory rel and its missing parents with the root's
// DirMode. Existing directories keep their modes.
func (r *Root) MkdirAll(rel string) error {
	segs, err := split(rel)
	if err != nil {
		return err
	}
	fd, err := r.walk(segs, true, r.opt.DirMode)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// WriteFile makes or replaces the regular file rel with data, all or nothing,
// with the root's FileMode. Missing parents are made.
func (r *Root) WriteFile(rel string, data []byte) error {
	return r.WriteFileMode(rel, data, 0)
}

// WriteFileMode is WriteFile with a mode of its own.
func (r *Root) WriteFileMode(rel string, data []byte, mode fs.FileMode) error {
	p, err := r.Create(rel, mode)
	if err != nil {
		return err
	}
	defer p.Abort()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}

// CreateNew makes the file rel, which must not exist (fs.ErrExist), and opens it
// for appending, with the root's FileMode. Missing parents are made.
func (r *Root) CreateNew(rel string) (*os.File, error) {
	dir, name, err := r.parent(rel, true)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return r.createAt(dir, name, rel, r.opt.FileMode, unix.O_APPEND)
}

// Append opens the regular file rel for appending and makes it, and missing
// parents, when it is not there. Each Write lands at the end.
func (r *Root) Append(rel string) (*os.File, error) {
	dir, name, err := r.parent(rel, true)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	for {
		exists, err := r.expectFile("append", dir, name, rel)
		if err != nil {
			return nil, err
		}
		if !exists {
			f, err := r.createAt(dir, name, rel, r.opt.FileMode, unix.O_APPEND)
			if isExist(err) {
				continue
			}
			return f, err
		}
		fd, err := retry(func() (int, error) {
			return unix.Openat(dir, name, unix.O_WRONLY|unix.O_APPEND|openFile, 0)
		})
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return nil, r.explain("append", dir, name, rel, err)
		}
		return r.asFile("append", fd, rel)
	}
}

// createAt makes name exclusively with exactly mode.
func (r *Root) createAt(dir int, name, rel string, mode fs.FileMode, flags int) (*os.File, error) {
	step("create", rel)
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|openFile|flags, uint32(mode.Perm()))
	})
	if err != nil {
		return nil, r.explain("create", dir, name, rel, err)
	}
	if err := unix.Fchmod(fd, uint32(mode.Perm())); err != nil {
		unix.Close(fd)
		_ = unix.Unlinkat(dir, name, 0)
		return nil, &fs.PathError{Op: "chmod", Path: r.Join(rel), Err: err}
	}
	return r.asFile("create", fd, rel)
}

// Pending is a file being written under a temporary name. Exactly one of Commit
// and Abort ends it; Abort after Commit does nothing, so it can be deferred. It
// is for one goroutine.
type Pending struct {
	r    *Root
	file *os.File
	dir  int
	temp string
	name string
	rel  string

	synced, done bool
}

// Create begins to write the file rel, which is made or replaced at Commit.
// Missing parents are made now. What stands at rel must be a regular file or
// nothing, now and at Commit. A mode of 0 is the root's FileMode.
func (r *Root) Create(rel string, mode fs.FileMode) (*Pending, error) {
	if mode == 0 {
		mode = r.opt.FileMode
	}
	dir, name, err := r.parent(rel, true)
	if err != nil {
		return nil, err
	}
	if _, err := r.expectFile("create", dir, name, rel); err != nil {
		unix.Close(dir)
		return nil, err
	}
	f, temp, err := r.createTemp(dir, name, rel, mode)
	if err != nil {
		unix.Close(dir)
		return nil, err
	}
	return &Pending{r: r, file: f, dir: dir, temp: temp, name: name, rel: rel}, nil
}

// createTemp makes a temporary beside name and holds its lock: by the lock Sweep
// tells a living writer's temporary from one that a killed writer left.
func (r *Root) createTemp(dir int, name, rel string, mode fs.FileMode) (*os.File, string, error) {
	for {
		temp, err := tempName(name)
		if err != nil {
			return nil, "", err
		}
		f, err := r.createAt(dir, temp, path.Join(path.Dir(rel), temp), mode, 0)
		if err != nil {
			return nil, "", err
		}
		lerr := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		var st unix.Stat_t
		serr := unix.Fstat(int(f.Fd()), &st)
		if serr == nil && st.Nlink > 0 && lerr != unix.EWOULDBLOCK {
			return f, temp, nil // a file system without flock is no obstacle
		}
		// A sweep came between the two calls and took it for a dead one.
		f.Close()
		_ = unix.Unlinkat(dir, temp, 0)
		if serr != nil {
			return nil, "", &fs.PathError{Op: "create", Path: r.Join(rel), Err: serr}
		}
	}
}

// Write appends to the temporary file.
func (p *Pending) Write(b []byte) (int, error) {
	step("write", p.rel)
	p.synced = false
	return p.file.Write(b)
}

// Sync brings what was written to disk now, so that Commit is no more than a
// rename. An Ephemeral root's files are not synced.
func (p *Pending) Sync() error {
	if p.r.opt.Ephemeral || p.synced {
		return nil
	}
	step("sync", p.rel)
	err := p.file.Sync()
	p.synced = err == nil
	return err
}

// Commit syncs the file and gives it its name, replacing what stood there. On an
// error the old file is untouched and the temporary is gone.
func (p *Pending) Commit() error {
	if p.done {
		return &fs.PathError{Op: "commit", Path: p.r.Join(p.rel), Err: fs.ErrClosed}
	}
	if err := p.commit(); err != nil {
		p.Abort()
		return err
	}
	return nil
}

func (p *Pending) commit() error {
	if err := p.Sync(); err != nil {
		return err
	}
	if _, err := p.r.expectFile("rename", p.dir, p.name, p.rel); err != nil {
		return err
	}
	step("rename", p.rel)
	if err := unix.Renameat(p.dir, p.temp, p.dir, p.name); err != nil {
		return &fs.PathError{Op: "rename", Path: p.r.Join(p.rel), Err: err}
	}
	p.done = true
	step("renamed", p.rel)
	err := p.file.Close()
	if serr := p.r.syncDir(p.dir, p.rel); err == nil {
		err = serr
	}
	unix.Close(p.dir)
	return err
}

// Abort removes the temporary file; what stood at the name stays.
func (p *Pending) Abort() {
	if p.done {
		return
	}
	p.done = true
	_ = unix.Unlinkat(p.dir, p.temp, 0)
	p.file.Close()
	unix.Close(p.dir)
}

func (r *Root) syncDir(fd int, rel string) error {
	if r.opt.Ephemeral {
		return nil
	}
	again, err := retry(func() (int, error) { return unix.Openat(fd, ".", openDir, 0) })
	if err != nil {
		return &fs.PathError{Op: "sync", Path: path.Dir(r.Join(rel)), Err: err}
	}
	defer unix.Close(again)
	// Some file systems do not sync directories and say EINVAL.
	if err := unix.Fsync(again); err != nil && err != unix.EINVAL {
		return &fs.PathError{Op: "sync", Path: path.Dir(r.Join(rel)), Err: err}
	}
	return nil
}

// Rename moves the regular file or directory from to the name to, replacing a
// regular file there. Parents of to exist.
func (r *Root) Rename(from, to string) error {
	fdir, fname, err := r.parent(from, false)
	if err != nil {
		return err
	}
	defer unix.Close(fdir)
	tdir, tname, err := r.parent(to, false)
	if err != nil {
		return err
	}
	defer unix.Close(tdir)
	var st unix.Stat_t
	if err := unix.Fstatat(fdir, fname, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "rename", Path: r.Join(from), Err: err}
	}
	if what := special(uint32(st.Mode)); what != "" {
		return r.refuse(from, what)
	}
	if _, err := r.expectFile("rename", tdir, tname, to); err != nil {
		return err
	}
	step("rename", to)
	if err := unix.Renameat(fdir, fname, tdir, tname); err != nil {
		return &fs.PathError{Op: "rename", Path: r.Join(to), Err: err}
	}
	return r.syncDir(tdir, to)
}

// Touch sets the times of the regular file rel to now.
func (r *Root) Touch(rel string) error {
	f, err := r.Open(rel)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := touch(f); err != nil {
		return &fs.PathError{Op: "touch", Path: r.Join(rel), Err: err}
	}
	return nil
}

// tempName returns a fresh name beside base: .<base>.<unique>.tmp (ART-90). A
// base near the longest allowed name is cut.
func tempName(base string) (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return tempPrefix(base) + hex.EncodeToString(b[:]) + tempSuffix, nil
}

const tempSuffix = ".tmp"

func tempPrefix(base string) string {
	if len(base) > 200 {
		base = base[:200]
	}
	return "." + base + "."
}
