package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/murtest/provider"
)

// bench is a copy of the drivers and the examples, built as their build.sh do,
// and a small project under version control to ask about.
type bench struct {
	t       *testing.T
	env     []string
	capsule string // the folder of repo-agent
	project string
}

func newBench(t *testing.T) *bench {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := &bench{t: t, env: commands(t, root), capsule: filepath.Join(dir, "examples", "repo-agent"), project: filepath.Join(dir, "project")}
	b.run(dir, "cp -r "+filepath.Join(root, "drivers")+" "+filepath.Join(root, "examples")+" . && rm -rf drivers/build examples/*/build examples/*/.murmur examples/*/murmur.lock", nil)
	b.run(dir, "go work init && go work use "+filepath.Join(root, "lib")+" ./drivers ./examples", nil)
	b.run(b.capsule, "./build.sh", nil)
	for name, text := range map[string]string{
		"main.go":   "package main\n\nimport \"net/http\"\n\n// TODO(ana): say more\nfunc main() {\n\thttp.Get(\"x\")\n}\n",
		"sub/x.c":   "/* FIXME: leaks */\nint f(int a) {\n  return a;\n}\n",
		"README.md": "nothing\n",
	} {
		path := filepath.Join(b.project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.run(b.project, "git init -q . && git add . && git -c user.name=ana -c user.email=ana@example.com commit -qm 'Begin the project'", nil)
	return b
}

func (b *bench) run(dir, script string, stdin []byte, env ...string) string {
	b.t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, append(b.env, env...), bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		// E-CAP-003: no sealed on this host; E-RUN-012: nothing that bounds a
		// session's processes.
		for _, code := range []string{"E-CAP-003", "E-RUN-012"} {
			if bytes.Contains(stderr.Bytes(), []byte(code)) {
				b.t.Skipf("this host lacks what sealed commands need: %s", &stderr)
			}
		}
		b.t.Fatalf("%s: %v\n%s%s", script, err, &stdout, &stderr)
	}
	return stdout.String()
}

// session is how one ended.
type ended struct {
	Ending     string `json:"ending"`
	RecordsDir string `json:"records_dir"`
	ToolCalls  int    `json:"tool_calls"`
	result     string
	events     string
}

// ask stages and launches the capsule with a manifest.
func (b *bench) ask(manifest string, env ...string) (e ended) {
	b.t.Helper()
	document := b.run(b.capsule, "mur-stage --manifest "+manifest+" --workdir "+b.project, nil, env...)
	out := b.run(b.capsule, "mur-launch --json --task 'What is here?'", []byte(document), env...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil {
		b.t.Fatalf("%v in %s", err, out)
	}
	result, err := os.ReadFile(filepath.Join(e.RecordsDir, "out", "result.txt"))
	if err != nil {
		b.t.Fatal(err)
	}
	e.result = string(result)
	e.events = strings.Join(strings.Fields(b.run(b.capsule, "mur-trace filter -r "+e.RecordsDir+" .event_type", nil)), " ")
	return e
}

const wantEvents = "session_start task_start inference tool_call tool_call inference tool_call shell tool_call shell inference task_end session_end"

// TestRepoAgent runs the example as it is: several turns, tools in Go and in C,
// commands, and an answer made of what they said.
func TestRepoAgent(t *testing.T) {
	b := newBench(t)
	e := b.ask("murmur.yaml")
	if e.Ending != "ok" || e.ToolCalls != 4 || e.events != wantEvents {
		t.Errorf("ended %+v", e)
	}
	for _, want := range []string{
		"3 files with 13 lines, most of them Go.\n", "The longest function is main (main.go:6, 3 lines).\n",
		"Marks were looked for in 3 files; found: [{\"file\":\"main.go\",", "\"kind\":\"FIXME\"",
		"Stdout:\n./main.go\n", " Begin the project\n",
	} {
		if !strings.Contains(e.result, want) {
			t.Errorf("the answer lacks %q:\n%s", want, e.result)
		}
	}

	// The same capsule with each real driver, by way of providers that speak as
	// the real ones do.
	manifest, err := os.ReadFile(filepath.Join(b.capsule, "murmur.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.run(b.capsule, "mur-lock pin local/anthropic@0.1.0 && mur-lock pin local/openai@0.1.0", nil)
	const key = "sk-never-seen-4f1c"
	for _, wire := range []provider.Wire{provider.Anthropic, provider.OpenAI} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream=%v", wire, stream), func(t *testing.T) {
				b := *b
				b.t = t
				server, err := provider.Start("", provider.Options{Wire: wire, Key: key, Pieces: 5, Script: []provider.Reply{
					{Thinking: "Where to begin?", Text: "I look.", Calls: []provider.Call{{Name: "code-stats"}, {Name: "todo-scan"}}},
					{Fault: provider.RateLimited},
					{Calls: []provider.Call{{Name: "grep", Input: json.RawMessage(`{"command":"-rl net/http ."}`)}, {Name: "git", Input: json.RawMessage(`{"command":"log --oneline"}`)}}},
					{Text: "Two files \u2014 and one change."},
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer server.Close()
				path := filepath.Join(b.capsule, fmt.Sprintf("%s-%v.yaml", wire, stream))
				text := withDriver(t, string(manifest), string(wire), server.Base(), stream)
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				e := b.ask(filepath.Base(path), "PROVIDER_KEY="+key)
				if e.Ending != "ok" || e.result != "Two files \u2014 and one change." || e.events != wantEvents {
					t.Errorf("ended %+v", e)
				}
				requests := server.Requests()
				for _, r := range requests {
					if r.Refusal != "" || r.Stream != stream {
						t.Errorf("stream=%v, refused: %s\n%s", r.Stream, r.Refusal, r.Body)
					}
				}
				if len(requests) != 4 || server.Left() != 0 {
					t.Fatalf("%d requests, %d answers left", len(requests), server.Left())
				}
				last := string(requests[3].Body)
				for _, want := range []string{"marks", "./main.go", "Begin the project", "untrusted-content"} {
					if !strings.Contains(last, want) {
						t.Errorf("the last request lacks %q: %s", want, last)
					}
				}
				noKey(t, e.RecordsDir, key)
			})
		}
	}
}

// withDriver puts a driver in the place of replay.
func withDriver(t *testing.T, manifest, driver, endpoint string, stream bool) string {
	t.Helper()
	head, rest, ok := strings.Cut(manifest, "  # What answers in place of a model")
	_, tail, ok2 := strings.Cut(rest, "# What is not granted")
	if !ok || !ok2 {
		t.Fatal("the manifest of repo-agent has changed its form")
	}
	head = strings.Replace(head, "driver: { artifact: local/replay }", fmt.Sprintf("driver: { artifact: local/%s, config: { stream: %v } }", driver, stream), 1)
	return head + fmt.Sprintf(`
  - name: local/%s
    version: 0.1.0
    runtime: driver
    gateway: { endpoint: %q, api_key: "${PROVIDER_KEY}" }

#`, driver, endpoint) + tail
}

// noKey looks for the key in everything a session left.
func noKey(t *testing.T, dir, key string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(key)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
