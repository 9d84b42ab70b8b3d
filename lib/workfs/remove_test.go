package workfs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRemove(t *testing.T) {
	r, dir := openTemp(t, Options{})
	write(t, dir+"/f", "x")
	write(t, dir+"/full/f", "x")
	os.Mkdir(dir+"/empty", 0o755)
	os.Symlink("f", dir+"/link")
	for rel, ok := range map[string]bool{"link": true, "empty": true, "full": false} {
		if err := r.Remove(rel); (err == nil) != ok {
			t.Errorf("Remove(%s) = %v", rel, err)
		}
	}
	if read(t, dir+"/f") != "x" {
		t.Error("the link was followed")
	}
	if err := r.Remove("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if r.Latch().Err() != nil {
		t.Error("removing a link set the latch")
	}
}

// SES-30: a tree goes without a link followed.
func TestRemoveAllFollowsNoLink(t *testing.T) {
	outside := t.TempDir()
	write(t, outside+"/d/precious", "x")
	r, dir := openTemp(t, Options{})
	write(t, dir+"/t/a/b/f", "x")
	os.Symlink(outside, dir+"/t/a/out")
	os.Symlink(outside+"/d/precious", dir+"/t/file")
	os.Symlink(outside, dir+"/top")
	unix.Mkfifo(dir+"/t/fifo", 0o600)
	for _, rel := range []string{"t", "top", "none", "none/at/all"} {
		if err := r.RemoveAll(rel); err != nil {
			t.Errorf("RemoveAll(%s) = %v", rel, err)
		}
	}
	if read(t, outside+"/d/precious") != "x" {
		t.Error("something outside went")
	}
	if l, _ := os.ReadDir(dir); len(l) != 0 {
		t.Errorf("left: %v", l)
	}
}

// A command can nest directories deeper than a path or a descriptor table.
func TestRemoveAllOfADeepTree(t *testing.T) {
	r, dir := openTemp(t, Options{Ephemeral: true})
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 100)
	for range 300 {
		if err := unix.Mkdirat(fd, name, 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	if err := r.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	if l, _ := os.ReadDir(dir); len(l) != 0 {
		t.Errorf("left: %v", l)
	}
}

// A command can take its own rights away from its directories.
func TestRemoveAllOfClosedDirectories(t *testing.T) {
	r, dir := openTemp(t, Options{})
	for _, mode := range []os.FileMode{0, 0o500, 0o300, 0o100} {
		write(t, dir+"/t/d/e/f", "x")
		os.Chmod(dir+"/t/d/e", mode)
		os.Chmod(dir+"/t/d", mode)
		if err := r.RemoveAll("t"); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
		if _, err := os.Lstat(dir + "/t"); err == nil {
			t.Errorf("mode %o: it is still there", mode)
		}
	}
}
