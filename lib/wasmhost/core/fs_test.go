package core_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// WIT-58
func TestFiles(t *testing.T) { onEach(t, testFiles) }

func testFiles(t *testing.T) {
	dir, work := workFolder(t)
	in := instance()
	in.Dirs = []wasmhost.Dir{work}
	steps := []struct {
		d    do
		want string
	}{
		{do{"do": "write", "path": "a.txt", "text": "one"}, ""},
		{do{"do": "append", "path": "/a.txt", "text": "two"}, ""},
		{do{"do": "read", "path": "a.txt"}, "onetwo"},
		{do{"do": "truncate", "path": "a.txt", "n": 3}, ""},
		{do{"do": "read", "path": "./sub/../a.txt"}, "one"},
		{do{"do": "mkdir", "path": "sub"}, ""},
		{do{"do": "rename", "path": "a.txt", "text": "sub/b.txt"}, ""},
		{do{"do": "chtimes", "path": "sub/b.txt", "n": 1000000000}, ""},
		{do{"do": "stat", "path": "sub/b.txt"}, "---------- 3 1000000000"},
		{do{"do": "link", "path": "hard", "text": "sub/b.txt"}, ""},
		{do{"do": "symlink", "path": "sub/soft", "text": "../hard"}, ""},
		{do{"do": "readlink", "path": "sub/soft"}, "../hard"},
		{do{"do": "read", "path": "sub/soft"}, "one"},
		{do{"do": "list", "path": "."}, "hard sub/"},
		{do{"do": "list", "path": "sub"}, "b.txt soft"},
		{do{"do": "walk", "path": "/"}, "5"},
		{do{"do": "remove", "path": "sub"}, "failed: remove sub: Directory not empty"},
		{do{"do": "remove", "path": "sub/soft"}, ""},
		{do{"do": "remove", "path": "sub/b.txt"}, ""},
		{do{"do": "remove", "path": "sub"}, ""},
		{do{"do": "read", "path": "sub/b.txt"}, "failed: open sub/b.txt: No such file or directory"},
		{do{"do": "read", "path": "."}, "failed: read .: Is a directory"},
		{do{"do": "mkdir", "path": "hard"}, "failed: mkdir hard: File exists"},
	}
	for _, s := range steps {
		if got := run(t, in, s.d); got != s.want {
			t.Errorf("%v: got %q, want %q", s.d, got, s.want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "hard")); err != nil || string(b) != "one" {
		t.Errorf("on the host: %q, %v", b, err)
	}
}

// Without a grant there is no folder (WIT-58).
func TestNoFolder(t *testing.T) { onEach(t, testNoFolder) }

func testNoFolder(t *testing.T) {
	for _, p := range []string{"/", ".", "/etc/passwd", "x"} {
		if got := run(t, instance(), do{"do": "stat", "path": p}); !strings.HasPrefix(got, "failed: ") {
			t.Errorf("%s: %q", p, got)
		}
	}
}

// WIT-58, WIT-59, WIT-31
func TestStateFolder(t *testing.T) { onEach(t, testStateFolder) }

func testStateFolder(t *testing.T) {
	dir, work := workFolder(t)
	store, state := workFolder(t)
	state.Guest = "state"
	for _, f := range []string{dir + "/state/hidden", dir + "/other/state/seen"} {
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte("work"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := instance()
	in.Dirs = []wasmhost.Dir{work}
	if got := run(t, in, do{"do": "read", "path": "state/hidden"}); got != "work" {
		t.Errorf("without a store: %q", got)
	}
	in.Dirs = []wasmhost.Dir{work, state}
	run(t, in, do{"do": "write", "path": "state/kept", "text": "in the store"})
	for _, s := range []struct {
		d    do
		want string
	}{
		{do{"do": "read", "path": "/state/kept"}, "in the store"},
		{do{"do": "read", "path": "state/../state/kept"}, "in the store"},
		{do{"do": "list", "path": "state"}, "kept"},
		{do{"do": "list", "path": "state/"}, "kept"},
		{do{"do": "list", "path": "/state/."}, "kept"},
		{do{"do": "mkdir", "path": "state"}, "failed: mkdir state: File exists"},
		{do{"do": "write", "path": "statement", "text": "in the work folder"}, ""},
		{do{"do": "rename", "path": "statement", "text": "other/statement"}, ""},
		{do{"do": "read", "path": "other/statement"}, "in the work folder"},
		{do{"do": "remove", "path": "other/statement"}, ""},
		{do{"do": "list", "path": "/"}, "other/"},
		{do{"do": "read", "path": "other/state/seen"}, "work"},
	} {
		if got := run(t, in, s.d); got != s.want {
			t.Errorf("%v: %q, want %q", s.d, got, s.want)
		}
	}
	if got := run(t, in, do{"do": "rename", "path": "state/kept", "text": "stolen"}); !strings.HasPrefix(got, "failed") {
		t.Errorf("rename between the folders: %q", got)
	}
	if b, err := os.ReadFile(store + "/kept"); err != nil || string(b) != "in the store" {
		t.Errorf("on the host: %q, %v", b, err)
	}
}

// WIT-60
func TestNoPathLeadsOut(t *testing.T) { onEach(t, testNoPathLeadsOut) }

func testNoPathLeadsOut(t *testing.T) {
	dir, work := workFolder(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"abs": secret, "rel": rel, "dir": outside, "up": "..", "chain": "up/" + filepath.Base(outside)} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir+"/deep/er", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", dir+"/here"); err != nil {
		t.Fatal(err)
	}
	in := instance()
	in.Dirs = []wasmhost.Dir{work}
	paths := []string{secret, rel, "abs", "rel", "dir/secret", "up/" + filepath.Base(outside) + "/secret", "chain/secret",
		"../" + filepath.Base(outside) + "/secret", "deep/../../" + rel, "/proc/self/environ"}
	for _, p := range paths {
		for _, act := range []string{"read", "write", "truncate", "chtimes"} {
			if got := run(t, in, do{"do": act, "path": p, "text": "gone", "n": 1}); !strings.HasPrefix(got, "failed: ") {
				t.Errorf("%s %s: %q", act, p, got)
			}
		}
	}
	for _, d := range []do{
		{"do": "symlink", "path": "new1", "text": secret},
		{"do": "symlink", "path": "new2", "text": rel},
		{"do": "symlink", "path": "deep/new3", "text": "../../x"},
		{"do": "symlink", "path": "deep/new4", "text": "er/../../x"},
		{"do": "symlink", "path": "here/new5", "text": "../x"},
		{"do": "link", "path": "new6", "text": "dir/secret"},
		{"do": "link", "path": "dir/new7", "text": "here"},
		{"do": "mkdir", "path": "dir/new8"},
		{"do": "mkdir", "path": "up/new9"},
		{"do": "remove", "path": "dir/secret"},
		{"do": "rename", "path": "deep", "text": "dir/deep"},
		{"do": "rename", "path": "dir/secret", "text": "stolen"},
		{"do": "list", "path": "dir"},
		{"do": "list", "path": "up"},
		{"do": "stat", "path": "dir/secret"},
	} {
		if got := run(t, in, d); !strings.HasPrefix(got, "failed: ") {
			t.Errorf("%v: %q", d, got)
		}
	}
	// A link that stays inside may be made, but not be moved so that it leads out.
	if got := run(t, in, do{"do": "symlink", "path": "deep/ok", "text": "../here"}); got != "" {
		t.Errorf("link inside: %q", got)
	}
	if got := run(t, in, do{"do": "rename", "path": "deep/ok", "text": "ok"}); !strings.HasPrefix(got, "failed: ") {
		t.Errorf("moving a link: %q", got)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "canary" {
		t.Errorf("the file outside is now %q, %v", b, err)
	}
	if es, _ := os.ReadDir(outside); len(es) != 1 {
		t.Errorf("outside there is %v", es)
	}
	es, _ := os.ReadDir(dir)
	if slices.ContainsFunc(es, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "new") }) {
		t.Errorf("inside there is %v", es)
	}
}

func TestLargeFolderAndManyFiles(t *testing.T) { onEach(t, testLargeFolderAndManyFiles) }

func testLargeFolderAndManyFiles(t *testing.T) {
	dir, work := workFolder(t)
	var want []string
	for i := range 700 {
		name := strings.Repeat("n", 60) + string(rune('a'+i/26%26)) + string(rune('a'+i%26)) + string(rune('a'+i/676))
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	if err := os.Mkdir(dir+"/state", 0o755); err != nil {
		t.Fatal(err)
	}
	_, state := workFolder(t)
	state.Guest = "state"
	in := instance()
	in.Dirs = []wasmhost.Dir{work, state}
	if got := run(t, in, do{"do": "list", "path": "."}); got != strings.Join(want, " ") {
		t.Errorf("%d names, want %d", len(strings.Fields(got)), len(want))
	}
	// WIT-72
	if got := run(t, in, do{"do": "openmany", "path": want[0], "n": 1000}); got != "256" {
		t.Errorf("a guest opens %s files", got)
	}
	before := openDescriptors(t)
	run(t, in, do{"do": "openmany", "path": want[0], "n": 100})
	if after := openDescriptors(t); after > before+5 {
		t.Errorf("%d descriptors before a call, %d after it", before, after)
	}
}

func openDescriptors(t *testing.T) int {
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(es)
}
