package store

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/workfs"
)

const print1 = "wasmtime-44.0.0-abc_1"

var sha1 = strings.Repeat("1", 64)

func compiled(t *testing.T) (*Compiled, string) {
	t.Helper()
	base := t.TempDir()
	home, err := workfs.FindHome([]string{"HOME=" + base})
	if err != nil {
		t.Fatal(err)
	}
	return OpenCompiled(home, ""), base + "/.murmur/compiled/"
}

// ART-126, ART-127, ART-128, ART-129
func TestCompiledForms(t *testing.T) {
	c, dir := compiled(t)
	if _, _, ok := load(c, sha1, print1); ok {
		t.Error("something out of nothing")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("asking made the directory")
	}
	form := []byte("native code")
	hash, ok := c.Save(sha1, print1, form)
	if !ok || hash != artifact.Hash(form) {
		t.Fatal("not saved")
	}
	name := dir + sha1 + "-" + print1
	for path, mode := range map[string]os.FileMode{dir: 0o700, name + ".cwasm": 0o600, name + ".sha256": 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, fi, err)
		}
	}
	os.Chtimes(name+".cwasm", time.Unix(1000, 0), time.Unix(1000, 0))
	got, gotHash, ok := load(c, sha1, print1)
	if !ok || string(got) != string(form) || gotHash != hash {
		t.Error("not loaded")
	}
	if fi, _ := os.Stat(name + ".cwasm"); time.Since(fi.ModTime()) > time.Hour {
		t.Error("its time of use was not refreshed")
	}
	for _, other := range [][2]string{{strings.Repeat("2", 64), print1}, {sha1, "other"}, {"../" + sha1[3:], print1}, {sha1, "../x"}, {sha1, ""}} {
		if _, _, ok := load(c, other[0], other[1]); ok {
			t.Errorf("loaded for %q", other)
		}
		if strings.Contains(other[0]+other[1], "/") || other[1] == "" {
			if _, ok := c.Save(other[0], other[1], form); ok {
				t.Errorf("saved for %q", other)
			}
		}
	}
	c.Discard(sha1, print1)
	if l, _ := os.ReadDir(dir); len(l) != 0 {
		t.Errorf("left: %v", l)
	}
}

// ART-128: what is foreign or changed is ignored and removed, and a form can be
// saved over it.
func TestForeignForms(t *testing.T) {
	for name, spoil := range map[string]func(form, hash string) error{
		"changed":           func(f, h string) error { return os.WriteFile(f, []byte("evil"), 0o600) },
		"cut":               func(f, h string) error { return os.Truncate(f, 3) },
		"no hash":           func(f, h string) error { return os.Remove(h) },
		"other hash":        func(f, h string) error { return os.WriteFile(h, []byte(sha1), 0o600) },
		"empty hash":        func(f, h string) error { return os.WriteFile(h, nil, 0o600) },
		"group may write":   func(f, h string) error { return os.Chmod(f, 0o620) },
		"others may write":  func(f, h string) error { return os.Chmod(f, 0o602) },
		"hash is writable":  func(f, h string) error { return os.Chmod(h, 0o666) },
		"link":              func(f, h string) error { os.Rename(f, f+".x"); return os.Symlink(f+".x", f) },
		"hash is a link":    func(f, h string) error { os.Rename(h, h+".x"); return os.Symlink(h+".x", h) },
		"hard link":         func(f, h string) error { return os.Link(f, f+".x") },
		"directory":         func(f, h string) error { os.Remove(f); return os.MkdirAll(f+"/d", 0o700) },
		"hash is directory": func(f, h string) error { os.Remove(h); return os.Mkdir(h, 0o700) },
		"another owner":     func(f, h string) error { return os.Chown(f, 12345, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "another owner" && os.Geteuid() != 0 {
				t.Skip("needs root to give a file away")
			}
			c, dir := compiled(t)
			if _, ok := c.Save(sha1, print1, []byte("native code")); !ok {
				t.Fatal("not saved")
			}
			form, hash := dir+FormName(sha1, print1), dir+sha1+"-"+print1+".sha256"
			if err := spoil(form, hash); err != nil {
				t.Fatal(err)
			}
			// Forms says the same without removing anything. DIA-209
			listed, err := c.Forms(1 << 20)
			if err != nil || len(listed) != 1 || listed[0].Broken == "" || listed[0].Fingerprint != print1 {
				t.Errorf("listed as %+v, %v", listed, err)
			}
			if _, err := os.Lstat(form); err != nil {
				t.Error("listing removed it")
			}
			if _, _, ok := load(c, sha1, print1); ok {
				t.Fatal("loaded")
			}
			if _, err := os.Lstat(form); err == nil {
				t.Error("it is still there")
			}
			c.Save(sha1, print1, []byte("native code"))
			if got, _, ok := load(c, sha1, print1); !ok || string(got) != "native code" {
				t.Error("not usable afterwards")
			}
		})
	}
}

// ART-128: saving over something odd needs no Open before it.
func TestSavingOverOddities(t *testing.T) {
	c, dir := compiled(t)
	c.Save(sha1, print1, []byte("a"))
	form := dir + FormName(sha1, print1)
	os.Remove(form)
	os.Symlink("/etc/passwd", form)
	if _, ok := c.Save(sha1, print1, []byte("b")); !ok {
		t.Error("not saved")
	}
	if got, _, ok := load(c, sha1, print1); !ok || string(got) != "b" {
		t.Error("not loaded")
	}
}

// ART-129: a directory that can not be used is no error.
func TestUnusableDirectory(t *testing.T) {
	c, dir := compiled(t)
	os.MkdirAll(strings.TrimSuffix(dir, "compiled/"), 0o700)
	os.Symlink(t.TempDir(), strings.TrimSuffix(dir, "/"))
	if _, ok := c.Save(sha1, print1, []byte("x")); ok {
		t.Error("saved through a link")
	}
	if _, _, ok := load(c, sha1, print1); ok {
		t.Error("loaded through a link")
	}
	c.Prune(time.Now())
	c.Discard(sha1, print1)
}

// ART-131
func TestHomeInTheWorkFolder(t *testing.T) {
	base := t.TempDir()
	os.MkdirAll(base+"/work/sub", 0o755)
	os.Symlink(base+"/work", base+"/alias")
	for _, c := range []struct {
		home, work string
		off        bool
	}{
		{base + "/work/.murmur", base + "/work", true},
		{base + "/work", base + "/work", true},
		{base + "/alias/.murmur", base + "/work", true},
		{base + "/work/sub/.murmur", base + "/alias", true},
		{base + "/.murmur", base + "/work", false},
		{base + "/workother/.murmur", base + "/work", false},
		{base + "/.murmur", base + "/.murmur/sub", false},
		{base + "/.murmur", "", false},
	} {
		home, _ := workfs.FindHome([]string{"MURMUR_HOME=" + c.home})
		got := OpenCompiled(home, c.work)
		if (got == nil) != c.off {
			t.Errorf("%+v: %v", c, got)
		}
		if got == nil {
			got.Save(sha1, print1, []byte("x"))
			load(got, sha1, print1)
			got.Prune(time.Now())
			got.Discard(sha1, print1)
			if _, err := os.Stat(c.home + "/compiled"); err == nil {
				t.Errorf("%+v: something was made", c)
			}
		}
	}
}

// ART-130
func TestPrune(t *testing.T) {
	c, dir := compiled(t)
	now := time.Now()
	sha2 := strings.Repeat("2", 64)
	age := func(name string, d time.Duration) {
		t.Helper()
		if err := os.Chtimes(dir+name, now.Add(-d), now.Add(-d)); err != nil {
			t.Fatal(err)
		}
	}
	c.Save(sha1, print1, []byte("old"))
	c.Save(sha2, print1, []byte("young"))
	os.WriteFile(dir+"foreign", nil, 0o600)
	age("foreign", 1000*time.Hour)
	age(FormName(sha2, print1), FormLifetime-time.Minute)
	c.Prune(now)
	age(FormName(sha1, print1), FormLifetime+time.Minute)
	c.Prune(now.Add(PruneInterval - time.Minute))
	if _, err := os.Stat(dir + FormName(sha1, print1)); err != nil {
		t.Error("pruned twice in a day")
	}
	age(".pruned", PruneInterval+time.Minute)
	c.Prune(now)
	for name, want := range map[string]bool{
		FormName(sha1, print1): false, sha1 + "-" + print1 + ".sha256": false,
		FormName(sha2, print1): true, sha2 + "-" + print1 + ".sha256": true, "foreign": true,
	} {
		if _, err := os.Stat(dir + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// DIA-209: a sound form is listed as such, one beyond the budget is not read, and
// Drop removes what Forms listed and nothing else.
func TestForms(t *testing.T) {
	c, dir := compiled(t)
	if l, err := c.Forms(0); err != nil || l != nil {
		t.Errorf("of no directory: %v, %v", l, err)
	}
	c.Save(sha1, print1, []byte("native code"))
	c.SaveNote(sha1, print1, []byte("{}"))
	for _, budget := range []int64{0, 1 << 20} {
		if l, err := c.Forms(budget); err != nil || len(l) != 1 || l[0].Broken != "" || l[0].Bytes != 11 {
			t.Errorf("budget %d: %+v, %v", budget, l, err)
		}
	}
	name := FormName(sha1, print1)
	if err := os.WriteFile(dir+name, []byte("other bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, _ := c.Forms(0); l[0].Broken != "" {
		t.Errorf("beyond the budget it was read: %+v", l)
	}
	if err := c.Drop("../config.yaml"); err == nil {
		t.Error("dropped something that is no form")
	}
	if err := c.Drop(name); err != nil {
		t.Error(err)
	}
	if l, _ := os.ReadDir(dir); len(l) != 0 {
		t.Errorf("left: %v", l)
	}
}

// load opens a form and reads it.
func load(c *Compiled, sha256, fingerprint string) ([]byte, string, bool) {
	f, sum, ok := c.Open(sha256, fingerprint)
	if !ok {
		return nil, sum, false
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return data, sum, err == nil
}
