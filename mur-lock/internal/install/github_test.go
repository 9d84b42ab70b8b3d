package install

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/store/remote"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// releases is GitHub with one repository, ana/tools, and one release of it.
type releases struct {
	*httptest.Server
	owner  int
	assets map[string][]byte
	down   bool
}

func (g *releases) serve(w http.ResponseWriter, r *http.Request) {
	path, mine := strings.CutPrefix(r.URL.Path, "/repos/Ana/tools")
	switch {
	case g.down:
		w.WriteHeader(http.StatusServiceUnavailable)
	case mine && path == "":
		fmt.Fprintf(w, `{"owner": {"id": %d}}`, g.owner)
	case mine && path == "/releases/tags/v1.0.0" || path == "/releases/latest":
		var out struct {
			Assets []map[string]any `json:"assets"`
		}
		for _, name := range []string{"scan-1.0.0.mur.zip", "style-1.0.0.mur.zip"} {
			if data, ok := g.assets[name]; ok {
				out.Assets = append(out.Assets, map[string]any{"name": name, "size": len(data), "url": g.URL + "/assets/" + name})
			}
		}
		json.NewEncoder(w).Encode(out)
	case strings.HasPrefix(r.URL.Path, "/assets/"):
		w.Write(g.assets[strings.TrimPrefix(r.URL.Path, "/assets/")])
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func skill(t *testing.T, name, version, text string) []byte {
	t.Helper()
	p := artifact.Plan{Name: name, Version: version, Files: []artifact.File{
		{Name: "murmur.yaml", Data: fmt.Appendf(nil, "name: %s\nversion: %s\nruntime: skill\n", name, version)},
		{Name: "skill.md", Data: []byte(text)},
	}}
	data, err := p.Build(artifact.LimitsOf(nil))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ART-12, ART-61, ART-63, ART-64, ART-65, ART-96, ART-99: from a GitHub release, by
// its tag and by name.
func TestFromGitHub(t *testing.T) {
	g := &releases{owner: 4711, assets: map[string][]byte{
		"scan-1.0.0.mur.zip": skill(t, "scan", "1.0.0", "scan"), "style-1.0.0.mur.zip": skill(t, "style", "1.0.0", "style"),
	}}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	defer g.Close()
	ctx := context.Background()

	run := func(dir string, args ...string) report.Report {
		t.Helper()
		env := cli.Env{Dir: dir, Environ: []string{"HOME=" + dir}, Now: time.Now}
		p, err := project.Find(env)
		if err != nil {
			t.Fatal(err)
		}
		far := remote.Open(config.Registry{Sources: []config.Source{{Name: "tools", Type: "github", Repo: "Ana/tools"}}},
			remote.Options{Limits: p.Limits, GitHubAPI: g.URL})
		rep, err := Install(ctx, p, Options{Args: args, Scope: "local", Remote: far, Warn: func(diag.Warning) {}})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	fresh := func() string {
		dir := t.TempDir()
		text := "name: p\nversion: 1.0.0\nartifacts:\n  - {name: ana/scan, version: 1.0.0, runtime: skill}\n  - {name: ana/style, version: 1.0.0, runtime: skill}\n"
		if err := os.WriteFile(filepath.Join(dir, "murmur.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	lock := func(dir string) (string, lockfile.Lock) {
		data, _ := os.ReadFile(filepath.Join(dir, "murmur.lock"))
		l, err := lockfile.Parse("x", data)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), l
	}

	byTag, byName := fresh(), fresh()
	rep := run(byTag, "github:Ana/tools@v1.0.0")
	if len(rep.Rows) != 2 || rep.Err() != nil || rep.Rows[0].Name != "ana/scan" || rep.Rows[1].Outcome != report.Installed {
		t.Fatalf("%+v", rep.Rows)
	}
	if rep := run(byName); rep.Err() != nil || len(rep.Rows) != 2 {
		t.Fatalf("%v", rep.Err())
	}
	one, l := lock(byTag)
	two, _ := lock(byName)
	if one != two || l.Entries[0].OwnerID != "github:4711" {
		t.Errorf("the locks are\n%s\nand\n%s", one, two)
	}

	// What is stored is not asked for again.
	g.down = true
	if rep := run(byName); rep.Err() != nil || rep.Rows[0].Outcome != report.Unchanged {
		t.Errorf("%v", rep.Err())
	}
	dir := fresh()
	if rep := run(dir); diag.CodeOf(rep.Rows[0].Errors[0]) != "E-REG-006" || !strings.Contains(rep.Rows[0].Fault.Message, "tools (github:Ana/tools): HTTP 503") {
		t.Errorf("%+v", rep.Rows[0].Fault)
	}
	g.down = false

	// The account has changed hands.
	g.owner = 666
	if err := os.RemoveAll(filepath.Join(byName, ".murmur")); err != nil {
		t.Fatal(err)
	}
	rep = run(byName)
	if diag.CodeOf(rep.Rows[0].Errors[0]) != "E-REG-005" || !strings.Contains(rep.Rows[0].Fault.Message, "owner github:4711, what was resolved has github:666") {
		t.Errorf("%+v", rep.Rows[0].Fault)
	}
	if _, err := os.Stat(filepath.Join(byName, ".murmur")); err == nil {
		t.Error("something was stored")
	}
	g.owner = 4711

	// A file that is not what its name says.
	g.assets["scan-1.0.0.mur.zip"] = skill(t, "scan", "1.0.1", "scan")
	if rep := run(fresh(), "ana/scan@1.0.0"); diag.CodeOf(rep.Rows[0].Errors[0]) != "E-IO-003" || !strings.Contains(rep.Rows[0].Fault.Message, `version "1.0.1"`) {
		t.Errorf("%+v", rep.Rows[0].Fault)
	}
	delete(g.assets, "scan-1.0.0.mur.zip")
	if rep := run(fresh(), "ana/scan@1.0.0", "github:Ana/tools@v9", "github:Ana/..@v1"); diag.CodeOf(rep.Rows[0].Errors[0]) != "E-REG-001" ||
		diag.CodeOf(rep.Rows[1].Errors[0]) != "E-REG-001" || diag.CodeOf(rep.Rows[2].Errors[0]) != "E-IO-003" {
		t.Errorf("%v", rep.Err())
	}
}
