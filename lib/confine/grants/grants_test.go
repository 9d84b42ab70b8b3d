package grants

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
)

// fakeHost answers for a program by its base name; its files are what is in real.
type fakeHost struct {
	answers  map[string]string
	real     map[string]string // path -> canonical path, directories with a slash
	targets  map[string][]string
	libs     map[string][]string
	programs map[string][]string
}

func (h fakeHost) Ask(_ context.Context, program string, _ ...string) (string, error) {
	if a, ok := h.answers[filepath.Base(program)]; ok {
		return a, nil
	}
	return "", errors.New("no answer")
}

func (h fakeHost) Real(path string) (string, bool, bool) {
	r, ok := h.real[path]
	return strings.TrimSuffix(r, "/"), strings.HasSuffix(r, "/"), ok
}
func (h fakeHost) Targets(dir string) []string   { return h.targets[dir] }
func (h fakeHost) Programs(dir string) []string  { return h.programs[dir] }
func (h fakeHost) Libraries(dir string) []string { return h.libs[dir] }

func programs(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("#!/usr/bin/env python3\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// CON-84, CON-85, CON-86, CON-87
func TestInterpretersSayWhereTheirModulesAre(t *testing.T) {
	dir := programs(t, "python3", "node", "cat")
	h := fakeHost{
		answers: map[string]string{"python3": "/m\nrelative\n/gone\n/\n/home/u\n/tmp\n/etc\n/w\n/w/lib\n/\n/home\n/murmur/x\n/m\n", "cat": "/m\n"},
		real: map[string]string{"/m": "/opt/m/", "/": "/", "/home/u": "/home/u/", "/tmp": "/tmp/", "/etc": "/etc/", "/w": "/home/w/", "/w/lib": "/home/w/lib/",
			"/home": "/home/", "/murmur/x": "/murmur/x/"},
		libs: map[string][]string{"/opt/m": {"/usr/lib/libssl.so.3"}},
	}
	f := Find(context.Background(), Request{Entries: []string{"python3", "node", "cat", "missing"}, Path: dir, Work: "/home/w", Murmur: "/murmur", User: "/home/u"}, h)
	want := []policy.DerivedRuntime{{Binary: "python3", Dir: "/opt/m"}, {Binary: "python3", Dir: "/usr/lib/libssl.so.3"}}
	if !slices.Equal(f.Derived, want) {
		t.Errorf("derived %v, want %v", f.Derived, want)
	}
	if want := []Fact{{"python3", filepath.Join(dir, "python3"), "probe"}}; !slices.Equal(f.Facts, want) {
		t.Errorf("facts %v, want %v", f.Facts, want)
	}
	if len(f.Exec) != 4 || len(f.Exec[3].Paths) != 0 {
		t.Errorf("exec %v", f.Exec)
	}
	if len(f.TrustStore) != 0 {
		t.Errorf("a trust store %v without network.allow", f.TrustStore)
	}
	if len(f.Binds) != 1 || f.Binds[0].Path != dir || f.Binds[0].Required {
		t.Errorf("binds %v", f.Binds)
	}
}

// CON-88
func TestTrustStore(t *testing.T) {
	h := fakeHost{
		real: map[string]string{"/etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs": "/etc/ssl/certs/",
			"/usr/share/ca-certificates/mozilla": "/usr/share/ca-certificates/mozilla/", "/srv/own.pem": "/srv/own.pem"},
		targets: map[string][]string{"/etc/ssl/certs": {"/usr/share/ca-certificates/mozilla/a.crt", "/usr/share/ca-certificates/mozilla/b.crt", "/srv/own.pem"}},
	}
	f := Find(context.Background(), Request{Entries: []string{"curl"}, Path: "/nowhere", Network: true}, h)
	want := []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/", "/usr/share/ca-certificates/mozilla/", "/srv/own.pem"}
	if !slices.Equal(f.TrustStore, want) {
		t.Errorf("got %q, want %q", f.TrustStore, want)
	}
}

// CON-42, CON-166
func TestScriptsThatASealedRootWouldNotHold(t *testing.T) {
	dir := programs(t, "tool", "other")
	f := Find(context.Background(), Request{Entries: []string{"tool", "other"}, Path: dir}, fakeHost{})
	if got := Unreachable(f, policy.Policy{}); len(got) != 2 || got[0].Entry != "tool" || filepath.Base(got[0].Interpreter) != "python3" {
		t.Errorf("nothing granted: %v", got)
	}
	for name, p := range map[string]policy.Policy{
		"staged tree":         {StagedRuntime: []policy.StagedRuntime{{Binary: "x", SourcePath: dir}}},
		"interpreter's tree":  {InterpreterRuntime: []policy.InterpreterRuntime{{Binary: "x", Dirs: []policy.RuntimeDir{{Path: dir}}}}},
		"names the #! itself": {InterpreterRuntime: []policy.InterpreterRuntime{{Binary: "python3"}}},
	} {
		if got := Unreachable(f, p); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := Unreachable(f, policy.Policy{StagedRuntime: []policy.StagedRuntime{{Binary: "tool", SourcePath: "/opt"}}}); len(got) != 1 || got[0].Entry != "other" {
		t.Errorf("a grant for tool alone: %v", got)
	}
}

// CON-288
func TestProgramsThatComeWithOthers(t *testing.T) {
	dir := programs(t, "git", "go", "gcc-12", "cat", "member", "cc1")
	member, cc1 := filepath.Join(dir, "member"), filepath.Join(dir, "cc1")
	h := fakeHost{
		answers:  map[string]string{"git": dir + "/core\n", "go": "/opt/go\n/opt/go/tool\n", "gcc-12": cc1 + "\n", "cat": dir},
		programs: map[string][]string{dir + "/core": {member}, "/opt/go/tool": {member, "/w/own"}},
		real:     map[string]string{dir + "/core": "/usr/lib/git-core/", "/etc/gitconfig": "/etc/gitconfig", "/opt/go": "/opt/go/", cc1: cc1, "/usr/include": "/usr/include/"},
	}
	find := func(compilers bool) Found {
		return Find(context.Background(), Request{Entries: []string{"git", "go", "gcc-12", "cat"}, Path: dir, Work: "/w", Compilers: compilers}, h)
	}
	f := find(false)
	for i, want := range [][]string{{member}, {member}, nil, nil} {
		got := slices.DeleteFunc(slices.Clone(f.Exec[i].Closure), func(p string) bool { return p == f.Exec[i].Paths[0] })
		if !slices.Equal(got, want) {
			t.Errorf("%s brings %v, want %v", f.Exec[i].Entry, got, want)
		}
	}
	for _, want := range []policy.DerivedRuntime{{Binary: "git", Dir: "/etc/gitconfig"}, {Binary: "git", Dir: "/usr/lib/git-core"}, {Binary: "go", Dir: "/opt/go"}, {Binary: "gcc-12", Dir: "/usr/include"}} {
		if !slices.Contains(f.Derived, want) {
			t.Errorf("%v lacks %v", f.Derived, want)
		}
	}
	if f := find(true); !slices.Contains(f.Exec[2].Closure, cc1) {
		t.Errorf("with compilers gcc brings %v", f.Exec[2].Closure)
	}
}
