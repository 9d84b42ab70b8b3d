package launch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
)

// SES-102, SES-103, SES-118 to SES-121, SES-131, SES-133, SES-134, SES-262,
// TRC-12, TRC-13, TRC-18, TRC-34, TRC-35, TRC-84, WIT-52, TOL-26
func TestLaunchRunsAScriptCapsule(t *testing.T) {
	s := stage(t, `[
		{"do":"print","text":"hello"},
		{"do":"stderr","text":"a note\n"},
		{"do":"invoke","name":"tool","text":"{\"do\":\"print\",\"text\":\"from the tool\"}"},
		{"do":"invoke","name":"skill"},
		{"do":"invoke","name":"nobody"},
		{"do":"list"},
		{"do":"write","name":"made","text":"x"}]`)
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Err != nil {
		t.Fatalf("refused %v, ended %v\n%s", l.err, l.outcome, l.stderr)
	}
	o := l.outcome
	if o.Ending != "ok" || o.Result != "out/result.txt" || o.ToolCalls != 2 || o.SessionID != s.doc.SessionID || o.RecordsDir != s.doc.Directories.Records.Path {
		t.Errorf("outcome %+v", o)
	}
	for _, want := range []string{
		"print: hello\n", `"data":"from the tool"`, `"data":"# how\n"`, "error: tool nobody: denied", "the capsule declares no tool \"nobody\"; it declares skill, tool",
		"list: [{local/skill local wasm} {local/tool 1 wasm}]",
	} {
		if got := s.records("out/result.txt"); !strings.Contains(got, want) {
			t.Errorf("the result lacks %q:\n%s", want, got)
		}
	}
	if !strings.Contains(l.stderr, "print: hello\n") || !strings.Contains(l.stderr, "a note\n") {
		t.Errorf("standard error is %q", l.stderr)
	}
	if got := s.types(); got != "session_start tool_call skill_call tool_call session_end" {
		t.Errorf("trace %s", got)
	}
	lines := s.trace()
	for i, l := range lines {
		if i > 0 && (l.Parent == nil || *l.Parent != lines[0].ID) {
			t.Errorf("line %d hangs from %v", i+1, l.Parent)
		}
	}
	if end := lines[len(lines)-1]; end.ExitStatus != "ok" || end.ToolCalls != 2 {
		t.Errorf("session_end %+v", end)
	}
	if !slices.Equal(lines[0].Declared, []string{"skill", "tool"}) {
		t.Errorf("tools_declared %q", lines[0].Declared)
	}
	if st := l.start; st == nil || st.URL != "" || st.SessionID != s.doc.SessionID || st.PID != os.Getpid() {
		t.Errorf("announced %+v", st)
	}
	if _, err := os.Stat(filepath.Join(s.work, "made")); err != nil {
		t.Error(err)
	}
	for _, gone := range []string{s.doc.Directories.Session.Path, filepath.Join(s.home, "running", s.doc.SessionID+".json")} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s was left", gone)
		}
	}
	if s.records("trace.jsonl.seal") == "" {
		t.Error("the trace has no seal")
	}
	// A session is launched once.
	if again := s.launch(context.Background()); diag.CodeOf(again.err) != "E-STG-103" {
		t.Errorf("launched again: %v", again.err)
	}
}

// SES-119, SES-195, DIA-79, WIT-32, WIT-64, WIT-52
func TestLaunchTellsHowACapsuleEnded(t *testing.T) {
	for _, c := range []struct {
		name, steps string
		limits      func(*session.Document)
		says        string
	}{
		{"exit", `[{"do":"exit","n":3}]`, nil, "exited with status 3"},
		{"panic", `[{"do":"panic","text":"boom"}]`, nil, "exited with status 2"},
		{"deadline", `[{"do":"spin"}]`, func(d *session.Document) { d.Policy.Limits.DeadlineSeconds = 1 }, "passed its deadline of 1s (capabilities.limits.deadline_seconds)"},
		{"memory", `[{"do":"alloc","n":200}]`, func(d *session.Document) { d.Policy.Limits.MemoryBytes = 64 << 20 }, "reached capabilities.limits.memory_bytes (67108864 bytes)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stage(t, c.steps)
			if c.limits != nil {
				c.limits(s.doc)
			}
			begin := time.Now()
			l := s.launch(context.Background())
			if l.err != nil {
				t.Fatal(l.err)
			}
			err := l.outcome.Err
			if l.outcome.Ending != "failed" || err == nil || err.Code != "E-RUN-040" || err.Names["code"] != "E-RUN-001" ||
				!strings.Contains(err.Message, "E-RUN-001: local/demo@1.0.0: ") || !strings.Contains(err.Message, c.says) {
				t.Errorf("ended %+v\n%s", l.outcome, l.stderr)
			}
			if strings.Contains(err.Message, "goroutine") {
				t.Errorf("the message repeats standard error: %s", err.Message)
			}
			if d := time.Since(begin); d > 60*time.Second {
				t.Errorf("it took %s", d)
			}
			if lines := s.trace(); s.types() != "session_start session_end" || lines[1].ExitStatus != "failed" {
				t.Errorf("trace %s: %+v", s.types(), lines)
			}
		})
	}
}

// TOL-29, TOL-45, TRC-44, WIT-46 to WIT-48: a tool that ends badly is an error
// of its call and not of the capsule.
func TestLaunchSurvivesItsTools(t *testing.T) {
	s := stage(t, `[
		{"do":"invoke","name":"tool","text":"{\"do\":\"alloc\",\"n\":200}"},
		{"do":"invoke","name":"tool","text":"{\"do\":\"exit\",\"n\":4}"},
		{"do":"invoke","name":"tool","text":"{\"do\":\"raw\",\"text\":\"no json\"}"},
		{"do":"invoke","name":"tool","text":"{\"do\":\"what\"}"}]`)
	s.doc.Policy.Limits.MemoryBytes = 64 << 20
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Ending != "ok" {
		t.Fatalf("%v, %+v\n%s", l.err, l.outcome, l.stderr)
	}
	want := []string{
		"E-RUN-001: local/tool@1: the guest reached capabilities.limits.memory_bytes (67108864 bytes)",
		"E-RUN-001: local/tool@1: the guest exited with status 4",
		"E-RUN-001: local/tool@1: the guest's output is not a result",
		"", // it ran, and says itself that it failed
	}
	for _, l := range s.trace() {
		if l.Type != "tool_call" {
			continue
		}
		if l.Status != "error" || !strings.HasPrefix(l.Error, want[0]) || (want[0] == "") != (l.Error == "") {
			t.Errorf("line %+v, want the error %q", l, want[0])
		}
		want = want[1:]
	}
	if len(want) > 0 {
		t.Errorf("no line for %q", want)
	}
	if got := s.types(); got != "session_start tool_call tool_call tool_call tool_call session_end" {
		t.Errorf("trace %s", got)
	}
}

// CON-261, WIT-32: time in a tool counts for the capsule that waits for it, so a
// tool that hangs is the end of both, and both are in the trace.
func TestLaunchEndsACapsuleWhoseToolHangs(t *testing.T) {
	s := stage(t, `[{"do":"invoke","name":"tool","text":"{\"do\":\"spin\"}"}]`)
	s.doc.Policy.Limits.DeadlineSeconds = 3
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Ending != "failed" || !strings.Contains(l.outcome.Err.Message, "local/demo@1.0.0: the call passed its deadline of 3s") {
		t.Fatalf("%v, %+v", l.err, l.outcome)
	}
	lines := s.trace()
	if call := lines[len(lines)-2]; call.Type != "tool_call" || call.Status != "error" || !strings.HasPrefix(call.Error, "E-RUN-001: local/tool@1: ") {
		t.Errorf("trace %s: %+v", s.types(), call)
	}
}

// DIA-159: a session whose running record can not be written runs, and it is
// said what that means.
func TestLaunchWithoutARunningRecord(t *testing.T) {
	s := stage(t, `[{"do":"print"}]`)
	if err := os.RemoveAll(filepath.Join(s.home, "running")); err != nil {
		t.Fatal(err)
	}
	s.writeAt(filepath.Join(s.home, "running"), "in the way")
	var warned []diag.Warning
	s.warn = func(w diag.Warning) { warned = append(warned, w) }
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Ending != "ok" {
		t.Fatalf("%v %+v", l.err, l.outcome)
	}
	if len(warned) != 1 || warned[0].Code != "W-SEC-023" || !strings.Contains(warned[0].Message, filepath.Join(s.home, "running")) || !strings.Contains(warned[0].Message, "nothing but its URL") {
		t.Errorf("warned %+v", warned)
	}
}
