package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/workfs"
)

// load writes the two files ("" is none) and loads them.
func load(t *testing.T, global, project string) (Config, []diag.Warning, error) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	h, err := workfs.FindHome([]string{"MURMUR_HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(home, FileName): global, filepath.Join(dir, ".murmur", FileName): project} {
		if text == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(h, dir)
}

// MAN-277, MAN-279, MAN-309, MAN-310
func TestNoFiles(t *testing.T) {
	c, warnings, err := load(t, "", "")
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	if c.GlobalContainment != policy.Unstated || c.MachineTokensPerDay != nil || c.TreeTokens != nil || c.MaxDepth != 3 || c.MaxConcurrent != 4 ||
		c.HostPaths == nil || len(c.HostPaths)+len(c.Registry.Sources)+len(c.CredentialNames()) != 0 || !filepath.IsAbs(c.GlobalFile) || !filepath.IsAbs(c.ProjectFile) {
		t.Errorf("%+v", c)
	}
	for _, empty := range []string{"# nothing\n", "~\n"} {
		if _, _, err := load(t, empty, ""); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// MAN-278 to MAN-286, MAN-291, MAN-309, MAN-310
func TestMerge(t *testing.T) {
	global := `containment: scoped
spend: {machine_tokens_per_day: 100, tree_tokens: 5}
spawn: {max_depth: 0, max_concurrent: 9}
credentials:
  A_KEY: " sk-hush-a "
  EMPTY: ""
  NONE:
host_paths: [/b, /a]
registry:
  default: one
  index_url: https://index.example
  sources:
    - {name: one, type: github, repo: a/b, token: "${HUSH}"}
    - {name: two, type: github, repo: c/d}
inference: {anything: [1]}
beta: 5
`
	project := `containment: advisory
spend: {machine_tokens_per_day: 7, tree_tokens: 50}
spawn: {max_depth: 9, max_concurrent: 9}
credentials: {B_KEY: sk-hush-b, EMPTY: " "}
host_paths: [/c]
registry:
  default: three
  sources:
    - {name: three, type: github, repo: e/f}
    - {name: one, type: other, repo: x/y}
containmnet: sealed
`
	c, warnings, err := load(t, global, project)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range c.Registry.Sources {
		names = append(names, s.Name+" "+s.Repo)
	}
	for _, tt := range []struct {
		what      string
		got, want any
	}{
		{"containment", [2]policy.Class{c.GlobalContainment, c.ProjectContainment}, [2]policy.Class{policy.Scoped, policy.Advisory}},
		{"lowest ceilings", [2]int64{*c.MachineTokensPerDay, *c.TreeTokens}, [2]int64{7, 5}},
		{"bounds are global", [2]int64{c.MaxDepth, c.MaxConcurrent}, [2]int64{0, 9}},
		{"credentials are global", c.CredentialNames(), []string{"A_KEY"}},
		{"host paths are global, in order", c.HostPaths, []string{"/b", "/a"}},
		{"default", c.Registry.Default, "three"},
		{"index", c.Registry.IndexURL, "https://index.example"},
		{"sources", names, []string{"one x/y", "two c/d", "three e/f"}},
		{"replaced in place", c.Registry.Sources[0].HasToken, false},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.what, tt.got, tt.want)
		}
	}
	if !c.HasCredential("A_KEY") || c.HasCredential("B_KEY") || c.HasCredential("EMPTY") {
		t.Error("credentials")
	}
	var got []string
	for _, w := range warnings {
		if w.Code != "" || !strings.HasPrefix(w.Message, c.ProjectFile+": ") {
			t.Errorf("%+v", w)
		}
		got = append(got, strings.TrimPrefix(w.Message, c.ProjectFile+": "))
	}
	want := []string{
		`the unknown key "containmnet" at the top level was ignored; it looks like a misspelling of "containment"`,
		"credentials.B_KEY is ignored; only the global configuration may set it",
		"host_paths is ignored; only the global configuration may set it",
		"spawn.max_depth is ignored; only the global configuration may set it",
		"spawn.max_concurrent is ignored; only the global configuration may set it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if shown := fmt.Sprintf("%v %+v %#v %v", c, c, c, warnings); strings.Contains(shown, "hush") || strings.Contains(shown, "HUSH") {
		t.Errorf("a credential is shown: %s", shown)
	}
}

// MAN-277: the murmur home may be the project's own folder.
func TestHomeIsProject(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, ".murmur")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, FileName), []byte("credentials: {A: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := workfs.FindHome([]string{"HOME=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	c, warnings, err := Load(h, dir)
	if err != nil || len(warnings) != 0 || !c.HasCredential("A") {
		t.Errorf("%v %v %v", c.CredentialNames(), warnings, err)
	}
}

// MAN-277, MAN-279, MAN-280, MAN-285, DIA-69
func TestBadFiles(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a: [\n", ":2:1: did not find expected node content"},
		{"- a\n", ":1:1: <root>: expected mapping, found list"},
		{"containment: scoped\ncontainment: scoped\n", `:2:1: the key "containment" stands twice in one mapping; this is the second, on line 2`},
		{"containment: strong\n", `:1:14: containment: the value "strong" is not one of unconfined, advisory, scoped, sealed`},
		{"containment: 1\n", ":1:14: containment: expected string, found integer"},
		{"spend: {machine_tokens_per_day: 0}\n", ":1:33: spend.machine_tokens_per_day: the number 0 is below 1"},
		{"spend: {tree_tokens: lots}\n", ":1:22: spend.tree_tokens: expected integer, found string"},
		{"spawn: {max_depth: -1}\n", ":1:20: spawn.max_depth: the number -1 is below 0"},
		{"credentials: [a]\n", ":1:14: credentials: expected mapping, found list"},
		{"credentials: {a-key: hush}\n", `:1:22: credentials.a-key: "a-key" is no credential name: A-Z, 0-9 and _, no digit first`},
		{"credentials: {A: 12345}\n", ":1:18: credentials.A: expected string, found integer"},
		{"host_paths: /a\n", ":1:13: host_paths: expected list, found string"},
		{"registry: {sources: [{type: github}]}\n", ":1:22: registry.sources[0].name: the key is required here"},
		{"registry: {sources: [{name: a}, {name: a}]}\n", `:1:40: registry.sources[1].name: a source called "a" stands before`},
	} {
		for i, files := range [][2]string{{tt.in, ""}, {"", tt.in}} {
			_, _, err := load(t, files[0], files[1])
			if diag.CodeOf(err) != "E-IO-003" || !strings.HasSuffix(err.Error(), FileName+tt.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%q as file %d: %v", tt.in, i, err)
			}
		}
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	h, _ := workfs.FindHome([]string{"MURMUR_HOME=" + home})
	if _, _, err := Load(h, t.TempDir()); diag.CodeOf(err) != "E-IO-003" {
		t.Errorf("a directory as file: %v", err)
	}
}

// MAN-287, AGT-145, AGT-146
func TestReadCredential(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	for _, tt := range []struct{ text, want, reason string }{
		{"credentials: {A: ' sk-1 '}\ncontainment: nonsense\n", "sk-1", ""},
		{"credentials: {A: sk-2}\n", "sk-2", ""},
		{"credentials: {A: ''}\n", "", EmptyEntry},
		{"credentials: {A: }\n", "", EmptyEntry},
		{"credentials: {B: x}\n", "", NoEntry},
		{"credentials:\n", "", NoEntry},
		{"spend: {}\n", "", NoEntry},
		{"", "", NoEntry},
		{"credentials: {A: [x]}\n", "", Unparseable},
		{"credentials: {A: 5}\n", "", Unparseable},
		{"credentials: {A: x, A: y}\n", "", Unparseable},
		{"credentials: [\n", "", Unparseable},
		{"[]\n", "", Unparseable},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadCredential(path, "A")
		var ce *CredentialError
		errors.As(err, &ce)
		if s.Reveal() != tt.want || (ce == nil) != (tt.reason == "") || ce != nil && (ce.Reason != tt.reason || !strings.Contains(ce.Error(), path)) {
			t.Errorf("%q: %q %v", tt.text, s.Reveal(), err)
		}
	}
	var ce *CredentialError
	if _, err := ReadCredential(path+"x", "A"); !errors.As(err, &ce) || ce.Reason != Missing {
		t.Errorf("%v", err)
	}
	if _, err := ReadCredential(filepath.Dir(path), "A"); !errors.As(err, &ce) || ce.Reason != Unreadable {
		t.Errorf("%v", err)
	}
}

// MAN-288, DIA-164
func TestModeWarning(t *testing.T) {
	for _, tt := range []struct {
		mode os.FileMode
		want bool
	}{{0o600, false}, {0o400, false}, {0o700, false}, {0o640, true}, {0o604, true}, {0o620, true}, {0o644, true}} {
		w, got := ModeWarning("/x/config.yaml", tt.mode)
		if got != tt.want || got && (w.Code != "W-SEC-028" || !strings.Contains(w.Message, "/x/config.yaml") || !strings.Contains(w.Message, fmt.Sprintf("%04o", tt.mode))) {
			t.Errorf("%o: %v %+v", tt.mode, got, w)
		}
	}
}

// MAN-293
func TestParseEnv(t *testing.T) {
	text := "# remark\n\n A = b \r\nB=\"x y\"\nC='it''s'\nD=\"open\nE=\nF=a=b#c\n  # more\nA=second\nG='\nH=\"'q'\""
	want := []string{"A=b", "B=x y", "C=it''s", `D="open`, "E=", "F=a=b#c", "A=second", "G='", "H='q'"}
	got, err := ParseEnv("/p/.env", []byte(text))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got  %q %v\nwant %q", got, err, want)
	}
	merged := MergeEnv([]string{"B=mine", "Z=1"}, got)
	if !slices.Equal(merged, []string{"B=mine", "Z=1", "A=b", "C=it''s", `D="open`, "E=", "F=a=b#c", "G='", "H='q'"}) {
		t.Errorf("%q", merged)
	}
	for in, want := range map[string]string{
		"A=1\nhush\n":        "/p/.env:2: the line has no =",
		"\n\n=hush\n":        "/p/.env:3: the line has nothing before =",
		"export A=hush\n":    "/p/.env:1: the line has white space in its key",
		"A=hush\x00more\n":   "/p/.env:1: the line holds a NUL character",
		"A=1\r\n \"B\" hush": "/p/.env:2: the line has no =",
	} {
		if _, err := ParseEnv("/p/.env", []byte(in)); diag.CodeOf(err) != "E-IO-003" || err.Error() != want {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// MAN-293
func TestFindEnvFile(t *testing.T) {
	top := t.TempDir()
	project := filepath.Join(top, "project")
	deep := filepath.Join(project, "a", "b")
	inner := filepath.Join(project, "inner")
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(top, ".env"), "FAR=1\n")
	write(filepath.Join(project, "murmur.yaml"), "")
	write(filepath.Join(project, ".env"), "NEAR=1\n")
	write(filepath.Join(deep, ".env"), "NO=1\n")
	write(filepath.Join(inner, "murmur.yaml"), "")
	for dir, want := range map[string]string{project: "NEAR=1\n", deep: "NEAR=1\n", inner: "", top: ""} {
		path, data, err := FindEnvFile(dir)
		if err != nil || string(data) != want || (path != "") != (want != "") {
			t.Errorf("%s: %q %q %v", dir, path, data, err)
		}
	}
	if err := os.Mkdir(filepath.Join(inner, ".env"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := FindEnvFile(inner); diag.CodeOf(err) != "E-IO-003" {
		t.Errorf("a directory as file: %v", err)
	}
}

// FuzzConfig: no bytes make the reader panic or fail without its code.
func FuzzConfig(f *testing.F) {
	f.Add([]byte("containment: scoped\nspend: {tree_tokens: 5}\ncredentials: {A: x}\n"))
	f.Add([]byte("registry: {sources: [{name: a, token: b}]}\nhost_paths: [/a]\n"))
	f.Add([]byte("credentials: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, _, err := parse("/h/config.yaml", data)
		if err != nil {
			if diag.CodeOf(err) != "E-IO-003" {
				t.Fatalf("%#v", err)
			}
			return
		}
		for _, k := range out.credentials {
			if s, err := FindCredential("/h/config.yaml", data, k.name); err != nil || s.Reveal() != k.value.Reveal() {
				t.Fatalf("%s is read once and not again: %v", k.name, err)
			}
		}
	})
}
