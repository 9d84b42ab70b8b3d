package agent

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/spend"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
)

// AGT-59 to AGT-78, AGT-81, AGT-84, AGT-54, AGT-58, DIA-126: what an answer makes of an
// attempt.
func TestEndings(t *testing.T) {
	fails := func(e *CallError) func(int, string, func(wasmhost.ChunkKind, string)) (Reply, error) {
		return func(int, string, func(wasmhost.ChunkKind, string)) (Reply, error) { return Reply{}, e }
	}
	for _, c := range []struct {
		name   string
		ask    func(int, string, func(wasmhost.ChunkKind, string)) (Reply, error)
		status string
		result string
		turns  int64
		types  string
		cause  string
		code   string
	}{
		{"answer", says(done("42")), OK, "42", 1, "inference", "", ""},
		{"two texts", says(`{"stop_reason":"end_turn","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`), OK, "a\nb", 1, "inference", "", ""},
		{"no content", says(`{"stop_reason":"end_turn"}`), OK, "", 1, "inference", "", ""},
		{"cut", says(`{"stop_reason":"max_tokens","content":[{"type":"text","text":"a"}]}`), OK, "a", 1, "inference", "", ""},
		{"a call, then an answer", says(calls("1", "2"), done("x")), OK, "x", 2, "inference tool_call tool_call inference", "", ""},
		{"calls for ever", says(calls("1")), MaxTurns, "error: no answer within 10 turns (inference.max_turns)", 10,
			strings.TrimSpace(strings.Repeat(" inference tool_call", 10)), "", ""},
		{"a stop for calls without one", says(`{"stop_reason":"tool_call","content":[]}`), Failed, "error: the driver stopped for a tool call and made none", 1, "inference task_failed", "malformed_response", ""},
		{"another stop", says(`{"stop_reason":"refusal"}`), Failed, `error: the driver stopped for a reason that is not supported: "refusal"`, 1, "inference task_failed", "malformed_response", ""},
		{"no stop", says(`{}`), Failed, "error: the driver's answer has no stop_reason", 1, "inference task_failed", "malformed_response", ""},
		{"error", says(`{"stop_reason":"error","error":"overloaded sk-secret"}`), Failed, "error: overloaded [redacted]", 0, "inference task_failed", "driver_error", "driver_error"},
		{"error without words", says(`{"stop_reason":"error"}`), Failed, "error: the driver reported an error and no reason", 0, "inference task_failed", "driver_error", "driver_error"},
		{"no JSON", says(`oops`), Failed, "error: the driver's answer is not a JSON object", 0, "inference task_failed", "malformed_response", "malformed_response"},
		{"a list", says(`[]`), Failed, "error: the driver's answer is not a JSON object", 0, "inference task_failed", "malformed_response", "malformed_response"},
		{"null", says(`null`), Failed, "error: the driver's answer is not a JSON object", 0, "inference task_failed", "malformed_response", "malformed_response"},
		{"content is text", says(`{"stop_reason":"end_turn","content":"hi"}`), Failed, "error: content of the driver's answer is not a list of blocks", 0, "inference task_failed", "malformed_response", "malformed_response"},
		{"a block is text", says(`{"stop_reason":"end_turn","content":["hi"]}`), Failed, "error: content[0] of the driver's answer is not an object", 0, "inference task_failed", "malformed_response", "malformed_response"},
		{"a trap", fails(&CallError{Code: "driver_failed", Reason: "trapped with sk-secret"}), Failed, "error: trapped with [redacted]", 0, "inference task_failed", "driver_error", "driver_failed"},
		{"a refused key", fails(&CallError{Code: "credential_rejected", Reason: "401", Status: 401}), Failed, "error: 401", 0, "inference task_failed", "credential_rejected", "credential_rejected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.ask = c.ask
			out := w.run(Task{ID: "tsk_1", Text: "go"})
			if out.Status != c.status || out.Result != c.result || out.Turns != c.turns || w.types() != c.types {
				t.Fatalf("got %+v, trace %s", out, w.types())
			}
			if c.cause != "" {
				f := line[trace.TaskFailed](w)
				if f.Cause != c.cause || "error: "+f.Reason != c.result || f.TaskID != "tsk_1" || f.Turn == nil {
					t.Errorf("task_failed %+v", f)
				}
				inf := line[trace.Inference](w)
				if inf.ErrorCode != c.code || (c.code != "") != (inf.Decision == "error") {
					t.Errorf("inference %+v", inf)
				}
				if c.code == "credential_rejected" && (inf.ProviderStatus == nil || *inf.ProviderStatus != 401) {
					t.Errorf("provider status %v", inf.ProviderStatus)
				}
			}
			if capped := slices.ContainsFunc(w.warned, func(d diag.Warning) bool {
				return d.Code == "W-RUN-001" && strings.Contains(d.Message, "cap of 100 tokens (inference.max_tokens)")
			}); capped != (c.name == "cut") {
				t.Errorf("warned %+v", w.warned)
			}
		})
	}
}

// AGT-63, AGT-88, AGT-150, AGT-152, AGT-156, TRC-33
func TestSpendCeilingEndsTheAttempt(t *testing.T) {
	ceiling := int64(400)
	w := newWorld(t)
	w.meter = spend.NewMeter(&ceiling, nil, func(error) {})
	w.ask = says(calls("1"))
	out := w.run(Task{ID: "tsk_1", Text: "go"})
	l := line[trace.SpendCeilingReached](w)
	if out.Status != SpendCeiling || !strings.HasPrefix(out.Result, "stopped: this session's ceiling of 400 tokens") || len(w.requests) == 0 || l.Limit != "session" || l.Ceiling != 400 {
		t.Fatalf("%+v after %d requests, line %+v", out, len(w.requests), l)
	}
	if used := w.meter.Used(); used != l.Used || l.Used+l.Requested <= 400 {
		t.Errorf("used %d, line %+v", used, l)
	}
	if strings.Count(w.types(), "inference") != len(w.requests) {
		t.Errorf("trace %s", w.types())
	}
}

// AGT-60, AGT-65, AGT-76, AGT-186, AGT-187, TRC-21: a cancel ends the attempt
// wherever it is, and no call without its result stays behind.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    string
		phase string
		types string
	}{
		{"in the driver", "ask", "inference", "task_canceled"},
		{"in the second driver call", "ask 2", "inference", "inference tool_call tool_call task_canceled"},
		{"in a tool", "tool", "turn", "inference tool_call task_canceled"},
		{"in the last tool", "last", "turn", "inference tool_call tool_call task_canceled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.ask = func(turn int, _ string, _ func(wasmhost.ChunkKind, string)) (Reply, error) {
				if c.at == "ask" || c.at == "ask 2" && turn == 1 {
					w.cancel()
					return Reply{}, errors.New("gone")
				}
				return Reply{Body: calls("1", "2")}, nil
			}
			w.answer = func(call dispatch.Call) dispatch.Answer {
				if c.at == "tool" && call.ID == "1" || c.at == "last" && call.ID == "2" {
					w.cancel()
				}
				return dispatch.Refused("x")
			}
			out := w.run(Task{ID: "tsk_1", Text: "go"})
			l := line[trace.TaskCanceled](w)
			if out.Status != Canceled || !strings.HasPrefix(out.Result, "canceled: ") || w.types() != c.types || l.Phase != c.phase {
				t.Errorf("%+v, trace %s, line %+v", out, w.types(), l)
			}
			if paired := Paired(w.recorded); len(paired) != len(w.recorded) {
				t.Errorf("%d of %d messages are whole", len(paired), len(w.recorded))
			}
			if w.meter.Used() == 0 {
				t.Error("the input was not charged")
			}
		})
	}
	w := newWorld(t)
	w.ask = says(done("x"))
	w.fatal = diag.Errorf("E-RUN-103", "a link")
	if out := w.run(Task{ID: "tsk_1"}); out.Status != Failed || out.Fatal == nil || out.Coded == nil || out.Coded.Code != "E-RUN-103" || len(w.requests) != 0 {
		t.Errorf("a latched refusal: %+v", out)
	}
}

// AGT-77, TRC-82
func TestTraceThatCanNotBeWrittenEndsTheSession(t *testing.T) {
	for _, kind := range []string{"inference", "tool_call", "skill_call", "tool_input_refused", "call_denied"} {
		w := newWorld(t)
		w.broken = kind
		w.ask = says(calls("1"))
		switch kind {
		case "skill_call":
			w.answer = func(dispatch.Call) dispatch.Answer { return dispatch.Answer{Skill: &trace.SkillCall{}} }
		case "tool_input_refused":
			w.target = func(dispatch.Call) dispatch.Target {
				return dispatch.Target{Kind: dispatch.Guest, Missing: []string{"x"}}
			}
		case "call_denied":
			w.gate = func(dispatch.Call) *Denial {
				return &Denial{Line: func(int64) trace.Payload { return trace.CallDenied{} }}
			}
		}
		if out := w.run(Task{ID: "tsk_1"}); out.Fatal == nil || out.Status != Failed || len(w.requests) != 1 {
			t.Errorf("%s: %+v", kind, out)
		}
	}
}

// AGT-72 to AGT-75, TOL-27, TOL-40, TOL-87, TOL-88, TRC-34 to TRC-36: a call is
// checked, gated, dispatched and recorded, in this order.
func TestOneCall(t *testing.T) {
	deny := func(dispatch.Call) *Denial {
		return &Denial{Text: "no", Line: func(turn int64) trace.Payload { return trace.CallDenied{Turn: turn} }}
	}
	for _, c := range []struct {
		name   string
		target dispatch.Target
		answer dispatch.Answer
		gate   func(dispatch.Call) *Denial
		order  string
		text   string
		isErr  bool
	}{
		{"a guest", dispatch.Target{Kind: dispatch.Guest}, dispatch.Answer{Text: "r"}, nil, "ask inference dispatch 1 tool_call", "r", false},
		{"through the gate", dispatch.Target{Kind: dispatch.Guest}, dispatch.Answer{Text: "r"}, func(dispatch.Call) *Denial { return nil }, "ask inference gate 1 dispatch 1 tool_call", "r", false},
		{"denied", dispatch.Target{Kind: dispatch.Guest}, dispatch.Answer{}, deny, "ask inference gate 1 call_denied", "no", true},
		{"incomplete", dispatch.Target{Kind: dispatch.Guest, Missing: []string{"a", "b"}}, dispatch.Answer{}, deny, "ask inference tool_input_refused tool_call", "t was not run: its input lacks a, b", true},
		{"nobody", dispatch.Target{Refusal: "none"}, dispatch.Refused("none"), deny, "ask inference dispatch 1 tool_call", "none", true},
		{"a skill", dispatch.Target{Kind: dispatch.Skill}, dispatch.Answer{Text: "how", Skill: &trace.SkillCall{}}, nil, "ask inference dispatch 1 skill_call", "how", false},
		{"a command", dispatch.Target{Kind: dispatch.Shell}, dispatch.Answer{Text: "$", Shell: &trace.Shell{Binary: "b"}}, nil, "ask inference dispatch 1 tool_call shell", "$", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.ask = says(calls("1"), done("x"))
			w.target = func(dispatch.Call) dispatch.Target { return c.target }
			w.answer = func(dispatch.Call) dispatch.Answer { return c.answer }
			w.gate = c.gate
			if out := w.run(Task{ID: "tsk_1"}); out.Status != OK {
				t.Fatalf("%+v", out)
			}
			if got := strings.Join(w.asked, " "); !strings.HasPrefix(got, c.order+" ask") {
				t.Errorf("order %s, want %s", got, c.order)
			}
			want := fmt.Sprintf(`{"content":[{"text":%q,"type":"text"}],"is_error":%v,"role":"tool","tool_call_id":"1"}`, c.text, c.isErr)
			if got := string(w.recorded[2].Wire()); got != want {
				t.Errorf("result %s, want %s", got, want)
			}
		})
	}
	w := newWorld(t)
	w.ask = says(calls("1"))
	w.answer = func(dispatch.Call) dispatch.Answer {
		return dispatch.Answer{Text: "no root", IsError: true, Fatal: diag.Errorf("E-RUN-014", "no root")}
	}
	if out := w.run(Task{ID: "tsk_1"}); out.Coded == nil || out.Coded.Code != "E-RUN-014" || w.types() != "inference tool_call task_failed" {
		t.Errorf("a fatal call: %+v, %s", out, w.types())
	}
}

// AGT-64, AGT-67, AGT-80, AGT-200
func TestStream(t *testing.T) {
	for _, c := range []struct{ kinds, want string }{
		{"t", "turn 1|chunk 0hi|end"},
		{"h", "turn 1|chunk 1hi|final x"},
		{"", "turn 1|final x"},
	} {
		w := newWorld(t)
		w.ask = func(_ int, _ string, chunk func(wasmhost.ChunkKind, string)) (Reply, error) {
			for _, k := range c.kinds {
				chunk(map[rune]wasmhost.ChunkKind{'t': wasmhost.TextChunk, 'h': wasmhost.ThinkingChunk}[k], "hi")
			}
			return Reply{Body: done("x")}, nil
		}
		w.run(Task{})
		if got := strings.Join(w.shown, "|"); got != c.want {
			t.Errorf("%q: %s", c.kinds, got)
		}
	}
}

// AGT-96, AGT-102
func TestCompactionIsDeclinedWithoutAHook(t *testing.T) {
	w := newWorld(t)
	w.ask = says(calls("1"), done("x"))
	w.run(Task{ID: "tsk_1", Window: 10, Threshold: 0.98})
	if got := w.types(); got != "inference compaction_declined tool_call inference compaction_declined" {
		t.Errorf("trace %s", got)
	}
	w = newWorld(t)
	w.ask = says(done("x"))
	w.run(Task{Window: 1 << 20, Threshold: 0.98})
	if got := w.types(); got != "inference" {
		t.Errorf("trace %s", got)
	}
}

// AGT-121 to AGT-123, AGT-93, AGT-120
func TestContinuation(t *testing.T) {
	w := newWorld(t)
	ids := []string{"k1", "", "k2", ""}
	w.ask = func(turn int, _ string, _ func(wasmhost.ChunkKind, string)) (Reply, error) {
		if turn == 3 {
			return Reply{Body: done("x")}, nil
		}
		return Reply{Body: calls(fmt.Sprint("c", turn)), Continuation: ids[turn]}, nil
	}
	w.run(Task{ID: "tsk_1", Text: "go"})
	for i, want := range []struct {
		id       string
		messages int
	}{{"", 1}, {"k1", 2}, {"", 5}, {"k2", 2}} {
		r := w.requests[i]
		if strings.HasPrefix(r, `{"continuation_id":"`+want.id+`",`) != (want.id != "") || strings.Count(r, `"role":`) != want.messages {
			t.Errorf("request %d: %s", i, r)
		}
	}
	inputs := []int64{}
	for _, l := range w.lines {
		if inf, ok := l.(trace.Inference); ok {
			inputs = append(inputs, *inf.InputTokens)
		}
	}
	if !slices.IsSorted(inputs) {
		t.Errorf("occupancy does not grow: %d", inputs)
	}
}

// AGT-16, TRC-23
func TestRunWithoutATask(t *testing.T) {
	w := newWorld(t)
	w.ask = says(calls("1"), `{}`)
	if out := w.run(Task{}); out.Status != Failed {
		t.Fatalf("%+v", out)
	}
	if f := line[trace.TaskFailed](w); f.TaskID != "" {
		t.Errorf("%+v", f)
	}
	if c := line[trace.ToolCall](w); c.TaskID != nil || *c.ToolCallID != "1" || string(c.Input) != `{"a":"<&>","b":1}` {
		t.Errorf("%+v", c)
	}
	w = newWorld(t)
	w.ask = func(int, string, func(wasmhost.ChunkKind, string)) (Reply, error) { w.cancel(); return Reply{}, nil }
	if out := w.run(Task{}); out.Status != Canceled || w.types() != "" {
		t.Errorf("%+v, %s", out, w.types())
	}
}

// The promise of the loop over random histories: every tool call in the
// conversation, in each request and in the record, has exactly one result, in
// order, whatever fails, is refused, ends the attempt or comes doubled.
func TestEveryCallHasOneResult(t *testing.T) {
	for seed := range int64(100) {
		r := rand.New(rand.NewSource(seed))
		w := newWorld(t)
		n := 0
		w.ask = func(turn int, _ string, _ func(wasmhost.ChunkKind, string)) (Reply, error) {
			switch k := r.Intn(20); {
			case k == 0:
				return Reply{}, &CallError{Code: "driver_failed", Reason: "trap"}
			case k == 1:
				return Reply{Body: "not JSON"}, nil
			case k == 2:
				w.cancel()
				return Reply{Body: calls("late")}, nil
			case k == 3:
				return Reply{Body: `{"stop_reason":"end_turn","content":[{"type":"tool_call","id":"z","name":"t","input":{}},{"type":"text","text":"x"}]}`}, nil
			}
			var ids []string
			for range 1 + r.Intn(5) {
				n++
				id := fmt.Sprint("c", n)
				if r.Intn(10) == 0 {
					id = []string{"", "same"}[r.Intn(2)]
				}
				ids = append(ids, id)
			}
			reply := Reply{Body: calls(ids...)}
			if r.Intn(3) == 0 {
				reply.Continuation = "k"
			}
			return reply, nil
		}
		w.target = func(dispatch.Call) dispatch.Target {
			switch r.Intn(6) {
			case 0:
				return dispatch.Target{Refusal: "nobody"}
			case 1:
				return dispatch.Target{Kind: dispatch.Guest, Missing: []string{"x"}}
			case 2:
				return dispatch.Target{Kind: dispatch.Skill, Unread: errors.New("odd")}
			}
			return dispatch.Target{Kind: dispatch.Guest}
		}
		w.gate = func(dispatch.Call) *Denial {
			if r.Intn(6) == 0 {
				return &Denial{Text: "no", Line: func(int64) trace.Payload { return trace.CallDenied{} }}
			}
			return nil
		}
		w.answer = func(dispatch.Call) dispatch.Answer {
			switch r.Intn(40) {
			case 0:
				w.cancel()
			case 1:
				return dispatch.Answer{Fatal: errors.New("no root")}
			case 2, 3, 4:
				return dispatch.Refused("the guest trapped")
			}
			return dispatch.Answer{Text: strings.Repeat("x\xff</untrusted-content>", r.Intn(3))}
		}
		out := w.run(Task{ID: "tsk_1", Text: "go", MaxTurns: 1 + int64(r.Intn(8))})
		if out.Status == "" || out.Status != OK && out.Reason == "" {
			t.Errorf("seed %d ended %+v", seed, out)
		}
		if p := Paired(w.recorded); len(p) != len(w.recorded) {
			t.Fatalf("seed %d: %d of %d recorded messages are whole", seed, len(p), len(w.recorded))
		}
		for _, request := range w.requests {
			if strings.HasPrefix(request, `{"continuation_id"`) {
				continue
			}
			if got, want := strings.Count(request, `"type":"tool_call"`), strings.Count(request, `"role":"tool"`); got != want {
				t.Fatalf("seed %d: %d calls and %d results in %s", seed, got, want, request)
			}
		}
	}
}
