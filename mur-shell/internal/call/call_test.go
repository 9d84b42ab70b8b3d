package call

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
)

// SHL-38, SHL-39, SHL-P1
func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string
	}{
		{`'%s,' a "b c" d\ e ''`, []string{"%s,", "a", "b c", "d e"}},
		{"$HOME * > x; y", []string{"$HOME", "*", ">", "x;", "y"}},
		{"a\tb\u00a0c\u2003d\ne", []string{"a", "b", "c", "d", "e"}},
		{`a"b"'c'd`, []string{"abcd"}},
		{`"it's" 'a "b"'`, []string{"it's", `a "b"`}},
		{`'a\'b' c'`, []string{"a'b", "c"}}, // a backslash is literal nowhere
		{`a\\b \' \"`, []string{`a\b`, "'", `"`}},
		{`"open to the end`, []string{"open to the end"}},
		{`a b\`, []string{"a", "b"}},
		{`"" ''`, []string{}},
		{"", []string{}},
		{"~ | && `x` $(y)", []string{"~", "|", "&&", "`x`", "$(y)"}},
	} {
		if got := split(tc.text); !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

// SHL-26, SHL-36, SHL-37, SHL-43, SHL-P4
func TestToolInput(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, tc := range []struct {
		name, entry string
		data        *string
		args        []string // nil: refused
		script      bool
		says        string
	}{
		{"interpreter", "bash", text(`{"command":" ls | wc -l \n","x":1}`), []string{"-c", "ls | wc -l"}, true, ""},
		{"direct", "git", text(`{"command":"log  'a b'"}`), []string{"log", "a b"}, false, ""},
		{"path is no interpreter", "/bin/bash", text(`{"command":"-c ls"}`), []string{"-c", "ls"}, false, ""},
		{"python is no interpreter", "python3", text(`{"command":"-c 1"}`), []string{"-c", "1"}, false, ""},
		{"missing", "bash", nil, nil, false, "missing"},
		{"no JSON", "bash", text("ls"), nil, false, "no JSON object"},
		{"no object", "bash", text(`["ls"]`), nil, false, "no JSON object"},
		{"null", "bash", text(`null`), nil, false, "no command"},
		{"no command", "bash", text(`{"cmd":"ls"}`), nil, false, "no command"},
		{"blank", "bash", text(`{"command":"  "}`), nil, false, "empty"},
		{"number", "bash", text(`{"command":1}`), nil, false, "string command"},
		{"NUL", "bash", text("{\"command\":\"a\\u0000b\"}"), nil, false, "NUL"},
	} {
		c, err := FromData(tc.entry, tc.data)
		if tc.args == nil {
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want %q", tc.name, err, tc.says)
			}
			continue
		}
		if err != nil || !slices.Equal(c.Args, tc.args) || (c.Script != nil) != tc.script || c.Entry != tc.entry {
			t.Errorf("%s: %+v, %v", tc.name, c, err)
		}
	}
}

// SHL-29
func TestLine(t *testing.T) {
	bash, _ := FromText("bash", "ls | wc")
	git, _ := FromText("git", "log -1")
	for _, tc := range []struct {
		c    Call
		want string
	}{{bash, "ls | wc"}, {git, "git log -1"}, {FromWords([]string{"git"}), "git"}} {
		if got := tc.c.Line(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// SHL-46, SHL-47, SHL-49, SHL-51, SHL-53, SHL-54, SHL-56, SHL-57, SHL-P22, CON-P120, CON-P121, CON-P122
func TestEnvironment(t *testing.T) {
	host := []string{
		"PATH=/old", "PATH=/bin", "HOME=/root", "USER=u", "LANG=C", "TMPDIR=/t", "TERM=dumb", "EDITOR=vi", "FOO_TOKEN=f", "SECRET=s",
		"LD_PRELOAD=x", "BASH_ENV=x", "http_proxy=x", "MURMUR_HOME=/m", "MURMUR_SPAWNER=s", "SHLVL=3", "OLDPWD=/x", "_=/x",
	}
	for _, p := range policy.Backstop() {
		host = append(host, strings.ReplaceAll(string(p), "*", "X")+"=secret")
	}
	keep := []string{"EDITOR", "SECRET", "FOO_TOKEN", "MISSING"}
	for _, p := range policy.Backstop() {
		keep = append(keep, strings.ReplaceAll(string(p), "*", "X"))
	}
	got := Environment(host, map[string]string{"MURMUR_SESSION_ID": "ses_1", "PATHLIKE": "p"}, keep, policy.EnvRules{Strip: []policy.Pattern{"*_TOKEN"}}, Folders{Work: "/w", Home: "/h", Tmp: "/tmp/x"})
	want := []string{
		"EDITOR=vi", "HOME=/h", "LANG=C", "MURMUR_SESSION_ID=ses_1", "PATH=/bin", "PATHLIKE=p", "PWD=/w", "SECRET=s",
		"TEMP=/tmp/x", "TERM=dumb", "TMP=/tmp/x", "TMPDIR=/tmp/x", "USER=u", "USERPROFILE=/h",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if Value(got, "PATH") != "/bin" || Value(got, "NONE") != "" {
		t.Error("Value")
	}
}

// SHL-40, SHL-41, SHL-42
func TestLookup(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"a/tool": 0o755, "b/tool": 0o755, "a/plain": 0o644, "b/plain": 0o755, "a/data": 0o644} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("tool", filepath.Join(dir, "a", "multi")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "a", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	list := "relative::" + filepath.Join(dir, "a") + ":" + filepath.Join(dir, "b")
	for _, tc := range []struct {
		entry, path, binary string
		err                 error
	}{
		{"tool", "a/tool", "a/tool", nil},
		{"multi", "a/multi", "a/tool", nil},
		{"plain", "b/plain", "b/plain", nil},
		{"data", "", "", fs.ErrPermission},
		{"sub", "", "", fs.ErrNotExist},
		{"none", "", "", fs.ErrNotExist},
		{"./tool", "a/tool", "a/tool", nil},
		{filepath.Join(dir, "b/tool"), "b/tool", "b/tool", nil},
	} {
		p, err := Lookup(tc.entry, list, filepath.Join(dir, "a"))
		if !errors.Is(err, tc.err) || err == nil && (p.Path != filepath.Join(dir, tc.path) || p.Binary != filepath.Join(dir, tc.binary)) {
			t.Errorf("%s: %+v, %v", tc.entry, p, err)
		}
	}
}
