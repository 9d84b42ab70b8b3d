package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/workfs"
)

const grants = `{"declared_containment":"scoped","achieved_containment":"sealed","workdir_exec":false,"userns_grant":null}`

type session struct {
	t       *testing.T
	dir     string
	records *workfs.Root
	log     *Log
	own     *Owner
	now     time.Time
}

func newSession(t *testing.T, mode Capture) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir(), now: time.UnixMilli(1764500000000)}
	var err error
	if s.records, err = workfs.OpenRoot(s.dir, workfs.Options{Ephemeral: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.records.Close() })
	s.log, err = Create(s.records, Options{SessionID: ids.New(ids.Session), Capture: mode, Now: func() time.Time { return s.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.log.Close() })
	s.own = s.log.Owner("http")
	return s
}

func (s *session) start(prompt []byte) {
	s.t.Helper()
	if err := s.own.Start(SessionStart{CapsuleName: "demo", CapsuleVersion: "1.0.0", EffectiveGrants: Raw(grants)}, prompt); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) write(p Payload) string {
	s.t.Helper()
	id, err := s.own.Write(p)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// lines returns the file's lines, checks framing and the chain, and decodes
// them.
func (s *session) lines() []map[string]any {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, FileName))
	if err != nil {
		s.t.Fatal(err)
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		s.t.Fatal("the last line has no newline")
	}
	var out []map[string]any
	prev := Genesis
	for line := range bytes.Lines(data) {
		line = line[:len(line)-1]
		got, ok := PrevHash(line)
		if !ok || got != prev {
			s.t.Fatalf("prev_hash %q, want %q, in %s", got, prev, line)
		}
		prev = LineHash(line)
		var compact bytes.Buffer
		if err := json.Compact(&compact, line); err != nil || !bytes.Equal(compact.Bytes(), line) {
			s.t.Fatalf("not compact: %s (%v)", line, err)
		}
		var m map[string]any
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&m); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// TRC-1, TRC-2, TRC-3, TRC-107, TRC-108: the framing keys in order, prev_hash
// last, the chain from genesis.
func TestLineFraming(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	s.write(SessionEnd{ExitStatus: "ok"})
	lines := s.lines()
	if len(lines) != 2 || lines[0]["parent_id"] != nil || lines[1]["parent_id"] != lines[0]["event_id"] {
		t.Fatalf("%v", lines)
	}
	data, _ := os.ReadFile(filepath.Join(s.dir, FileName))
	if !strings.HasPrefix(string(data), `{"event_type":"session_start","event_id":"evt_`) {
		t.Fatalf("%s", data)
	}
	for i, m := range lines {
		id, _ := m["event_id"].(string)
		if err := ids.Check(ids.Event, id); err != nil {
			t.Error(err)
		}
		if m["session_id"] != s.log.opt.SessionID || m["timestamp"] != json.Number("1764500000000") {
			t.Errorf("line %d: %v", i, m)
		}
	}
	if fi, err := os.Stat(filepath.Join(s.dir, FileName)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", fi.Mode(), err)
	}
}

// TRC-84, SES-102: a trace is created once.
func TestCreateRefusesASecondTrace(t *testing.T) {
	s := newSession(t, Meta)
	if _, err := Create(s.records, Options{SessionID: "x"}); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("%v", err)
	}
	if fi, err := os.Stat(filepath.Join(s.dir, FileName)); err != nil || fi.Size() != 0 {
		t.Fatal("a launch that failed before session_start left lines")
	}
}

// TRC-9, TRC-10, TRC-11: the tree, through every node.
func TestEventTree(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	session := s.own.SessionNode()
	want := map[string]string{}
	put := func(p Payload, parent string) string {
		t.Helper()
		id := s.write(p)
		want[id] = parent
		return id
	}
	put(A2ATaskReceived{TaskID: "tsk_1"}, session)
	put(Compaction{}, session) // neither task nor turn
	task := put(TaskStart{TaskID: "tsk_1"}, session)
	put(ContextSeed{Outcome: "seeded"}, task)
	put(ShellDetachUnrecorded{}, task) // no turn yet
	turn := put(Inference{Decision: "tool_call"}, task)
	put(ToolCall{Status: "ok"}, turn)
	put(Inference{Decision: "text", Origin: HookOrigin("judge")}, turn) // a hook's own call
	put(Shell{Command: Raw(`["ls"]`)}, turn)
	put(CallDenied{Event: "on-shell"}, turn)
	turn2 := put(Inference{Decision: "end_turn", Turn: 1}, task)
	put(SkillCall{Status: "ok"}, turn2)
	put(HarnessNote{}, task)
	plans := s.log.Appender()
	plan := plans.Append(PlanStart{PlanID: "p"})
	want[plan] = session
	for _, p := range []Payload{PlanStepStart{PlanID: "p"}, PlanStep{PlanID: "p"}, PlanEnd{PlanID: "p"}} {
		want[plans.Under(plan).Append(p)] = plan
	}
	want[plans.Append(PlanEnd{Outcome: "failed"})] = session // never parsed
	put(TaskReopened{TaskID: "tsk_1", ReopenNumber: 1}, task)
	put(TaskEnd{TaskID: "tsk_1", ExitStatus: "ok"}, task)
	put(CallDeadline{}, session) // the nodes are cleared
	put(SessionEnd{ExitStatus: "ok"}, session)
	want[s.log.Appender().Append(ResourceRead{Outcome: "ok"})] = session // TRC-62
	seen := map[string]bool{session: true}
	for _, m := range s.lines()[1:] {
		id := m["event_id"].(string)
		if m["parent_id"] != want[id] {
			t.Errorf("%s hangs from %v, want %s", m["event_type"], m["parent_id"], want[id])
		}
		if parent, _ := m["parent_id"].(string); !seen[parent] {
			t.Errorf("%s: its parent lies not earlier", m["event_type"])
		}
		seen[id] = true
	}
}

// TRC-18, TRC-20, TRC-77, TRC-97, TRC-98: the owner counts.
func TestCounters(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	s.write(Inference{Decision: "text", Origin: "hook:x", InputTokens: new(int64(7))})
	s.write(TaskStart{TaskID: "tsk_1"})
	s.write(Inference{Decision: "tool_call", InputTokens: new(int64(100)), OutputTokens: new(int64(10))})
	s.write(ToolCall{Status: "error"})
	s.write(Shell{Command: Raw(`"ls"`), ExitCode: -1})
	s.write(Inference{Decision: "error", InputTokens: new(int64(1000))}) // a failed call is no turn
	s.write(ShellDetached{Command: Raw(`"ls"`)})
	s.write(SkillCall{Status: "ok"})
	s.write(Inference{Decision: "end_turn", OutputTokens: new(int64(1))}) // no input count is 0
	s.now = s.now.Add(1500 * time.Millisecond)
	s.write(TaskEnd{TaskID: "tsk_1", ExitStatus: "ok", ReopenCount: 2})
	s.now = s.now.Add(time.Second)
	s.write(SessionEnd{ExitStatus: "ok"})
	lines := s.lines()
	check := func(m map[string]any, want map[string]string) {
		t.Helper()
		for k, v := range want {
			if m[k] != json.Number(v) {
				t.Errorf("%s: %s is %v, want %s", m["event_type"], k, m[k], v)
			}
		}
	}
	check(lines[len(lines)-2], map[string]string{"turns": "2", "input_tokens": "100", "output_tokens": "11",
		"tool_calls": "1", "shell_calls": "2", "duration_ms": "1500", "reopen_count": "2"})
	check(lines[len(lines)-1], map[string]string{"total_turns": "3", "total_input_tokens": "107", "total_output_tokens": "11",
		"total_tool_calls": "1", "total_shell_calls": "2", "duration_ms": "2500"})
	if got := (Totals{3, 107, 11, 1, 2}); s.own.Totals() != got {
		t.Errorf("%+v", s.own.Totals())
	}
}

// TRC-78, TRC-80: writers of one process and of several handles keep one chain.
func TestManyWritersKeepOneChain(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	other, err := Reopen(s.records, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.opt.SessionID != s.log.opt.SessionID {
		t.Fatalf("%q", other.opt.SessionID)
	}
	const each = 200
	var wg sync.WaitGroup
	for _, l := range []*Log{s.log, s.log, other, other} {
		a := l.Appender()
		wg.Go(func() {
			for range each {
				if a.Append(ResourceList{Outcome: "ok"}) == "" {
					t.Error("dropped")
				}
			}
		})
	}
	wg.Go(func() {
		for range each {
			if _, err := s.own.Write(Inference{Decision: "text"}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if n := len(s.lines()); n != 5*each+1 {
		t.Fatalf("%d lines", n)
	}
}

// TRC-82, TRC-83, DIA-85: what a failed write means to whom.
func TestFailedWrites(t *testing.T) {
	s := newSession(t, Meta)
	var survived []error
	s.log.opt.Survived = func(err error) { survived = append(survived, err) }
	s.start(nil)
	s.log.Close()
	if _, err := s.own.Write(ToolCall{Status: "ok"}); diag.CodeOf(err) != "E-RUN-007" || !strings.Contains(err.Error(), "a line of the trace") || !strings.Contains(err.Error(), "/trace.jsonl: ") {
		t.Fatalf("%v", err)
	}
	for _, p := range []Payload{Compaction{}, CompactionDeclined{}, ContextSeed{}, Retention{}} {
		if id, err := s.own.Write(p); id != "" || err != nil {
			t.Errorf("%s: %q, %v", p.Type(), id, err)
		}
	}
	if id := s.log.Appender().Append(ResourceRead{}); id != "" || len(survived) != 5 {
		t.Fatalf("%q, %v", id, survived)
	}
	if (Appender{}).Append(ResourceRead{}) != "" {
		t.Error("the zero appender writes")
	}
}

// TRC-81: the file is synced after session_start, each task_end and
// session_end, and after nothing else.
func TestDurability(t *testing.T) {
	s := newSession(t, Meta)
	syncs := 0
	s.log.sync = func() error { syncs++; return nil }
	s.start(nil)
	if syncs != 1 {
		t.Fatalf("%d after session_start", syncs)
	}
	s.write(TaskStart{TaskID: "tsk_1"})
	s.write(Inference{Decision: "text"})
	s.log.Appender().Append(ResourceRead{})
	if syncs != 1 {
		t.Fatalf("%d before task_end", syncs)
	}
	s.write(TaskEnd{TaskID: "tsk_1", ExitStatus: "ok"})
	s.write(SessionEnd{ExitStatus: "ok"})
	if syncs != 3 {
		t.Fatalf("%d after session_end", syncs)
	}
	s.log.sync = func() error { return errors.New("no") }
	if _, err := s.own.Write(TaskEnd{TaskID: "tsk_1", ExitStatus: "ok"}); diag.CodeOf(err) != "E-RUN-007" {
		t.Fatalf("%v", err)
	}
}

// TRC-7: what the launch masks never reaches the file, and the chain covers the
// line as it was written.
func TestMask(t *testing.T) {
	s := newSession(t, Content)
	s.log.opt.Mask = func(line []byte) []byte { return bytes.ReplaceAll(line, []byte("hunter2"), []byte("[secret]")) }
	s.start(nil)
	s.write(ToolCall{Status: "ok", Input: Raw(`{"password":"hunter2"}`), Output: new("hunter2 it is")})
	s.log.Appender().Append(ResourceRead{Path: "hunter2"})
	for _, m := range s.lines() {
		text, err := json.Marshal(m)
		if err != nil || bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%s", text)
		}
	}
}
