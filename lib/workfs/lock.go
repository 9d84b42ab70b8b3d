package workfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked is wrapped by the error of a TryLock that somebody else stands in
// the way of.
var ErrLocked = errors.New("locked by another process")

// Lock is a held flock. The kernel drops it when its holder dies. Unlock it once.
type Lock struct{ file *os.File }

// File returns the locked file, which stays the lock's.
func (l *Lock) File() *os.File { return l.file }

// Unlock releases the lock. The file stays.
func (l *Lock) Unlock() error { return l.file.Close() }

// TryLock takes the exclusive lock on the file rel, made with mode 0600 when
// missing, or fails at once with an error that wraps ErrLocked.
func (r *Root) TryLock(rel string) (*Lock, error) { return r.tryLock(rel, unix.LOCK_EX, true) }

// Lock takes the exclusive lock on the file rel, made with mode 0600 when
// missing, and waits for it until ctx ends.
func (r *Root) Lock(ctx context.Context, rel string) (*Lock, error) {
	return r.lock(ctx, rel, unix.LOCK_EX, true)
}

// LockShared takes a shared lock on the existing file rel and waits for it until
// ctx ends. A missing file is an error that wraps fs.ErrNotExist.
func (r *Root) LockShared(ctx context.Context, rel string) (*Lock, error) {
	return r.lock(ctx, rel, unix.LOCK_SH, false)
}

// Share takes a shared lock on the file rel, made with mode 0600 when missing, and
// waits for it until ctx ends.
func (r *Root) Share(ctx context.Context, rel string) (*Lock, error) {
	return r.lock(ctx, rel, unix.LOCK_SH, true)
}

func (r *Root) lock(ctx context.Context, rel string, how int, create bool) (*Lock, error) {
	// flock can not be interrupted by a context, so ask again and again.
	pause := time.Millisecond
	for {
		l, err := r.tryLock(rel, how, create)
		if !errors.Is(err, ErrLocked) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, &fs.PathError{Op: "lock", Path: r.Join(rel), Err: context.Cause(ctx)}
		case <-time.After(pause):
		}
		pause = min(2*pause, 50*time.Millisecond)
	}
}

func (r *Root) tryLock(rel string, how int, create bool) (*Lock, error) {
	for {
		f, err := r.openLock(rel, create)
		if err != nil {
			return nil, err
		}
		_, err = retry(func() (int, error) { return 0, unix.Flock(int(f.Fd()), how|unix.LOCK_NB) })
		if err != nil {
			f.Close()
			if err == unix.EWOULDBLOCK {
				err = ErrLocked
			}
			return nil, &fs.PathError{Op: "lock", Path: r.Join(rel), Err: err}
		}
		// Whoever held it before may have removed the file; a lock on a file
		// without a name keeps nobody out.
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			f.Close()
			return nil, &fs.PathError{Op: "lock", Path: r.Join(rel), Err: err}
		}
		if st.Nlink > 0 {
			return &Lock{file: f}, nil
		}
		f.Close()
	}
}

func (r *Root) openLock(rel string, create bool) (*os.File, error) {
	if !create {
		return r.Open(rel)
	}
	dir, name, err := r.parent(rel, true)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	for {
		exists, err := r.expectFile("lock", dir, name, rel)
		if err != nil {
			return nil, err
		}
		if !exists {
			f, err := r.createAt(dir, name, rel, PrivateFile, 0)
			if isExist(err) {
				continue
			}
			return f, err
		}
		fd, err := retry(func() (int, error) { return unix.Openat(dir, name, unix.O_RDWR|openFile, 0) })
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return nil, r.explain("lock", dir, name, rel, err)
		}
		return r.asFile("lock", fd, rel)
	}
}

func isExist(err error) bool { return errors.Is(err, fs.ErrExist) }
