package workfs

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadFile reads the ordinary file path, of at most limit bytes (0 or less is no
// limit). Links in its directory are followed; the file itself must be a
// regular one, so neither a FIFO nor a device is waited for.
func ReadFile(path string, limit int64) ([]byte, error) {
	r, err := OpenRoot(filepath.Dir(path), Options{Plain: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.ReadFile(filepath.Base(path), limit)
}

// LockFile takes the exclusive lock on the ordinary file path, made with mode
// 0600 when missing, and waits for it until ctx ends.
func LockFile(ctx context.Context, path string) (*Lock, error) {
	r, err := OpenRoot(filepath.Dir(path), Options{Plain: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Lock(ctx, filepath.Base(path))
}

// ReplaceFile makes or replaces the ordinary file path with what write writes,
// all or nothing, with exactly mode: the target is a regular file or absent,
// its directory exists. Temporaries that killed writers of the same file left
// behind are removed first.
func ReplaceFile(path string, mode fs.FileMode, write func(p *Pending) error) error {
	r, err := OpenRoot(filepath.Dir(path), Options{Plain: true})
	if err != nil {
		return err
	}
	defer r.Close()
	name := filepath.Base(path)
	if err := r.Sweep(".", name); err != nil {
		return err
	}
	p, err := r.Create(name, mode)
	if err != nil {
		return err
	}
	defer p.Abort()
	if err := write(p); err != nil {
		return err
	}
	return p.Commit()
}

// Sweep removes the temporaries beside the file name in the directory dir ("."
// is the root) whose writers are dead. Those of living writers stay.
func (r *Root) Sweep(dir, name string) error {
	entries, err := r.List(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsRegular() || !strings.HasPrefix(e.Name, tempPrefix(name)) || !strings.HasSuffix(e.Name, tempSuffix) {
			continue
		}
		rel := e.Name
		if dir != "." {
			rel = dir + "/" + e.Name
		}
		r.sweepOne(rel)
	}
	return nil
}

// sweepOne removes the temporary rel unless its writer lives. Failing to is no
// fault: the next writer tries again.
func (r *Root) sweepOne(rel string) {
	f, err := r.Open(rel)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = r.Remove(rel)
	}
}
