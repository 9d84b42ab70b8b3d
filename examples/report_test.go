package examples

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepoReport builds the example as build.sh does, in a copy, and runs it
// over a small project: the report says what is there, and the trace who said
// it.
func TestRepoReport(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	env := commands(t, root)
	dir := t.TempDir()
	run := func(dir, script string, stdin []byte) string {
		t.Helper()
		cmd := exec.Command("sh", "-euc", script)
		var stdout, stderr bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, env, bytes.NewReader(stdin), &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s%s", script, err, &stdout, &stderr)
		}
		return stdout.String()
	}
	capsule := filepath.Join(dir, "repo-report")
	run(dir, "cp -r "+filepath.Join(root, "examples", "repo-report")+" . && rm -rf repo-report/build repo-report/.murmur repo-report/murmur.lock", nil)
	run(dir, "go work init && go work use "+filepath.Join(root, "lib")+" && go mod init example.com/copy && go work use .", nil)
	run(capsule, "./build.sh", nil)

	project := filepath.Join(dir, "project")
	for name, text := range map[string]string{
		"main.go":          "package main\n\n// TODO(ana): say more\nfunc main() {\n\tprintln(\"hi\")\n}\n",
		"sub/x.c":          "/* FIXME: leaks */\nint f(int a) {\n  return a;\n}\n",
		"vendor/v/v.go":    "package v\n// TODO not ours\n",
		".hidden/secret":   "# TODO no\n",
		"picture.png":      "\x89PNG\x00// TODO no\n",
		"sub/caf\u00e9.py": "# XXX \u00fc\ndef f():\n    pass\n",
	} {
		path := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	document := run(capsule, "mur-stage --workdir "+project, nil)
	out := run(dir, "mur-launch", []byte(document))
	var end struct {
		Ending     string `json:"ending"`
		RecordsDir string `json:"records_dir"`
		Result     string `json:"result"`
		ToolCalls  int    `json:"tool_calls"`
	}
	if err := json.Unmarshal([]byte(out), &end); err != nil || strings.Count(out, "\n") != 1 {
		t.Fatalf("%v in %q", err, out)
	}
	if end.Ending != "ok" || end.ToolCalls != 2 {
		t.Errorf("ended %s", out)
	}
	for _, path := range []string{filepath.Join(project, "out", "report.md"), filepath.Join(end.RecordsDir, end.Result)} {
		report, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"3 files, 13 lines,", "| Go | 1 | 6 | 46 % |", "| C | 1 | 4 | 31 % |", "| Python | 1 | 3 | 23 % |",
			"- `main.go:4` main, 3 lines", "- `sub/x.c:2` f, 3 lines", "- `sub/caf\u00e9.py:2` f, 2 lines",
			"- `main.go:3` TODO (ana): say more", "- `sub/x.c:1` FIXME leaks */", "- `sub/caf\u00e9.py:1` XXX \u00fc", "3 shown, 0 left out.",
		} {
			if !strings.Contains(string(report), want) {
				t.Errorf("%s lacks %q:\n%s", path, want, report)
			}
		}
	}
	events := run(project, "mur-trace filter -r @1 .event_type", nil)
	if got := strings.Join(strings.Fields(events), " "); got != "session_start tool_call tool_call skill_call session_end" {
		t.Errorf("trace %s", got)
	}
}

// TestTodoScanIsBuiltFromItsSource compares what the checked-in component was
// built from with the sources beside it.
func TestTodoScanIsBuiltFromItsSource(t *testing.T) {
	dir := filepath.Join("repo-report", "tools", "todo-scan")
	h := sha256.New()
	for _, name := range []string{"todo-scan.c", "wasi.h", "world.wit"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		h.Write(text)
	}
	want, err := os.ReadFile(filepath.Join(dir, "todo-scan.wasm.sources"))
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != strings.TrimSpace(string(want)) {
		t.Error("todo-scan.wasm was built from other sources: run repo-report/tools/todo-scan/rebuild.sh")
	}
	info, err := os.Stat(filepath.Join(dir, "todo-scan.wasm"))
	if err != nil || info.Size() > 100<<10 {
		t.Errorf("todo-scan.wasm: %v, %v", info, err)
	}
}
