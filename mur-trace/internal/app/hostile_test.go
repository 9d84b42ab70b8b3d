package app

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/trace/tracegen"
)

// runIn runs the command in a directory and returns its status and streams.
func runIn(dir string, stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = Run(context.Background(), cli.Env{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Args: args,
		Environ: []string{"MURMUR_HOME=" + filepath.Join(dir, "murmur"), "HOME=" + dir}, Dir: dir, Now: time.Now})
	return status, out.String(), errs.String()
}

// everyEvent is a trace with each event once.
func everyEvent(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	script := "session_start\ntask_start\ninference {\"task_id\":\"tsk_1\",\"decision\":\"tool_call\"}\ntool_call {\"state_effect\":\"read\"}\ntool_call {\"state_effect\":\"read\"}\n"
	for _, t := range trace.Types() {
		if t != "session_start" && t != "session_end" && t != "task_start" {
			script += string(t) + "\n"
		}
	}
	if _, err := tracegen.Script(dir, script+"session_end\n"); err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, trace.FileName))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

var everyCommand = [][]string{
	{"show", "-"}, {"show", "-", "--json"}, {"show", "-", "--tree", "--json"}, {"steps", "-", "--verbose"}, {"diff", "t.jsonl", "t.jsonl", "--json"},
	{"report", "./t.jsonl", "--json"}, {"filter", "-", "."}, {"filter", "-", "[.event_type, $session.model, $index]"}, {"tail", "-", "-n", "1000"},
	{"verify", "./t.jsonl/../", "--invariants", "--blobs", "--json"}, {"why", ":3", "-", "--json"}, {"html", "-"}, {"export", "--otel", "-"},
}

// Whatever a trace holds, no command fails inside, and what is JSON is JSON
// (TRC-86 to TRC-92).
func checkHostile(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range everyCommand {
		status, stdout, stderr := runIn(dir, text, args...)
		if strings.Contains(stderr, "internal failure") {
			t.Fatalf("%q: %s", args, stderr)
		}
		if args[len(args)-1] == "--json" && status == 0 && !json.Valid([]byte(stdout)) {
			t.Fatalf("%q prints no JSON: %.300s", args, stdout)
		}
		if args[0] == "show" && args[len(args)-1] == "-" && strings.ContainsAny(stdout, "\x1b\x00") {
			t.Fatalf("%q: control characters reach the output", args)
		}
	}
}

func TestHostileTraces(t *testing.T) {
	whole := everyEvent(t)
	checkHostile(t, whole)
	for _, cut := range []int{1, len(whole) / 3, len(whole) / 2, len(whole) - 1} {
		checkHostile(t, whole[:cut])
		checkHostile(t, whole[cut:])
	}
	for from, to := range map[string]string{
		`"turn":0`: `"turn":9223372036854775807`, `"input":{"path":"a.txt"}`: `"input":[[[{"a":"\u001b[31m\u0000"}]]]`,
		`"task_id":"tsk_1"`: `"task_id":"é"`, `"parent_id":"evt_`: `"parent_id":"xxx_`, `"duration_ms":`: `"duration_ms":9223372036854775`,
		`"command":["true"]`: `"command":{"a":null}`, `"system_prompt_source":`: `"system_prompt_sha256":"ab","system_prompt_source":`, `"event_id"`: `"other_id"`,
		`"effective_grants":{`: `"effective_grants":{"\u003c":"</script>",`, "\n": "\r\n", `":`: `" : `,
	} {
		checkHostile(t, strings.ReplaceAll(whole, from, to))
	}
}

func FuzzHostileTraces(f *testing.F) {
	whole := everyEvent(f)
	f.Add(whole)
	for line := range strings.Lines(whole) {
		f.Add(line)
	}
	f.Fuzz(checkHostile)
}

// TRC-146, TRC-149, TRC-154: every section of show, in order, when it has
// something to say; a task row.
func TestEverySection(t *testing.T) {
	text := everyEvent(t)
	_, out, _ := runIn(t.TempDir(), text, "show", "-")
	at := -1
	for _, title := range []string{"Session", "Hook failures", "Retention", "Context", "Turns", "Tokens", "Tool calls", "Redundant calls", "Skill calls",
		"Pulled at runtime", "Shell calls", "Compaction", "Cancelled", "Rejected", "Failed", "Reopens", "Denied calls", "Control", "Resource plane",
		"Peer files", "Delegations", "Plan", "A2A", "Harness", "Tasks"} {
		i := strings.Index("\n"+out, "\n"+title+"\n")
		if title == "Tasks" && i < 0 {
			break // one task only; see below
		}
		if i <= at {
			t.Errorf("%s stands at %d, after %d", title, i, at)
		}
		at = i
	}
	_, js, _ := runIn(t.TempDir(), text, "show", "-", "--json")
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(js), &doc); err != nil {
		t.Fatal(err)
	}
	for key, v := range doc {
		if string(v) == "[]" {
			t.Errorf("%s is empty", key)
		}
	}
	dir := t.TempDir()
	if _, err := tracegen.Script(dir, "session_start\ntask_start {\"task_id\":\"tsk_0190a1b2c3d4\"}\ninference\ntask_end {\"task_id\":\"tsk_0190a1b2c3d4\",\"reopen_count\":2}\ntask_start {\"task_id\":\"tsk_2\"}\n"); err != nil {
		t.Fatal(err)
	}
	_, out, _ = runIn(dir, "", "show", "./trace.jsonl")
	if !strings.Contains(out, "1.  tsk_0190a1b2 1 turns, tokens 100 in 10 out, ok, 0ms, 2 reopens\n") || !strings.Contains(out, "2.  tsk_2        — turns, tokens — in — out, —\n") {
		t.Errorf("%s", out)
	}
}
