package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/session"
)

func document(t *testing.T, entries ...string) *session.Document {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &session.Document{}
	d.Directories.Work.Path = dir
	for _, e := range entries {
		d.ProtectedPaths = append(d.ProtectedPaths, session.ProtectedPath{Rule: e, Relative: e})
	}
	return d
}

// TOL-87, TOL-88, TRC-43, CON-242, CON-244, CON-248, CON-249, CON-251, CON-254
func TestTool(t *testing.T) {
	d := document(t, "src", "docs/api")
	if err := os.Symlink("src", filepath.Join(d.Directories.Work.Path, "alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(d.Directories.Work.Path, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	empty := []string{}
	d.ToolAnnotations = map[string]session.ToolAnnotations{
		"save":  {Destinations: []string{"where"}},
		"quiet": {Templates: &empty},
	}
	g := New(d)
	for _, c := range []struct{ tool, input, path, rule, via string }{
		{"any", `{"dest":"src/a.go"}`, "src/a.go", "src", "dest"},
		{"any", `{"dest":"` + d.Directories.Work.Path + `/src/a.go"}`, "src/a.go", "src", "dest"},
		{"any", `{"dest":"docs/../src"}`, "src", "src", "dest"},
		{"any", `{"dest":"alias/new/file"}`, "alias/new/file", "src", "dest"},
		{"any", `{"path":"src/a.go","content":"x"}`, "src/a.go", "src", "path"},
		{"any", `{"path":"src/a.go"}`, "", "", ""},
		{"any", `{"dest":"srcs/a.go"}`, "", "", ""},
		{"any", `{"dest":"docs"}`, "", "", ""},
		{"any", `no JSON`, "", "", ""},
		{"save", `{"where":"docs/api/x"}`, "docs/api/x", "docs/api", "where"},
		{"any", `{"where":"docs/api/x"}`, "", "", ""},
		{"quiet", `{"dest":"src/a.go"}`, "", "", ""},
	} {
		got := g.Tool(c.tool, c.input)
		if (got == nil) != (c.path == "") {
			t.Errorf("%s %s: %v", c.tool, c.input, got)
			continue
		}
		if got == nil {
			continue
		}
		l := got.Line
		if l.Call != "tool" || l.Target != c.tool || l.Path != c.path || l.Rule != c.rule || l.Signal != c.via || l.Reason != got.Text || got.Error() != got.Text {
			t.Errorf("%s %s: %+v", c.tool, c.input, l)
		}
		for _, word := range []string{c.tool, c.rule, "read_only", "refused again"} {
			if !strings.Contains(got.Text, word) {
				t.Errorf("%q lacks %q", got.Text, word)
			}
		}
	}
	if New(document(t)) != nil || (*Gate)(nil).Tool("any", `{"dest":"x"}`) != nil {
		t.Error("without read-only paths something is checked")
	}
	if l := g.Command("/bin/rm", "../out", "src", "rm").Line; l.Call != "shell" || l.Target != "/bin/rm" || l.Path != filepath.Join(filepath.Dir(d.Directories.Work.Path), "out") {
		t.Errorf("%+v", l)
	}
}
