package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/workfs"
)

// ART-128, ART-134: what Recorded names is what Load would look at, and nothing
// that anybody else could have written.
func TestRecorded(t *testing.T) {
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + filepath.Join(t.TempDir(), "home")})
	if err != nil {
		t.Fatal(err)
	}
	c, hash := OpenCompiled(home, ""), strings.Repeat("ab", 32)
	if _, ok := c.Recorded(hash, "e-1"); ok {
		t.Error("recorded in a home that is not there")
	}
	sum, ok := c.Save(hash, "e-1", []byte("form"))
	if !ok {
		t.Fatal("not saved")
	}
	path := c.Path(hash, "e-1")
	intact := func() bool { got, ok := c.Recorded(hash, "e-1"); return ok && got == sum }
	if !intact() {
		t.Fatal("not recorded")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	sumFile := strings.TrimSuffix(path, ".cwasm") + ".sha256"
	for name, spoil := range map[string]func() error{
		"writable by others":      func() error { return os.Chmod(path, 0o622) },
		"a link":                  func() error { return errors.Join(os.Rename(path, path+".x"), os.Symlink(path+".x", path)) },
		"empty":                   func() error { return os.Truncate(path, 0) },
		"gone":                    func() error { return os.Remove(path) },
		"no hash":                 func() error { return os.Remove(sumFile) },
		"an odd hash":             func() error { return os.WriteFile(sumFile, []byte("x"), 0o600) },
		"a hash others can write": func() error { return os.Chmod(sumFile, 0o666) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Recorded(hash, "e-1"); ok {
			t.Errorf("%s: recorded", name)
		}
		for _, p := range []string{path, path + ".x", sumFile} {
			if err := os.Remove(p); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		if _, ok := c.Save(hash, "e-1", []byte("form")); !ok || !intact() {
			t.Fatalf("after %s: not saved again", name)
		}
	}
}

// ART-128: a note is trusted as a form is, and goes with it.
func TestNotes(t *testing.T) {
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + filepath.Join(t.TempDir(), "home")})
	if err != nil {
		t.Fatal(err)
	}
	c, hash := OpenCompiled(home, ""), strings.Repeat("cd", 32)
	c.SaveNote(hash, "e-1", []byte("early"))
	if _, err := os.Lstat(home.Path()); err == nil {
		t.Error("a note made the home")
	}
	if _, ok := c.Save(hash, "e-1", []byte("form")); !ok {
		t.Fatal("not saved")
	}
	c.SaveNote(hash, "e-1", []byte("note"))
	if got, ok := c.Note(hash, "e-1"); !ok || string(got) != "note" {
		t.Fatalf("%q, %v", got, ok)
	}
	if _, ok := c.Note(hash, "e-2"); ok {
		t.Error("a note of another engine")
	}
	path := strings.TrimSuffix(c.Path(hash, "e-1"), ".cwasm") + ".note.json"
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Note(hash, "e-1"); ok {
		t.Error("a note others can write")
	}
	c.Discard(hash, "e-1")
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Error("the note outlived its form")
	}
}
