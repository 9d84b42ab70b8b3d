package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/murtest"
)

func TestMain(m *testing.M) { murtest.Main(m) }

// TestWriteATool does what docs/guides/write-a-tool.md says, in a fresh folder
// with an empty home: each sh block is run where the one before ended, each
// block with file= is written there, and an output block is what the sh block
// before it must print last.
func TestWriteATool(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "write-a-tool.md"))
	if err != nil {
		t.Fatal(err)
	}
	g := &guide{t: t, dir: t.TempDir(), env: commands(t, root)}
	for _, b := range blocks(string(text)) {
		g.do(b)
	}
	if g.commands < 10 || !strings.Contains(g.all, "SURPRISE!\n") || !strings.Contains(g.all, `"ending":"ok"`) {
		t.Errorf("%d commands printed\n%s", g.commands, g.all)
	}
}

// TestRunAnAgent does the same with docs/guides/run-an-agent.md, which starts
// providers that the test ends.
func TestRunAnAgent(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "run-an-agent.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Cleanup(func() { // those a failure left; the page ends them itself
		_ = exec.Command("sh", "-c", "kill $(cat "+filepath.Join(dir, "ask", "provider.pid")+")").Run()
	})
	g := &guide{t: t, dir: dir, env: commands(t, root)}
	for _, b := range blocks(string(text)) {
		g.do(b)
	}
	if g.commands < 15 || !strings.Contains(g.all, "/v1/messages 529\n/v1/messages 200\n") {
		t.Errorf("%d commands printed\n%s", g.commands, g.all)
	}
}

// commands is an environment with the commands of this project on its PATH and
// an empty home.
func commands(t *testing.T, root string) []string {
	t.Helper()
	env := []string{"MUR=" + root}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // which lie in the home a person has
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	home := murtest.Home(t)
	var dirs []string
	for _, name := range []string{"mur-lock", "mur-stage", "mur-launch", "mur-shell", "mur-trace"} {
		dirs = append(dirs, filepath.Dir(murtest.Command(t, name)))
	}
	return append(append(os.Environ(), env...), "MURMUR_HOME="+home, "PATH="+strings.Join(dirs, ":")+":"+os.Getenv("PATH"))
}

// guide is somebody who follows a page.
type guide struct {
	t        *testing.T
	dir      string
	env      []string
	commands int
	last     string // what the last sh block printed
	all      string
}

func (g *guide) do(b block) {
	g.t.Helper()
	lang, arg, _ := strings.Cut(b.info, " ")
	name, isFile := strings.CutPrefix(arg, "file=")
	switch {
	case lang == "sh" && arg == "setup": // where the reader's clone is; the test's is elsewhere
	case lang == "sh":
		// The last line tells where the block ended.
		cmd := exec.Command("sh", "-eu", "-c", b.text+"\npwd >&3\n")
		cmd.Dir, cmd.Env = g.dir, g.env
		r, w, err := os.Pipe()
		if err != nil {
			g.t.Fatal(err)
		}
		defer r.Close()
		cmd.ExtraFiles = []*os.File{w}
		out, err := cmd.CombinedOutput()
		w.Close()
		g.last, g.all = string(out), g.all+string(out)
		g.commands += strings.Count(b.text, "\n")
		if err != nil {
			g.t.Fatalf("%v\n$ %s%s", err, strings.ReplaceAll(b.text, "\n", "\n$ "), out)
		}
		var where [4096]byte
		n, err := r.Read(where[:])
		if err != nil {
			g.t.Fatal(err)
		}
		g.dir = strings.TrimSpace(string(where[:n]))
	case lang == "output":
		if !strings.HasSuffix(g.last, b.text) {
			g.t.Errorf("printed\n%s\nwant at its end\n%s", g.last, b.text)
		}
	case isFile:
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(b.text), 0o644); err != nil {
			g.t.Fatal(err)
		}
	}
}

// block is a fenced block of a Markdown page.
type block struct{ info, text string }

func blocks(page string) []block {
	var found []block
	var open *block
	for line := range strings.Lines(page) {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{info: strings.TrimSpace(fence)}
		case isFence:
			found = append(found, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return found
}
