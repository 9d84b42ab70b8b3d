package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
	"github.com/mur-capsules/mur/lib/workfs"
)

// modelDriver is testdata/driver, made once.
var modelDriver = guest{sync.OnceValues(makeDriver)}

func makeDriver() (m made, err error) {
	dir, err := os.MkdirTemp("", "mur-launch-driver-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "driver.wasm"), "./testdata/driver")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return m, fmt.Errorf("%w\n%s", err, text)
	}
	if m.wasm, err = os.ReadFile(filepath.Join(dir, "driver.wasm")); err != nil {
		return m, err
	}
	root, err := workfs.OpenRoot(dir, workfs.Options{})
	if err != nil {
		return m, err
	}
	defer root.Close()
	text := []byte("name: driver\nversion: '1'\nruntime: driver\nimplementation: wasm\nrequires_files: [driver.wasm]\n")
	parsed, _, err := manifest.ParseArtifact("murmur.yaml", text, manifest.ArtifactOptions{})
	if err != nil {
		return m, err
	}
	limits := artifact.Limits{EntryBytes: artifact.DefaultCeiling}
	plan, err := artifact.PlanPack(root, text, parsed, filepath.Join(dir, "driver.zip"), limits)
	if err != nil {
		return m, err
	}
	if m.archive, err = plan.Build(limits); err != nil {
		return m, err
	}
	engine, err := core.New()
	if err != nil {
		return m, err
	}
	defer engine.Close()
	g, err := engine.Compile(context.Background(), m.wasm, wasmhost.Driver)
	if err != nil {
		return m, err
	}
	defer g.Close()
	m.form, err = g.Form()
	return m, err
}

const testKey = "sk-test-0123456789abcdefghij"

// provider answers what the driver hands it, turn by turn.
type provider struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
	keys     []string
	answer   func(w http.ResponseWriter, r *http.Request, turn int)
}

func newProvider(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, turn int)) *provider {
	p := &provider{answer: answer}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		turn := len(p.requests)
		p.requests = append(p.requests, string(body))
		p.keys = append(p.keys, strings.Join(r.Header.Values("X-Test-Key"), "|"))
		p.mu.Unlock()
		p.answer(w, r, turn)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) seen() (requests, keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.requests...), append([]string{}, p.keys...)
}

// answers are bodies, one for each turn.
func answers(bodies ...string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, turn int) {
		io.WriteString(w, bodies[min(turn, len(bodies)-1)])
	}
}

func says(text string) string {
	return fmt.Sprintf(`{"stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, text)
}

// does calls the tool once for each input.
func does(inputs ...string) string {
	var blocks []string
	for i, in := range inputs {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_call","id":"c%d","name":"tool","input":%s}`, i, in))
	}
	return `{"stop_reason":"tool_call","content":[` + strings.Join(blocks, ",") + `]}`
}

// stageAgent lays out an agent's session whose driver asks p. Its key is in the
// murmur home's config.
func stageAgent(t *testing.T, p *provider) *staged { return stageAgentWith(t, p, plain) }

// stageAgentWith is stageAgent with another guest as the tool.
func stageAgentWith(t *testing.T, p *provider, tool guest) *staged {
	t.Helper()
	driver, err := modelDriver.make()
	if err != nil {
		t.Fatal(err)
	}
	s := stageGuest(t, tool, "")
	d := s.doc
	d.Kind = session.KindAgent
	d.Capsule = session.Capsule{Name: "demo", Version: "1.0.0", Artifact: "local/demo"}
	s.write("project/driver.zip", string(driver.archive))
	archive := s.file("project/driver.zip")
	gateway := 0
	sum := sha256.Sum256(driver.wasm)
	a := session.Artifact{
		Name: "local/driver", ToolName: "driver", Version: "1", Role: "driver", Kind: "wasm", Implementation: session.ImplCore,
		Origin: session.Origin{Kind: "operator"}, Archive: &archive, ManifestPath: "tools/driver/murmur.yaml", Gateway: &gateway,
		Payload: &session.Payload{Entry: "driver.wasm", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(driver.wasm))},
	}
	a.Compiled = s.form(archive.SHA256, driver.form)
	d.Artifacts = append(d.Artifacts, a)
	d.Lock.Resolved = append(d.Lock.Resolved, session.ResolvedPart{Name: a.Name, ResolvedVersion: "1", SHA256: archive.SHA256, Origin: a.Origin})
	d.Files = append(d.Files, session.StagedFile{Path: archive.Path, SHA256: archive.SHA256, Bytes: archive.Bytes, Mode: "0644"})
	runtime := d.Directories.Runtime.Path
	s.writeAt(runtime+"/tools/driver/murmur.yaml", "name: driver\nversion: '1'\nruntime: driver\n")
	s.writeAt(runtime+"/tools/skill/murmur.yaml", "name: skill\nversion: '1'\nruntime: skill\n")
	s.writeAt(runtime+"/MURMUR.md", "# demo\n\n- URL: \n")
	s.writeAt(runtime+"/task.md", "do it")
	s.setKey(testKey)
	ref := &session.CredentialRef{Name: "TEST_KEY", Source: session.FromConfig, Rereadable: true, File: filepath.Join(s.home, "config.yaml")}
	name := "demo"
	d.Gateways = []session.Gateway{{
		Artifact: a.Name, Endpoint: p.URL + "/v1", Credential: ref, Metered: true,
		Auth: session.GatewayAuth{Header: "X-Test-Key", Value: "Token {key}"},
	}}
	d.Inference = &session.Inference{
		Transport: "http", Model: "big", MaxTurns: 10, MaxOutputTokens: 1000, ToolRefresh: "compaction",
		Choices:        []session.Choice{{Name: "primary", Driver: a.Name, Model: "big", Available: true, Credential: ref}},
		Compaction:     session.Compaction{Threshold: 0.98, Model: "big"},
		SystemPrompt:   session.SystemPrompt{Text: "Be good.", SHA256: strings.Repeat("0", 64), Source: "manifest"},
		HookOutputCaps: map[string]int64{},
	}
	d.Context = &session.Context{Record: true, RecordName: &name}
	d.Task = session.Task{Written: true}
	d.ReservedToolNames = session.ReservedToolNames()
	return s
}

func (s *staged) setKey(key string) {
	s.t.Helper()
	path := filepath.Join(s.home, "config.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, "credentials: {TEST_KEY: %q}\n", key), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// driverConfig configures the driver.
func (s *staged) driverConfig(text string) {
	s.doc.Artifacts[len(s.doc.Artifacts)-1].ConfigJSON = &text
}

// tool is the staged tool "tool".
func (s *staged) limits(l policy.Limits) { s.doc.Policy.Limits = l }

// everything is the text of every file beneath the test's directory but those a
// key may stand in, and what was said.
func (s *staged) everything(l launched) map[string]string {
	s.t.Helper()
	all := map[string]string{"standard error": l.stderr, "the document": s.document()}
	if l.outcome != nil && l.outcome.Err != nil {
		text, _ := json.Marshal(l.outcome.Err)
		all["the error"] = string(text) + l.outcome.Err.Error()
	}
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(s.home, "config.yaml") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			s.t.Error(err)
		}
		all[path] = string(text)
		return nil
	})
	return all
}
