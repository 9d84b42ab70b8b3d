package workfs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// SES-13, ART-49
func TestFindHome(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string // "" is a refusal
		says string
	}{
		{[]string{"MURMUR_HOME=/m", "HOME=/h"}, "/m", ""},
		{[]string{"MURMUR_HOME=", "HOME=/h"}, "/h/.murmur", ""},
		{[]string{"HOME=/h"}, "/h/.murmur", ""},
		{[]string{"HOME=/a", "HOME=/b"}, "/b/.murmur", ""},
		{[]string{"MURMUR_HOME=m/x", "HOME=/h"}, "", "MURMUR_HOME"},
		{[]string{"MURMUR_HOME=.", "HOME=/h"}, "", "MURMUR_HOME"},
		{[]string{"HOME=h"}, "", "HOME"},
		{[]string{"HOME="}, "", "HOME"},
		{nil, "", "HOME"},
	} {
		h, err := FindHome(c.env)
		if c.want == "" {
			if diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q: %v", c.env, err)
			}
			continue
		}
		if err != nil || h.Path() != c.want {
			t.Errorf("%q: %q, %v", c.env, h.Path(), err)
		}
	}
}

// SES-12
func TestHomeDirectories(t *testing.T) {
	base := t.TempDir()
	h, err := FindHome([]string{"HOME=" + base})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.OpenExisting("sessions", Options{}); !errors.Is(err, fs.ErrNotExist) || diag.CodeOf(err) != "E-IO-001" {
		t.Errorf("OpenExisting of nothing: %v", err)
	}
	if l, _ := os.ReadDir(base); len(l) != 0 {
		t.Fatalf("asking made something: %v", l)
	}
	open := func() {
		t.Helper()
		r, err := h.Open("records/a/b", Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.WriteFile("x/f", nil); err != nil {
			t.Fatal(err)
		}
	}
	modes := func() {
		t.Helper()
		for rel, want := range map[string]fs.FileMode{"": 0o700, "/records": 0o700, "/records/a": 0o700, "/records/a/b": 0o700, "/records/a/b/x": 0o700, "/records/a/b/x/f": 0o600} {
			fi, err := os.Stat(base + "/.murmur" + rel)
			if err != nil || fi.Mode().Perm() != want {
				t.Errorf("%q: %v %v, want %o", rel, fi.Mode(), err, want)
			}
		}
	}
	open()
	modes()
	os.Chmod(base+"/.murmur", 0o755)
	os.Chmod(base+"/.murmur/records/a", 0o777)
	if r, err := h.OpenExisting("records/a", Options{}); err != nil {
		t.Error(err)
	} else {
		r.Close()
	}
	if fi, _ := os.Stat(base + "/.murmur/records/a"); fi.Mode().Perm() != 0o777 {
		t.Error("a reader changed a mode")
	}
	open()
	modes()
}

// SES-12
func TestHomeRefusals(t *testing.T) {
	elsewhere := t.TempDir()
	for name, c := range map[string]struct {
		spoil func(home string) error
		says  string
	}{
		"home is a link":      {func(h string) error { return os.Symlink(elsewhere, h) }, "a symbolic link"},
		"home is a file":      {func(h string) error { return os.WriteFile(h, nil, 0o600) }, "a file"},
		"component is a link": {func(h string) error { os.Mkdir(h, 0o700); return os.Symlink(elsewhere, h+"/keys") }, "a symbolic link"},
		"component is a file": {func(h string) error { os.Mkdir(h, 0o700); return os.WriteFile(h+"/keys", nil, 0o600) }, "a file"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			if err := c.spoil(base + "/.murmur"); err != nil {
				t.Fatal(err)
			}
			h, _ := FindHome([]string{"HOME=" + base})
			for _, open := range []func(string, Options) (*Root, error){h.Open, h.OpenExisting} {
				_, err := open("keys/deep", Options{})
				if diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), base+"/.murmur") {
					t.Errorf("got %v", err)
				}
			}
			if l, _ := os.ReadDir(elsewhere); len(l) != 0 {
				t.Error("the link was followed")
			}
		})
	}
	t.Run("another owner", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("needs root to give a directory away")
		}
		base := t.TempDir()
		os.MkdirAll(base+"/.murmur/keys", 0o700)
		os.Chown(base+"/.murmur/keys", 12345, -1)
		h, _ := FindHome([]string{"HOME=" + base})
		if _, err := h.Open("keys", Options{}); diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), "12345") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("HOME is not there", func(t *testing.T) {
		h, _ := FindHome([]string{"HOME=" + elsewhere + "/nobody"})
		if _, err := h.Open("keys", Options{}); diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), "HOME") {
			t.Errorf("got %v", err)
		}
		if _, err := h.OpenExisting("keys", Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("for a reader: %v", err)
		}
		if _, err := os.Lstat(elsewhere + "/nobody"); err == nil {
			t.Error("it made a HOME")
		}
	})
}
