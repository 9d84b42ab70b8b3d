package hostfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSetTimesLeavesTheZeroTime(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first, second := time.Unix(1e9, 5000), time.Unix(2e9, 7000)
	if err := SetTimes(int(f.Fd()), first, first); err != nil {
		t.Fatal(err)
	}
	if err := SetTimes(int(f.Fd()), time.Time{}, second); err != nil {
		t.Fatal(err)
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	access, _, ok := Times(fi)
	if !ok || !access.Equal(first) || !fi.ModTime().Equal(second) {
		t.Errorf("access %v, modification %v, %v", access, fi.ModTime(), ok)
	}
}

func TestSetEntryTimesFollowsNoLink(t *testing.T) {
	d := t.TempDir()
	target := filepath.Join(d, "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", filepath.Join(d, "link")); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	want := time.Unix(1e9, 0)
	if err := SetEntryTimes(int(dir.Fd()), "link", time.Time{}, want); err != nil {
		t.Fatal(err)
	}
	link, err := os.Lstat(filepath.Join(d, "link"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	if !link.ModTime().Equal(want) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("link %v, target %v and before %v", link.ModTime(), after.ModTime(), before.ModTime())
	}
}

// Written at the end, also where the offset is elsewhere, and the descriptor writes
// at given offsets afterwards.
func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := int(f.Fd())
	if err := Append(fd, []byte("de")); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Pwrite(fd, []byte("X"), 0); err != nil {
		t.Fatal(err)
	}
	if err := SyncData(fd); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "Xbcde" {
		t.Errorf("the file holds %q", got)
	}
}
