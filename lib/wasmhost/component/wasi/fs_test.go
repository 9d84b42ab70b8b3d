package wasi

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

const (
	openAt    = "types-descriptor-open-at"
	statAt    = "types-descriptor-stat-at"
	renameAt  = "types-descriptor-rename-at"
	symlinkAt = "types-descriptor-symlink-at"
	mkdirAt   = "types-descriptor-create-directory-at"
	unlinkAt  = "types-descriptor-unlink-file-at"
	linkAt    = "types-descriptor-link-at"
)

var follow, nofollow = flags{"symlink-follow"}, flags(nil)

// TestEscapes: no name and no link, whoever made it, leads out of a granted
// directory. WIT-31, WIT-60, WIT-74
func TestEscapes(t *testing.T) {
	dir, path := testDir(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	os.WriteFile(secret, []byte("s"), 0o600)
	os.WriteFile(path+"/in", []byte("i"), 0o600)
	os.MkdirAll(path+"/a/b", 0o700)
	rel, _ := filepath.Rel(path, secret)
	for name, target := range map[string]string{"root": "/", "etc": "/etc/passwd", "abs": secret, "rel": rel, "up": "..", "loop": "loop", "dangling": outside + "/new", "a/b/up3": "../../../"} {
		if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	g := newGuest(t, Config{Dirs: []wasmhost.Dir{dir}})
	d := g.top()
	sub := g.open(d, "a", flags{"directory"}, nil)
	deep := strings.Repeat("a/../", 200) + "../" + filepath.Base(outside) + "/secret"
	for _, p := range []string{"..", "../", "a/../..", "/", "/etc/passwd", secret, rel, "root", "root/etc/passwd", "etc", "abs", "rel", "up", "up/x",
		"dangling", "a/b/up3", "a/b/up3/etc", deep, "in/../../x", strings.Repeat("a/", 3000), "", "loop", "root/" + secret, "x\x00y"} {
		for _, at := range []val{d, sub} {
			if code := g.fails(openAt, at, follow, p, flags{}, flags{"read"}); !slices.Contains([]string{"not-permitted", "no-entry", "loop", "name-too-long", "not-directory", "invalid"}, code) {
				t.Errorf("open %.40q: %s", p, code)
			}
			if at == sub && p[:min(len(p), 2)] != ".." {
				continue // a name like others there
			}
			g.fails(openAt, at, follow, p, flags{"create"}, readWrite)
			g.fails(openAt, at, follow, p, flags{"create", "truncate"}, readWrite)
			g.fails(statAt, at, follow, p)
			g.fails(mkdirAt, at, p+"/n")
			g.fails("types-descriptor-set-times-at", at, follow, p, variant{Name: "now"}, variant{Name: "now"})
		}
	}
	for _, p := range []string{"..", "../x", "/etc/x", outside + "/x", "root/x", "up/x", "a/b/up3/x"} {
		g.fails(renameAt, d, "in", d, p)
		g.fails(linkAt, d, nofollow, "in", d, p)
		g.fails(symlinkAt, d, "in", p)
		g.fails(unlinkAt, d, p)
		g.fails("types-descriptor-remove-directory-at", d, p)
		g.fails(openAt, d, follow, p, flags{"create"}, readWrite)
	}
	for _, p := range []string{"root/etc", "up/x", "rel/x", "abs/x"} { // through links in the source
		g.fails(renameAt, d, p, d, "got")
		g.fails(linkAt, d, nofollow, p, d, "got")
	}
	if b, _ := os.ReadFile(secret); string(b) != "s" {
		t.Error("the file outside was changed")
	}
	if e, _ := os.ReadDir(outside); len(e) != 1 {
		t.Errorf("something was made outside: %v", e)
	}
	// Without symlink-follow a link is not opened, only seen.
	if code := g.fails(openAt, d, nofollow, "etc", flags{}, flags{"read"}); code != "loop" {
		t.Errorf("opening a link itself: %s", code)
	}
	if st := g.ok(statAt, d, nofollow, "root").(record); st.Get("type") != enum("symbolic-link") {
		t.Errorf("stat of a link: %v", st)
	}
	if code := g.fails("types-descriptor-readlink-at", d, "etc"); code != "not-permitted" {
		t.Errorf("reading an absolute link: %s", code)
	}
	// FIFOs and devices are refused, and do not hold the host up.
	if err := unix.Mkfifo(path+"/fifo", 0o600); err == nil {
		for _, f := range []flags{{"read"}, {"write"}, {"read", "write"}} {
			g.fails(openAt, d, follow, "fifo", flags{}, f)
		}
	}
}

// TestLinksOfGuests: a guest may link inside its folder and nowhere else, and
// moving what it made does not help it. WIT-74
func TestLinksOfGuests(t *testing.T) {
	dir, path := testDir(t)
	outside := filepath.Join(filepath.Dir(path), "outside")
	os.WriteFile(outside, []byte("o"), 0o600)
	t.Cleanup(func() { os.Remove(outside) })
	g := newGuest(t, Config{Dirs: []wasmhost.Dir{dir}})
	d := g.top()
	for _, p := range []string{"a", "a/b", "a/b/c", "x"} {
		g.ok(mkdirAt, d, p)
	}
	g.open(d, "x/file", flags{"create"}, readWrite)
	for _, l := range []struct{ target, at, code string }{
		{"x/file", "l1", ""}, {"../../x/file", "a/b/l2", ""}, {"./x", "l3", ""}, {"nothing", "a/l4", ""}, {"../../../x/file", "a/b/c/l5", ""},
		{"/", "e1", "not-permitted"}, {"/etc/passwd", "e2", "not-permitted"}, {"..", "e3", "not-permitted"}, {"../outside", "e4", "not-permitted"},
		{"../../../outside", "a/b/e5", "not-permitted"}, {"x/../../outside", "e6", "not-permitted"}, {"", "e7", "no-entry"},
		{"../outside", "l3/e8", "not-permitted"}, // l3 is a link: where it leads is not counted
		{"../file", "a/../e9", "not-permitted"},
	} {
		r := g.call(symlinkAt, d, l.target, l.at).(result)
		if got := ""; !r.OK {
			got = string(r.V.(enum))
			if got != l.code {
				t.Errorf("link %s -> %s: %q, want %q", l.at, l.target, got, l.code)
			}
		} else if l.code != "" {
			t.Errorf("link %s -> %s was made", l.at, l.target)
		}
	}
	if v := g.ok("types-descriptor-readlink-at", d, "a/b/l2"); v != "../../x/file" {
		t.Errorf("readlink: %v", v)
	}
	g.open(d, "a/b/l2", nil, flags{"read"})
	// A descriptor of a folder does not lead above that folder, and a link made
	// deep inside that is moved up leads nowhere.
	sub := g.open(d, "a/b", flags{"directory"}, nil)
	g.fails(openAt, sub, follow, "../../x/file", flags{}, flags{"read"})
	if code := g.fails(openAt, sub, follow, "l2", flags{}, flags{"read"}); code != "not-permitted" {
		t.Errorf("link out of the descriptor: %s", code)
	}
	g.ok(symlinkAt, sub, "../../x/file", "again") // judged from the top of the grant
	g.ok(renameAt, d, "a/b/c", d, "c")
	g.fails(openAt, d, follow, "c/l5", flags{}, flags{"read"})
	g.ok(renameAt, d, "a/b", d, "moved")
	g.fails(openAt, d, follow, "moved/again", flags{}, flags{"read"})
	g.fails(openAt, sub, follow, "../x/file", flags{}, flags{"read"})
	if b, _ := os.ReadFile(outside); string(b) != "o" {
		t.Error("the file outside was changed")
	}
}

// TestTwoGrants: directories of one grant exchange names, different grants never.
// WIT-31, WIT-74
func TestTwoGrants(t *testing.T) {
	one, p1 := testDir(t)
	two, _ := testDir(t)
	two.Guest = "state"
	g := newGuest(t, Config{Dirs: []wasmhost.Dir{one, two}})
	dirs := g.call("preopens-get-directories").(list)
	if dirs[0].(tuple)[1] != "." || dirs[1].(tuple)[1] != "state" {
		t.Fatalf("directories: %v", dirs)
	}
	d, s := dirs[0].(tuple)[0], dirs[1].(tuple)[0]
	g.ok(mkdirAt, d, "a")
	g.ok(mkdirAt, d, "b/")
	g.open(d, "a/f", flags{"create"}, readWrite)
	a, b := g.open(d, "a", flags{"directory"}, nil), g.open(d, "b", flags{"directory"}, nil)
	g.ok(renameAt, a, "f", b, "g")
	g.ok(linkAt, b, nofollow, "g", a, "h")
	if e, _ := os.ReadDir(p1 + "/b"); len(e) != 1 || e[0].Name() != "g" {
		t.Errorf("after renaming: %v", e)
	}
	if code := g.fails(renameAt, b, "g", s, "g"); code != "cross-device" {
		t.Errorf("rename between grants: %s", code)
	}
	if code := g.fails(linkAt, b, nofollow, "g", s, "g"); code != "cross-device" {
		t.Errorf("link between grants: %s", code)
	}
	if code := g.fails(linkAt, b, follow, "g", a, "i"); code != "invalid" {
		t.Errorf("link that follows: %s", code)
	}
	for _, p := range []string{".", "..", "g/", "a/.", "a/.."} {
		g.fails(renameAt, b, p, a, "n")
	}
	if code := g.fails(unlinkAt, d, "a"); code != "is-directory" {
		t.Errorf("unlink of a directory: %s", code)
	}
	if code := g.fails("types-descriptor-remove-directory-at", d, "b/g"); code != "not-directory" {
		t.Errorf("remove-directory of a file: %s", code)
	}
	if code := g.fails("types-descriptor-remove-directory-at", d, "b"); code != "not-empty" {
		t.Errorf("remove-directory of a full one: %s", code)
	}
	g.ok(unlinkAt, b, "g")
	g.ok("types-descriptor-remove-directory-at", d, "b/")
	g.fails(unlinkAt, d, "a/h/")
}

// TestDescriptor goes through the methods that TestByteRoad leaves out.
func TestDescriptor(t *testing.T) {
	dir, path := testDir(t)
	g := newGuest(t, Config{Dirs: []wasmhost.Dir{dir}})
	d := g.top()
	f := g.open(d, "f", flags{"create", "exclusive"}, readWrite)
	if code := g.fails(openAt, d, follow, "f", flags{"create", "exclusive"}, readWrite); code != "exist" {
		t.Errorf("exclusive: %s", code)
	}
	g.ok("types-descriptor-write", f, []byte("0123456789"), uint64(0))
	for range 2 {
		app := g.ok("types-descriptor-append-via-stream", f)
		g.ok("streams-output-stream-blocking-write-and-flush", app, []byte("++"))
		os.WriteFile(path+"/f2", nil, 0o600)
		h, _ := os.OpenFile(path+"/f", os.O_APPEND|os.O_WRONLY, 0)
		h.WriteString("host")
		h.Close()
		g.ok("streams-output-stream-write", app, []byte("--")) // at the end, wherever it is now
		g.drop("output-stream", app)
	}
	if b, _ := os.ReadFile(path + "/f"); string(b) != "0123456789++host--++host--" {
		t.Errorf("appended: %q", b)
	}
	g.ok("types-descriptor-set-size", f, uint64(5))
	g.ok("types-descriptor-sync", f)
	g.ok("types-descriptor-sync-data", f)
	g.ok("types-descriptor-sync", d)
	g.ok("types-descriptor-advise", f, uint64(0), uint64(0), enum("sequential"))
	stamp := func(sec uint64, ns uint32) val {
		return variant{Name: "timestamp", V: record{{Name: "seconds", V: sec}, {Name: "nanoseconds", V: ns}}}
	}
	g.ok("types-descriptor-set-times", f, stamp(1_000_000_000, 5), stamp(1_100_000_000, 7))
	g.ok("types-descriptor-set-times", f, variant{Name: "no-change"}, variant{Name: "no-change"})
	st := g.ok("types-descriptor-stat", f).(record)
	want := func(name string, sec uint64, ns uint32) {
		t.Helper()
		if o := st.Get(name).(option).V.(record); o.Get("seconds") != sec || o.Get("nanoseconds") != ns {
			t.Errorf("%s: %v", name, o)
		}
	}
	want("data-access-timestamp", 1_000_000_000, 5)
	want("data-modification-timestamp", 1_100_000_000, 7)
	if st.Get("size") != uint64(5) || st.Get("type") != enum("regular-file") || st.Get("link-count") != uint64(1) {
		t.Errorf("stat: %v", st)
	}
	if code := g.fails("types-descriptor-set-times", f, stamp(1<<40, 0), stamp(0, 0)); code != "overflow" {
		t.Errorf("far future: %s", code)
	}
	g.ok("types-descriptor-symlink-at", d, "f", "l")
	g.ok("types-descriptor-set-times-at", d, nofollow, "l", stamp(7, 0), stamp(8, 0))
	st = g.ok(statAt, d, nofollow, "l").(record)
	want("data-modification-timestamp", 8, 0)
	g.ok("types-descriptor-set-times-at", d, follow, "l", stamp(9, 0), stamp(10, 0))
	st = g.ok(statAt, d, follow, "l").(record)
	want("data-modification-timestamp", 10, 0)
	g.ok("types-descriptor-set-times-at", d, follow, "f", variant{Name: "now"}, variant{Name: "now"})
	if fi, _ := os.Stat(path + "/f"); time.Since(fi.ModTime()) > time.Minute {
		t.Errorf("now: %v", fi.ModTime())
	}
	h1, h2 := g.ok("types-descriptor-metadata-hash", f).(record), g.ok("types-descriptor-metadata-hash-at", d, follow, "l").(record)
	if !slices.Equal(h1, h2) || slices.Equal(h1, g.ok("types-descriptor-metadata-hash", d).(record)) {
		t.Errorf("hashes %v %v", h1, h2)
	}
	if g.call("types-descriptor-is-same-object", f, g.open(d, "f", nil, flags{"read"})) != true || g.call("types-descriptor-is-same-object", f, d) != false {
		t.Error("is-same-object")
	}
	if fl := g.ok("types-descriptor-get-flags", f).(flags); !slices.Equal(fl, readWrite) {
		t.Errorf("flags %v", fl)
	}
	if ty := g.ok("types-descriptor-get-type", d); ty != enum("directory") {
		t.Errorf("type %v", ty)
	}
	ro := g.open(d, "f", nil, flags{"read"})
	if code := g.fails("types-descriptor-write", ro, []byte("x"), uint64(0)); code != "bad-descriptor" {
		t.Errorf("write to a file opened for reading: %s", code)
	}
	g.fails("types-descriptor-set-size", ro, uint64(0))
	if code := g.fails("types-descriptor-read", d, uint64(1), uint64(0)); code != "is-directory" {
		t.Errorf("read of a directory: %s", code)
	}
	if code := g.fails("types-descriptor-read", f, uint64(1), uint64(1<<63)); code != "invalid" {
		t.Errorf("read at a negative offset: %s", code)
	}
	if code := g.fails("types-descriptor-read-directory", f); code != "not-directory" {
		t.Errorf("read-directory of a file: %s", code)
	}
	g.fails(openAt, d, follow, "f", flags{"directory"}, flags{"read"})
	g.fails(openAt, d, follow, "f", flags{"directory", "create"}, flags{"read"})
	for i := range 300 {
		os.WriteFile(filepath.Join(path, "many", "x"), nil, 0o600)
		os.WriteFile(filepath.Join(path, "n"+strings.Repeat("x", i%50)+string(rune('a'+i%26))), nil, 0o600)
	}
	es := g.ok("types-descriptor-read-directory", d)
	n := 0
	for {
		o := g.ok("types-directory-entry-stream-read-directory-entry", es).(option)
		if !o.Some {
			break
		}
		n++
	}
	if all, _ := os.ReadDir(path); n != len(all) {
		t.Errorf("read %d entries of %d", n, len(all))
	}
	// Errors of a file's stream carry their code.
	{
		in := g.ok("types-descriptor-read-via-stream", f, uint64(1<<62))
		if code := g.fails("streams-input-stream-read", in, uint64(1)); code != "closed" {
			t.Errorf("read behind the end: %s", code)
		}
		out := g.ok("types-descriptor-write-via-stream", f, uint64(1<<63-1))
		r := g.call("streams-output-stream-write", out, []byte("xx")).(result)
		if r.OK || r.V.(variant).Name != "last-operation-failed" {
			t.Fatalf("write at the end of numbers: %v", r)
		}
		if c := g.call("types-filesystem-error-code", r.V.(variant).V).(option); !c.Some {
			t.Errorf("no filesystem-error-code for %v", r.V)
		}
		if c := g.call("types-http-error-code", r.V.(variant).V).(option); c.Some {
			t.Errorf("a file's error has http-error-code %v", c.V)
		}
	}
}

// TestOpenFilesAreBounded: a guest can not use up the host's files. WIT-72, WIT-73
func TestOpenFilesAreBounded(t *testing.T) {
	dir, path := testDir(t)
	os.WriteFile(path+"/f", nil, 0o600)
	g := newGuest(t, Config{Dirs: []wasmhost.Dir{dir}})
	d := g.top()
	var held []val
	for range maxFiles {
		held = append(held, g.open(d, "f", nil, flags{"read"}))
	}
	if code := g.fails(openAt, d, follow, "f", flags{}, flags{"read"}); code != "quota" {
		t.Errorf("one file more: %s", code)
	}
	g.fails("types-descriptor-read-directory", d)
	g.drop("descriptor", held[0])
	g.open(d, ".", flags{"directory"}, nil)
	g.close()
	if g.wasi.files != 0 {
		t.Errorf("%d files open after the end", g.wasi.files)
	}
}
