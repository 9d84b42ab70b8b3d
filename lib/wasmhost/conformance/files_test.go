package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// WIT-31, WIT-58, WIT-59
func TestFiles(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		dir, work := folder(t, ".")
		store, state := folder(t, "state")
		if err := os.MkdirAll(dir+"/state/inner", 0o755); err != nil { // covered by the store
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(dir+"/pipe", 0o600); err != nil {
			t.Fatal(err)
		}
		in := instance(func(in *wasmhost.Instance) { in.Dirs = []wasmhost.Dir{work, state} })
		for _, s := range []struct{ line, want string }{
			{"write a one two", ""},
			{"append a  three", ""},
			{"read a", "one two three"},
			{"stat a", "file 13 1"},
			{"truncate a 3", ""},
			{"read ./a", "one"},
			{"touch a 1000000000", "1000000000"},
			{"create a", "failed: File exists"},
			{"create b", ""},
			{"mkdir sub", ""},
			{"mkdir sub", "failed: File exists"},
			{"mkdir none/sub", "failed: No such file or directory"},
			{"write sub/c x", ""},
			{"rename b sub/b", ""},
			{"rename none b", "failed: No such file or directory"},
			{"link a hard", ""},
			{"lstat hard", "file 3 2"},
			{"symlink ../a sub/soft", ""},
			{"readlink sub/soft", "../a"},
			{"readlink a", "failed: Invalid argument"},
			{"read sub/soft", "one"},
			{"lstat sub/soft", "link 4 1"},
			{"stat sub/soft", "file 3 2"},
			{"list sub", "b c soft"},
			{"list a", "failed: Not a directory"},
			{"list none", "failed: No such file or directory"},
			{"read none", "failed: No such file or directory"},
			{"read a/b", "failed: Not a directory"},
			{"rmdir sub", "failed: Directory not empty"},
			{"rmdir a", "failed: Not a directory"},
			{"unlink sub/soft", ""},
			{"unlink sub/b", ""},
			{"unlink sub/c", ""},
			{"rmdir sub", ""},
			{"stat sub", "failed: No such file or directory"},
			{"write state/kept in the store", ""},
			{"read state/kept", "in the store"},
			{"list state", "kept"},
		} {
			if got := h.call(t, in, s.line); got != s.want {
				t.Errorf("%s: %q, want %q", s.line, got, s.want)
			}
		}
		// A component sees the folder its store covers in a listing.
		if got := h.call(t, in, "list ."); strings.TrimSuffix(got, " state/") != "a hard pipe" || h.name == "core" && strings.Contains(got, "state") {
			t.Errorf("list .: %q", got)
		}
		if got := h.call(t, in, "unlink state"); !strings.HasPrefix(got, "failed") {
			t.Errorf("unlink of a folder: %q", got)
		}
		for _, line := range []string{"read pipe", "write pipe x", "rename a state/a", "link a state/a"} {
			if got := h.call(t, in, line); !strings.HasPrefix(got, "failed") {
				t.Errorf("%s: %q", line, got)
			}
		}
		for path, want := range map[string]string{dir + "/a": "one", store + "/kept": "in the store"} {
			if b, err := os.ReadFile(path); err != nil || string(b) != want {
				t.Errorf("%s: %q, %v", path, b, err)
			}
		}
		in.Dirs = nil
		for _, line := range []string{"read a", "list .", "list /", "write x y"} {
			if got := h.call(t, in, line); !strings.HasPrefix(got, "failed") {
				t.Errorf("without a folder, %s: %q", line, got)
			}
		}
	})
}

// WIT-60
func TestEscapes(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		dir, work := folder(t, ".")
		outside := t.TempDir()
		secret := filepath.Join(outside, "secret")
		if err := os.WriteFile(secret, []byte("canary"), 0o644); err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(dir, secret)
		if err != nil {
			t.Fatal(err)
		}
		for name, target := range map[string]string{"abs": secret, "rel": rel, "dir": outside, "up": "..", "root": "/"} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(dir+"/deep/er", 0o755); err != nil {
			t.Fatal(err)
		}
		in := instance(func(in *wasmhost.Instance) { in.Dirs = []wasmhost.Dir{work} })
		var lines []string
		for _, p := range []string{secret, rel, "abs", "rel", "dir/secret", "root" + secret, "deep/../" + rel, "up/" + filepath.Base(dir) + "/../" + rel} {
			lines = append(lines, "read "+p, "write "+p+" gone", "append "+p+" gone", "stat "+p, "truncate "+p+" 0", "touch "+p+" 1")
		}
		lines = append(lines,
			"list dir", "list up", "list root", "list ..", "list /..", "mkdir dir/new", "mkdir ../new", "unlink dir/secret", "rmdir up/deep",
			"rename dir/secret stolen", "rename deep dir/deep", "link dir/secret stolen", "link deep dir/deep",
			"symlink "+secret+" new", "symlink "+rel+" new", "symlink ../../x deep/new", "symlink x dir/new", "create dir/new")
		for _, line := range lines {
			if got := h.call(t, in, line); !strings.HasPrefix(got, "failed: ") {
				t.Errorf("%s: %q", line, got)
			}
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != "canary" {
			t.Errorf("the file outside is now %q, %v", b, err)
		}
		if es, _ := os.ReadDir(outside); len(es) != 1 {
			t.Errorf("outside there is %v", es)
		}
	})
}
