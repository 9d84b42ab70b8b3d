package workfs

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
)

func openTemp(t *testing.T, opt Options) (*Root, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := OpenRoot(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// operations is every call that takes a path beneath a root.
var operations = map[string]func(r *Root, rel string) error{
	"open":       func(r *Root, rel string) error { return closing(r.Open(rel)) },
	"read":       func(r *Root, rel string) error { _, err := r.ReadFile(rel, 0); return err },
	"write":      func(r *Root, rel string) error { return r.WriteFile(rel, []byte("new")) },
	"append":     func(r *Root, rel string) error { return closing(r.Append(rel)) },
	"create":     func(r *Root, rel string) error { return closing(r.CreateNew(rel)) },
	"mkdir":      func(r *Root, rel string) error { return r.Mkdir(rel) },
	"mkdirall":   func(r *Root, rel string) error { return r.MkdirAll(rel) },
	"list":       func(r *Root, rel string) error { _, err := r.List(rel); return err },
	"stat":       func(r *Root, rel string) error { _, err := r.Stat(rel); return err },
	"remove":     func(r *Root, rel string) error { return r.Remove(rel) },
	"removeall":  func(r *Root, rel string) error { return r.RemoveAll(rel) },
	"renamefrom": func(r *Root, rel string) error { return r.Rename(rel, "other") },
	"renameto":   func(r *Root, rel string) error { return r.Rename("plain", rel) },
	"sub":        func(r *Root, rel string) error { return closing(r.Sub(rel)) },
	"makesub":    func(r *Root, rel string) error { return closing(r.MakeSub(rel)) },
	"lock":       func(r *Root, rel string) error { return unlocking(r.TryLock(rel)) },
}

func closing[T interface{ Close() error }](c T, err error) error {
	if err == nil {
		c.Close()
	}
	return err
}

func unlocking(l *Lock, err error) error {
	if err == nil {
		l.Unlock()
	}
	return err
}

// SES-42
func TestPathsThatAreNotPlain(t *testing.T) {
	r, dir := openTemp(t, Options{})
	write(t, dir+"/plain", "x")
	for name, op := range operations {
		for _, rel := range []string{"", "/", "/etc/passwd", "a//b", "a/", "..", "../x", "a/../b", "a/..", "./a", "a/.", "a\x00b"} {
			if err := op(r, rel); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s(%q) = %v, want fs.ErrInvalid", name, rel, err)
			}
		}
	}
	if r.Latch().Err() != nil {
		t.Errorf("a malformed path set the latch: %v", r.Latch().Err())
	}
	if l, _ := os.ReadDir(dir); len(l) != 1 {
		t.Errorf("something was made: %v", l)
	}
}

// SES-43, SES-44, SES-45: a link in any place of the path is refused by every
// operation, the latch names it, and what it points to is as it was.
func TestLinksAreRefused(t *testing.T) {
	for name, op := range operations {
		for _, where := range []string{"first", "middle"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				outside := t.TempDir()
				write(t, outside+"/sub/file", "precious")
				r, dir := openTemp(t, Options{})
				write(t, dir+"/plain", "x")
				os.MkdirAll(dir+"/a", 0o755)
				rel, link := "l/sub/file", dir+"/l"
				if where == "middle" {
					rel, link = "a/l/sub/file", dir+"/a/l"
				}
				if err := os.Symlink(outside, link); err != nil {
					t.Fatal(err)
				}
				err := op(r, rel)
				if !errors.Is(err, ErrRefused) || diag.CodeOf(err) != "E-RUN-103" {
					t.Fatalf("got %v, want a refusal", err)
				}
				if got := r.Latch().Err(); got == nil || !strings.Contains(got.Error(), link) {
					t.Errorf("latch = %v, want it to name %s", got, link)
				}
				if read(t, outside+"/sub/file") != "precious" || read(t, dir+"/plain") != "x" {
					t.Error("a file changed")
				}
				if l, _ := os.ReadDir(outside + "/sub"); len(l) != 1 {
					t.Error("something was made behind the link")
				}
			})
		}
	}
}

// SES-45: links, sockets, FIFOs and devices as the last component.
func TestSpecialFilesAreRefused(t *testing.T) {
	kinds := map[string]func(path string) error{
		"link":   func(p string) error { return os.Symlink("plain", p) },
		"broken": func(p string) error { return os.Symlink("nowhere", p) },
		"fifo":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"socket": func(p string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p, Net: "unix"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				l.Close()
			}
			return err
		},
	}
	for kind, put := range kinds {
		for _, name := range []string{"open", "read", "write", "append", "create", "mkdirall", "renamefrom", "renameto", "list", "sub", "lock"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				dir, err := os.MkdirTemp("", "w") // short: socket names are bounded
				if err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(dir)
				r, err := OpenRoot(dir, Options{Relative: true})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				write(t, dir+"/plain", "x")
				if err := put(dir + "/s"); err != nil {
					t.Fatal(err)
				}
				before, _ := os.Lstat(dir + "/s")
				err = operations[name](r, "s")
				if !errors.Is(err, ErrRefused) {
					t.Fatalf("got %v, want a refusal", err)
				}
				if msg := r.Latch().Err().Error(); !strings.HasPrefix(msg, "s: ") {
					t.Errorf("latch says %q, want the relative path first", msg)
				}
				after, err := os.Lstat(dir + "/s")
				if err != nil || !os.SameFile(before, after) {
					t.Error("it was removed or replaced")
				}
				if read(t, dir+"/plain") != "x" {
					t.Error("the link was followed")
				}
				if l, _ := os.ReadDir(dir); len(l) != 2 {
					t.Errorf("left behind: %v", l)
				}
			})
		}
	}
}

// SES-46: the first refusal stays.
func TestLatchIsShared(t *testing.T) {
	var latch Latch
	r, dir := openTemp(t, Options{Latch: &latch})
	os.Symlink("/", dir+"/one")
	os.Mkdir(dir+"/d", 0o755)
	os.Symlink("/", dir+"/d/two")
	sub, err := r.Sub("d")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	sub.WriteFile("two", nil)
	r.WriteFile("one", nil)
	if got := latch.Err(); got == nil || !strings.HasPrefix(got.Error(), dir+"/d/two: ") {
		t.Errorf("latch = %v", got)
	}
	if err := r.WriteFile("fine", nil); err != nil {
		t.Errorf("a set latch stopped a write itself: %v", err)
	}
}

// SES-48
func TestModesIgnoreTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o777} {
		old := syscall.Umask(umask)
		func() {
			defer syscall.Umask(old)
			dir := t.TempDir()
			os.Chmod(dir, 0o755)
			r, err := OpenRoot(dir, Options{FileMode: PublicFile, DirMode: PublicDir})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := r.WriteFile("a/b/f", []byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := closing(r.Append("a/app")); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteFileMode("a/exe", nil, 0o755); err != nil {
				t.Fatal(err)
			}
			for rel, want := range map[string]fs.FileMode{"a": 0o755, "a/b": 0o755, "a/b/f": 0o644, "a/app": 0o644, "a/exe": 0o755} {
				e, err := r.Stat(rel)
				if err != nil || e.Mode.Perm() != want {
					t.Errorf("umask %o: %s has mode %o, want %o (%v)", umask, rel, e.Mode.Perm(), want, err)
				}
			}
		}()
	}
}

func TestWriteReadAppendList(t *testing.T) {
	r, dir := openTemp(t, Options{})
	for range 2 {
		if err := r.WriteFile("d/f", []byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{"one\n", "two\n"} {
		f, err := r.Append("d/log")
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(s)
		f.Close()
	}
	if got, err := r.ReadFile("d/f", 5); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := r.ReadFile("d/f", 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a limit of 4: %v", err)
	}
	if got := read(t, dir+"/d/log"); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
	os.Symlink("f", dir+"/d/Z")
	entries, err := r.List("d")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name+":"+e.Mode.Type().String()[:1])
	}
	if got := strings.Join(names, " "); got != "Z:L f:- log:-" {
		t.Errorf("listed %s", got)
	}
	if err := closing(r.CreateNew("d/f")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("CreateNew over a file: %v", err)
	}
	if err := r.Mkdir("d"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Mkdir over a directory: %v", err)
	}
	if err := r.WriteFile("d", nil); err == nil {
		t.Error("a file replaced a directory")
	}
	if _, err := r.ReadFile("d/none", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := r.WriteFile("d/f/x", nil); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("a plain file as a directory: %v, want an error that is no refusal", err)
	}
}

func TestAbortLeavesTheOldFile(t *testing.T) {
	r, dir := openTemp(t, Options{})
	write(t, dir+"/f", "old")
	p, err := r.Create("f", PrivateFile)
	if err != nil {
		t.Fatal(err)
	}
	p.Write([]byte("half"))
	if read(t, dir+"/f") != "old" {
		t.Error("the target changed before Commit")
	}
	p.Abort()
	if read(t, dir+"/f") != "old" {
		t.Error("the target changed")
	}
	if err := p.Commit(); err == nil {
		t.Error("Commit after Abort succeeded")
	}
	if l, _ := os.ReadDir(dir); len(l) != 1 {
		t.Errorf("left behind: %v", l)
	}
	// A link that appears between Create and Commit is refused too.
	p, err = r.Create("f", PrivateFile)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(dir + "/f")
	os.Symlink("/etc/passwd", dir+"/f")
	if err := p.Commit(); !errors.Is(err, ErrRefused) {
		t.Errorf("Commit onto a link: %v", err)
	}
	if l, _ := os.ReadDir(dir); len(l) != 1 {
		t.Errorf("left behind: %v", l)
	}
}

// SES-41: the root is the directory, not the path.
func TestRootOutlivesItsPath(t *testing.T) {
	base := t.TempDir()
	os.Mkdir(base+"/a", 0o755)
	r, err := OpenRoot(base+"/a", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	os.Rename(base+"/a", base+"/moved")
	os.Mkdir(base+"/a", 0o755)
	if err := r.WriteFile("f", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if read(t, base+"/moved/f") != "x" {
		t.Error("the file is not in the held directory")
	}
	or, err := r.OSRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer or.Close()
	if b, err := or.ReadFile("f"); err != nil || string(b) != "x" {
		t.Errorf("OSRoot leads elsewhere: %q, %v", b, err)
	}
}

func TestReplaceFileAndSweep(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/murmur.lock"
	put := func(s string) func(*Pending) error {
		return func(p *Pending) error { _, err := p.Write([]byte(s)); return err }
	}
	write(t, dir+"/.murmur.lock.0123.tmp", "left by a killed writer")
	write(t, dir+"/.other.0123.tmp", "not ours")
	r, _ := OpenRoot(dir, Options{})
	defer r.Close()
	living, err := r.Create("murmur.lock", PublicFile)
	if err != nil {
		t.Fatal(err)
	}
	defer living.Abort()
	if err := ReplaceFile(path, PublicFile, put("one")); err != nil {
		t.Fatal(err)
	}
	if read(t, path) != "one" {
		t.Error("not written")
	}
	left, _ := filepath.Glob(dir + "/.*.tmp")
	if len(left) != 2 {
		t.Errorf("temporaries left: %v, want the living writer's and the other file's", left)
	}
	boom := errors.New("boom")
	if err := ReplaceFile(path, PublicFile, func(p *Pending) error { p.Write([]byte("half")); return boom }); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
	if read(t, path) != "one" {
		t.Error("a failed write changed the file")
	}
	os.Remove(path)
	os.Symlink("elsewhere", path)
	err = Fault(ReplaceFile(path, PublicFile, put("two")), "cannot write the lock")
	if diag.CodeOf(err) != "E-IO-003" {
		t.Errorf("over a link: %v", err)
	}
	if _, err := os.Lstat(dir + "/elsewhere"); err == nil {
		t.Error("the link was followed")
	}
	if _, err := ReadFile(path, 0); err == nil {
		t.Error("ReadFile followed a link")
	}
}

// A reader sees whole files only, whatever the writer does.
func TestWritesAreAtomic(t *testing.T) {
	r, _ := openTemp(t, Options{Ephemeral: true})
	a, b := bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<16)
	if err := r.WriteFile("f", a); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for i := range 200 {
			if err := r.WriteFile("f", [][]byte{a, b}[i%2]); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		got, err := r.ReadFile("f", 0)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, a) && !bytes.Equal(got, b) {
			t.Fatal("read a mixture")
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

func TestFaultCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code diag.Code
	}{
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, "E-IO-001"},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "E-IO-002"},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EIO}, "E-IO-003"},
		{diag.Errorf("E-REG-002", "x"), "E-REG-002"},
	} {
		got := Fault(c.err, "cannot read it")
		if diag.CodeOf(got) != c.code || !errors.Is(got, c.err) {
			t.Errorf("%v -> %v", c.err, got)
		}
	}
	if Fault(nil, "x") != nil {
		t.Error("a fault out of nothing")
	}
}

func TestTouch(t *testing.T) {
	r, dir := openTemp(t, Options{})
	write(t, dir+"/f", "x")
	os.Chtimes(dir+"/f", time.Unix(1000, 0), time.Unix(1000, 0))
	if err := r.Touch("f"); err != nil {
		t.Fatal(err)
	}
	if e, _ := r.Stat("f"); time.Since(time.Unix(0, e.ModTime)) > time.Hour {
		t.Errorf("still from %v", time.Unix(0, e.ModTime))
	}
}
