package agent

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
	"github.com/mur-capsules/mur/mur-launch/internal/model/tokens"
)

// AGT-48, AGT-49, AGT-29, AGT-30, AGT-36
func TestRequestBytes(t *testing.T) {
	w := newWorld(t)
	w.ask = says(calls("1"), done("x"))
	w.run(Task{ID: "tsk_1", Text: "look <here>"})
	want := `{"max_tokens":100,"messages":[{"content":[{"text":"look <here>","type":"text"}],"role":"user"},` +
		`{"content":[{"text":"I try","type":"text"},{"id":"1","input":{"a":"<&>","b":1},"name":"t","type":"tool_call"}],"role":"assistant"},` +
		`{"content":[{"text":"result of 1","type":"text"}],"is_error":false,"role":"tool","tool_call_id":"1"}],` +
		`"model":"m","params":{},"prompt_cache_key":"c:1","system":"be good","tools":[{"name":"t"}]}`
	if got := w.requests[1]; got != want {
		t.Errorf("request\n%s\nwant\n%s", got, want)
	}
}

// The prompt-cache promise: over 20 turns each request begins with the bytes of
// the one before as far as its last message, ends with the same bytes, and is the
// same in another process that reads the record. AGT-49, AGT-50, AGT-118
func TestRequestsShareTheirPrefix(t *testing.T) {
	w := newWorld(t)
	w.ask = func(turn int, _ string, _ func(wasmhost.ChunkKind, string)) (Reply, error) {
		if turn == 19 {
			return Reply{Body: done("x")}, nil
		}
		return Reply{Body: calls(fmt.Sprint("a", turn), fmt.Sprint("b", turn))}, nil
	}
	w.run(Task{ID: "tsk_1", Text: "go", MaxTurns: 30})
	if len(w.requests) != 20 {
		t.Fatalf("%d requests", len(w.requests))
	}
	tail := w.requests[0][strings.Index(w.requests[0], tailStart):]
	for i, r := range w.requests {
		head, ok := strings.CutSuffix(r, tail)
		if !ok {
			t.Fatalf("request %d ends otherwise: %s", i, r)
		}
		if i > 0 {
			before := strings.TrimSuffix(w.requests[i-1], tail)
			if !strings.HasPrefix(head, before+",") {
				t.Fatalf("request %d does not begin with request %d:\n%s\n%s", i, i-1, head, before)
			}
		}
	}
	// Another process, which has the record's lines alone.
	var loaded []Message
	for _, m := range w.recorded {
		back, ok := ParseLine(m.Line())
		if !ok || back.ID != m.ID || back.Fence != m.Fence {
			t.Fatalf("%s came back as %+v", m.Line(), back)
		}
		loaded = append(loaded, back)
	}
	again := newWorld(t)
	again.ask = says(done("y"))
	again.run(Task{ID: "tsk_2", Text: "more", History: loaded[:len(loaded)-1]})
	before := strings.TrimSuffix(w.requests[19], tail)
	if !strings.HasPrefix(again.requests[0], before+",") {
		t.Errorf("a loaded conversation has other bytes:\n%s\n%s", again.requests[0], before)
	}
}

// AGT-92 to AGT-94: counting piece by piece gives the count of the whole.
func TestOccupancyIsTheCountOfTheWhole(t *testing.T) {
	counter := tokens.New(func(string, error) {})
	r := rand.New(rand.NewSource(5))
	texts := []string{"", "hello", "'s", "\n", "   ", "日本", "12345", `"}],"role":"user"},{"content`, "<|endoftext|>", "😀", "don't\t"}
	text := func() string {
		var b strings.Builder
		for range r.Intn(8) {
			b.WriteString(texts[r.Intn(len(texts))])
		}
		return b.String()
	}
	for range 300 {
		f := frame()
		f.System, f.Model, f.CacheKey = text(), text(), text()
		f.Tools = must(json.Marshal([]string{text()}))
		q := newRequests(f, counter)
		var messages []Message
		for range r.Intn(7) {
			switch r.Intn(3) {
			case 0:
				messages = append(messages, NewUser(text(), ""))
			case 1:
				messages = append(messages, newAssistant(textContent(text())))
			default:
				messages = append(messages, newResult(text(), dispatch.Answer{Text: text()}))
			}
			want := counter.Count(q.payload(messages, "", 0))
			if got := q.occupancy(messages); got != want {
				t.Fatalf("%d tokens, the whole has %d: %s", got, want, q.payload(messages, "", 0))
			}
		}
		if got, want := q.occupancy(nil), counter.Count(q.payload(nil, "", 0)); got != want {
			t.Fatalf("%d tokens of nothing, the whole has %d", got, want)
		}
	}
}

// AGT-53, AGT-55, AGT-56, AGT-31
func TestParseAnswer(t *testing.T) {
	a, err := ParseAnswer(`{"stop_reason":"tool_call","content":[{"type":"thinking","text":"hm","signature":"x"},{"z":1,"type":"odd"},` +
		`{"type":"tool_call","id":"1","name":"n"},{"type":"text","text":1}],"usage":{"input_tokens":3,"output_tokens":-1,"cached_tokens":1.5,"cache_write_tokens":"x","thinking_tokens":null}}`)
	if err != nil || len(a.Calls) != 1 || string(a.Calls[0].Input) != "null" || a.Text != "" {
		t.Fatalf("%+v %v", a, err)
	}
	if want := `[{"signature":"x","text":"hm","type":"thinking"},{"type":"odd","z":1},{"id":"1","name":"n","type":"tool_call"},{"text":1,"type":"text"}]`; string(a.Content) != want {
		t.Errorf("content %s", a.Content)
	}
	if u := a.Usage; u.Input == nil || *u.Input != 3 || u.Output != nil || u.Cached != nil || u.CacheWrite != nil || u.Thinking != nil {
		t.Errorf("usage %+v", u)
	}
	if a, err := ParseAnswer(`{"stop_reason":"end_turn","content":[{"Type":"tool_call","ID":"1"},{"TYPE":"text","text":"x"}]}`); err != nil || a.Calls != nil || a.Text != "" {
		t.Errorf("other letters: %+v %v", a, err)
	}
	if a, err := ParseAnswer(`{"stop_reason":"end_turn","usage":[1]}`); err != nil || a.Usage != (Usage{}) {
		t.Errorf("%+v %v", a, err)
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add(calls("1"))
	f.Add(done("x"))
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAnswer(s)
		if err != nil || a.Stop == "error" {
			return
		}
		again, err := dispatch.Canonical(a.Content)
		if err != nil || string(again) != string(a.Content) {
			t.Fatalf("%s is not canonical: %s, %v", a.Content, again, err)
		}
		judge(a)
		newAssistant(a.Content)
	})
}

// AGT-41 to AGT-43, AGT-47
func TestSystem(t *testing.T) {
	name := "murmur.yaml"
	d := &session.Document{
		SessionID: "ses_x", Capsule: session.Capsule{Name: "c\nName: evil", Version: "1"}, Inference: &session.Inference{SystemPrompt: session.SystemPrompt{Text: "Be good.\n"}},
		Manifest: session.Manifest{FileName: &name},
	}
	want := "[Capsule]\nName: c Name: evil\nVersion: 1\nWorkdir: .\nManifest: $MURMUR_RUNTIME_DIR/murmur.yaml\n" +
		inventoryNotice + "\n" + dataNotice + "\n" + fenceNotice + "\n\nBe good.\n"
	if got := System(d); got != want {
		t.Errorf("%q", got)
	}
	d.Manifest.FileName = nil
	d.InstructionFiles = &session.InstructionFiles{Files: []session.InstructionFile{{Path: "A.md", Text: "a"}, {Path: "B.md", Text: "b"}}}
	if got := System(d); !strings.HasSuffix(got, "\n\nBe good.\n\n\nInstructions from A.md:\na\n\nInstructions from B.md:\nb") || strings.Contains(got, "Manifest:") || strings.Contains(got, "ses_x") {
		t.Errorf("%q", got)
	}
}

// AGT-50
func TestCacheKey(t *testing.T) {
	if CacheKey("a", "1", "ctx_1") != "a:1:ctx_1" || CacheKey("a", "1", "") != "a:1" {
		t.Error("cache keys")
	}
}

// AGT-116: what a writer that died left is mended.
func TestPaired(t *testing.T) {
	call := func(ids ...string) Message {
		a, err := ParseAnswer(calls(ids...))
		if err != nil {
			t.Fatal(err)
		}
		return newAssistant(a.Content)
	}
	result := func(id string) Message { return newResult(id, dispatch.Answer{}) }
	u := NewUser("x", "")
	for i, c := range []struct {
		in   []Message
		kept int
	}{
		{[]Message{u, call("1", "2"), result("1"), result("2"), u}, 5},
		{[]Message{u, call("1", "2"), result("1")}, 1},
		{[]Message{u, call("1", "2"), result("2"), result("1"), u}, 2},
		{[]Message{result("1"), u}, 1},
		{[]Message{u, call("1"), u, result("1")}, 2},
		{[]Message{u, call("1"), result("1"), result("1"), u}, 4},
		{[]Message{call("1")}, 0},
		{nil, 0},
	} {
		if got := Paired(c.in); len(got) != c.kept {
			t.Errorf("%d: %d messages are kept, want %d", i, len(got), c.kept)
		}
	}
	for _, line := range []string{"", "[]", `{"type":"murmur.conversation"}`, `{"role":"user","content":"x","id":"m"}`, `{"role":"odd","content":[],"id":"m"}`, `{"role":"user","content":[]}`,
		`{"role":"user","content":[1],"id":"m"}`, `{"role":"user","content":[null],"id":"m"}`, `{"role":"tool","content":[],"id":"m","tool_call_id":"1"}`,
		`{"role":"tool","content":[],"id":"m","tool_call_id":null,"is_error":false}`} {
		if m, ok := ParseLine([]byte(line)); ok {
			t.Errorf("%q is taken for %+v", line, m)
		}
	}
}

// AGT-32
func TestMessageIDsDiffer(t *testing.T) {
	ids := []string{NewUser("x", "").ID, NewUser("x", "").ID, newAssistant(textContent("x")).ID}
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 || !strings.HasPrefix(ids[0], "msg_") {
		t.Errorf("ids %q", ids)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(string(NewUser("x", "tool:t").Line()))
	f.Add(`{"role":"tool","content":[{"type":"text","text":"\ud800"}],"id":"m","tool_call_id":"1","is_error":false,"fence":"f"}`)
	counter := tokens.New(func(string, error) {})
	f.Fuzz(func(t *testing.T, s string) {
		m, ok := ParseLine([]byte(s))
		if !ok {
			return
		}
		back, ok := ParseLine(m.Line())
		if !ok || back.ID != m.ID || back.Fence != m.Fence || string(back.wire) != string(m.wire) {
			t.Fatalf("%s came back as %s", m.Line(), back.Line())
		}
		q := newRequests(frame(), counter)
		all := []Message{m, back}
		if got, want := q.occupancy(all), counter.Count(q.payload(all, "", 0)); got != want {
			t.Fatalf("%d tokens, the whole has %d", got, want)
		}
	})
}
