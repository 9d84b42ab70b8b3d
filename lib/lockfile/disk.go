package lockfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

// maxBytes is the largest lock that is read.
const maxBytes = 16 << 20

// guardName is the file whose lock a read-change-write holds (ART-91).
const guardName = ".murmur.lock.guard"

// Load reads the lock at path. A missing file is an empty lock and found false,
// an unreadable one E-IO-002 or E-IO-003, an invalid one E-RUN-003 (ART-87).
func Load(path string) (l Lock, found bool, err error) {
	data, err := workfs.ReadFile(path, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return Lock{}, false, nil
	}
	if err != nil {
		return Lock{}, false, workfs.Fault(err, "failed to read murmur.lock")
	}
	l, err = Parse(path, data)
	return l, err == nil, err
}

// Update changes the lock at path: under the guard it reads the file (missing
// is an empty lock), asks change for the new content, and writes that unless it
// is what the file holds. It waits for other writers until ctx ends. An error of
// change, and any failure to write, leaves the old file byte for byte (ART-90 to
// ART-92).
func Update(ctx context.Context, path string, change func(Lock) (Lock, error)) error {
	if err := os.MkdirAll(filepath.Dir(path), workfs.PublicDir); err != nil {
		return workfs.Fault(err, "failed to write murmur.lock")
	}
	release, err := guard(ctx, filepath.Dir(path))
	if err != nil {
		return workfs.Fault(err, "failed to write murmur.lock")
	}
	defer release()
	old, found, err := Load(path)
	if err != nil {
		return err
	}
	next, err := change(old)
	if err != nil {
		return err
	}
	if found && slices.EqualFunc(old.Entries, next.Entries, Entry.equal) {
		return nil
	}
	data, err := next.check()
	if err != nil {
		return err
	}
	err = workfs.ReplaceFile(path, workfs.PublicFile, func(p *workfs.Pending) error {
		_, err := p.Write(data)
		return err
	})
	return workfs.Fault(err, "failed to write murmur.lock")
}

// check validates l and returns its bytes: what Parse would refuse is never
// written.
func (l Lock) check() ([]byte, error) {
	data, err := l.Marshal()
	if err != nil {
		return nil, diag.Errorf("E-IO-003", "failed to write murmur.lock: %w", err)
	}
	if _, err := Parse(FileName, data); err != nil {
		return nil, diag.Errorf("E-IO-003", "failed to write murmur.lock: its new content would be invalid: %w", err)
	}
	return data, nil
}

// Hold keeps others from changing the lock at path until release is called, waiting
// for them until ctx ends (ART-91). Who holds it must not call Update.
func Hold(ctx context.Context, path string) (release func(), err error) {
	return guard(ctx, filepath.Dir(path))
}

// guard takes the guard of the directory. On a file system without flock the
// rename alone keeps the file whole.
func guard(ctx context.Context, dir string) (release func(), err error) {
	lock, err := workfs.LockFile(ctx, filepath.Join(dir, guardName))
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	return func() { lock.Unlock() }, nil
}
