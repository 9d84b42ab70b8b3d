package artifact

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/workfs"
)

// source writes files and opens their directory; a name ending in * is
// executable.
func source(t *testing.T, files map[string]string) *workfs.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o600)
		if rest, ok := strings.CutSuffix(name, "*"); ok {
			name, mode = rest, 0o700
		}
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	r, err := workfs.OpenRoot(dir, workfs.Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func parse(t *testing.T, text string) *manifest.Artifact {
	t.Helper()
	m, _, err := manifest.ParseArtifact("murmur.yaml", []byte(text), manifest.ArtifactOptions{Pack: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ART-25: the bytes depend on names, contents and executable bits alone.
func TestBuildIsDeterministic(t *testing.T) {
	text := "name: n\nversion: '1'\nruntime: tool\nimplementation: native\nrequires_files: [bin/n, b, a]\n"
	var first []byte
	for range 3 {
		dir := source(t, map[string]string{"bin/n*": "program", "a": strings.Repeat("a", 10000), "b": "", "c": "not listed"})
		p, err := PlanPack(dir, []byte(text), parse(t, text), "", defaults)
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.Build(defaults)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Fatal("other bytes")
		}
	}
	a := mustOpen(t, first)
	var order []string
	for _, e := range a.entries {
		order = append(order, e.name)
	}
	if got := strings.Join(order, " "); got != "murmur.yaml bin/n b a" { // ART-23
		t.Errorf("entries: %s", got)
	}
	// ART-26
	if !a.Executable("bin/n") || a.Executable("a") {
		t.Error("modes")
	}
	if _, program, err := a.Native("it", "n"); err != nil || string(program) != "program" {
		t.Error(err)
	}
}

// ART-26: only a native payload keeps an executable mode.
func TestModesOfOtherPayloads(t *testing.T) {
	text := "name: n\nversion: '1'\nruntime: tool\nrequires_files: [n.wasm, run.sh]\n"
	dir := source(t, map[string]string{"n.wasm*": "x", "run.sh*": "x"})
	p, err := PlanPack(dir, []byte(text), parse(t, text), "", defaults)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := p.Build(defaults)
	a := mustOpen(t, data)
	if a.Executable("n.wasm") || a.Executable("run.sh") {
		t.Error("an executable mode was kept")
	}
}

// ART-23, ART-28, ART-42: what no script shows.
func TestPlanPackRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		entry, code, says string
	}{
		"the output":        {"out.mur.zip", "E-BLD-002", "being written"},
		"drive":             {`C:\x`, "E-BLD-002", "absolute"},
		"backslash climb":   {`a\..\..\x`, "E-BLD-002", ".. component"},
		"backslash root":    {`\x`, "E-BLD-002", "absolute"},
		"empty":             {"''", "E-BLD-002", "empty"},
		"directory":         {"sub/", "E-BLD-002", "directory"},
		"directory as file": {"sub", "E-IO-003", "sub"},
		"the directory":     {".", "E-BLD-002", "directory"},
		"control character": {`"a\tb"`, "E-BLD-002", "control character"},
		"through a link":    {"link/f", "E-BLD-002", "link"},
		"a fifo":            {"fifo", "E-BLD-002", "special file"},
		"too large":         {"large", "E-BLD-002", "ceiling of 100 bytes"},
		"two skill texts":   {"SKILL.md, skill.md", "E-BLD-002", "both become"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := source(t, map[string]string{"out.mur.zip": "x", "sub/f": "x", "large": strings.Repeat("x", 101), "skill.md": "x", "SKILL.md": "x"})
			os.Symlink("sub", dir.Join("link"))
			if err := syscall.Mkfifo(dir.Join("fifo"), 0o600); err != nil {
				t.Fatal(err)
			}
			text := "name: n\nversion: '1'\nruntime: skill\nrequires_files: [" + c.entry + "]\n"
			_, err := PlanPack(dir, []byte(text), parse(t, text), dir.Join("out.mur.zip"), Limits{EntryBytes: 100})
			if diag.CodeOf(err) != diag.Code(c.code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %s %q", err, c.code, c.says)
			}
		})
	}
	for text, code := range map[string]string{
		"name: n\nversion: a/b\nruntime: skill\n":                          "E-MAN-003",
		"name: n\nversion: '1'\nruntime: skill\nrequires_files: []\n":      "E-IO-003",
		"name: n\nversion: '1'\nruntime: tool\nimplementation: native\n":   "E-IO-003",
		"name: -n\nversion: '1'\nruntime: skill\n":                         "E-BLD-001",
		"name: n\nversion: '1'\nruntime: hook\nrequires_files: [skill.md]": "E-BLD-003",
	} {
		dir := source(t, map[string]string{"skill.md": "x"})
		if _, err := PlanPack(dir, []byte(text), parse(t, text), "", defaults); diag.CodeOf(err) != diag.Code(code) {
			t.Errorf("%q: %v, want %s", text, err, code)
		}
	}
}

// ART-22
func TestOutputPath(t *testing.T) {
	for _, c := range []struct {
		output string
		isDir  bool
		want   string
	}{
		{"", false, "/src/x-1.mur.zip"},
		{"/dist", true, "/dist/x-1.mur.zip"},
		{"/dist.mur.zip", true, "/dist.mur.zip/x-1.mur.zip"},
		{"/y.mur.zip", false, "/y.mur.zip"},
		{"/y.zip", false, ""},
		{"/y", false, ""},
	} {
		got, err := OutputPath("/src", c.output, c.isDir, "x", "1")
		if got != c.want || (err == nil) != (c.want != "") || err != nil && diag.CodeOf(err) != "E-IO-003" {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// ART-39
func TestInferSkillName(t *testing.T) {
	for in, want := range map[string]string{
		"/a/My Skill": "my-skill", "x.zip": "x", "X.ZIP": "x", "a__b--c": "a-b-c", "-a-": "a", "___": "", "été": "t", "v1.2": "v1-2",
	} {
		if got := InferSkillName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// ART-38: whatever the summary, the generated manifest reads back as meant.
func FuzzSkillManifest(f *testing.F) {
	f.Add("a: b")
	f.Add("\"quoted\" \\ and\ttab\nline\u2028\u0085\ufeff")
	f.Add("- #x")
	f.Fuzz(func(t *testing.T, summary string) {
		if summary != strings.ToValidUTF8(summary, "") {
			return // an argument that is not text
		}
		text := SkillManifest(SkillDefaults{Name: "n", Version: "1.10", Summary: summary})
		m, _, err := manifest.ParseArtifact("murmur.yaml", text, manifest.ArtifactOptions{Pack: true})
		if err != nil {
			t.Fatalf("%q: %v\n%s", summary, err, text)
		}
		if m.Name != "n" || m.Version != "1.10" || m.Description != strings.TrimSpace(summary) {
			t.Fatalf("%q reads as %q", summary, m.Description)
		}
	})
}
