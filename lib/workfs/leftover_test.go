package workfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// DIA-209: only what a dead writer left is listed and removed.
func TestDeadTemporaries(t *testing.T) {
	dir := t.TempDir()
	r, err := OpenRoot(dir, Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	living, err := r.Create("sub/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer living.Abort()
	for _, name := range []string{"sub/.a.0123456789abcdef.tmp", "sub/.note.tmp", "sub/.a.0123456789abcdeg.tmp", "sub/a.0123456789abcdef.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dead, err := r.DeadTemporaries("sub")
	if err != nil || strings.Join(dead, " ") != "sub/.a.0123456789abcdef.tmp" {
		t.Fatalf("dead: %q, %v", dead, err)
	}
	r.RemoveTemporary(dead[0])
	if dead, err := r.DeadTemporaries("sub"); err != nil || dead != nil {
		t.Errorf("still there: %q, %v", dead, err)
	}
	if err := living.Commit(); err != nil {
		t.Errorf("the living writer was disturbed: %v", err)
	}
}

func TestTryLockExisting(t *testing.T) {
	r, err := OpenRoot(t.TempDir(), Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.TryLockExisting("lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	l, err := r.TryLock("lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.TryLockExisting("lock"); !errors.Is(err, ErrLocked) {
		t.Errorf("of a locked file: %v", err)
	}
	l.Unlock()
	again, err := r.TryLockExisting("lock")
	if err != nil {
		t.Fatal(err)
	}
	again.Unlock()
}
