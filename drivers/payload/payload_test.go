package payload

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// AGT-29, AGT-31: what is not known is carried unchanged.
func TestBlocks(t *testing.T) {
	for _, text := range []string{
		`{"type":"text","text":""}`,
		`{"type":"text","text":"a <b> \u00fc"}`,
		`{"type":"tool_call","id":"c","name":"n","input":{"a":[1,2.50,1e400]}}`,
		`{"type":"image","source":{"media_type":"image/png","data":"AAAA"}}`,
		`{"type":"thinking","text":"t","signature":"s"}`,
		`{"type":"thinking","text":""}`,
		`{"type":"redacted_thinking","data":"x","z":1,"a":{"b":null}}`,
	} {
		b, err := ParseBlock([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		back, err := json.Marshal(b)
		var x, y any
		if err != nil || json.Unmarshal([]byte(strings.ReplaceAll(text, "1e400", "1")), &x) != nil ||
			json.Unmarshal([]byte(strings.ReplaceAll(string(back), "1e400", "1")), &y) != nil {
			t.Errorf("%s: %s, %v", text, back, err)
		}
		if a, b := compact(t, x), compact(t, y); a != b {
			t.Errorf("%s became %s", a, b)
		}
	}
	for _, bad := range []string{`{}`, `"text"`, `{"type":"text","text":1}`, `{"type":"image","source":[]}`} {
		if _, err := ParseBlock([]byte(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// What is read once and what is read again come to the same.
func TestParse(t *testing.T) {
	const known = `{"type":"text","text":"a"},{"type":"tool_call","id":"i","name":"n","input":{"k":[1]}},{"type":"image","source":{"media_type":"m","data":"d"}}`
	const frame = `{"model":"m","max_tokens":7,"system":"s","tools":[{"name":"t","parameters":{}}],"messages":[{"role":"user","content":[` + known + `%s]},{"role":"tool","tool_call_id":"i","is_error":true,"content":[]}]}`
	fast, err := Parse(fmt.Sprintf(frame, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{`{"type":"other","text":"x"}`, `{"type":"other","text":[1],"id":7}`} {
		slow, err := Parse(fmt.Sprintf(frame, ","+odd))
		if err != nil {
			t.Fatal(err)
		}
		last := slow.Messages[0].Content[3]
		if last.Type != "other" || string(last.Raw) != odd || last.Text != "" {
			t.Errorf("%s became %+v", odd, last)
		}
		slow.Messages[0].Content = slow.Messages[0].Content[:3]
		if !reflect.DeepEqual(fast, slow) {
			t.Errorf("%+v, want %+v", slow, fast)
		}
	}
	for _, bad := range []string{``, `[]`, `{"messages":7}`, `{"messages":[{"content":[{}]}]}`, `{"messages":[{"content":[{"type":"text","text":7}]}]}`, `{"max_tokens":"7"}`} {
		if req, err := Parse(bad); err == nil {
			t.Errorf("%s: %+v", bad, req)
		}
	}
}

func compact(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// AGT-53: content is a list, also of nothing.
func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		a    Answer
		want string
	}{
		{Answer{StopReason: StopEndTurn}, `{"stop_reason":"end_turn","content":[]}`},
		{Errorf("no %d", 1), `{"stop_reason":"error","content":[],"error":"no 1"}`},
		{Answer{StopReason: StopEndTurn, Usage: &Usage{Output: new(int64)}}, `{"stop_reason":"end_turn","content":[],"usage":{"output_tokens":0}}`},
	} {
		if got := tt.a.JSON(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	broken := Answer{StopReason: StopToolCall, Content: []Block{{Type: ToolCall, Input: json.RawMessage("{")}}}
	if got := broken.JSON(); !strings.Contains(got, `"stop_reason":"error"`) {
		t.Error(got)
	}
}

func TestFinish(t *testing.T) {
	call := func(id string) Block { return Block{Type: ToolCall, ID: id, Name: "n"} }
	history := Request{Messages: []Message{{Role: User}, {Role: Assistant, Content: []Block{call("call_0"), call("b")}}}}
	for _, tt := range []struct {
		stop string
		in   []Block
		want string
	}{
		{StopToolCall, []Block{call("x"), call("y")}, "x y"},
		{StopToolCall, []Block{TextBlock("t"), call("call_0"), call("call_0"), call("")}, "call_2_1 call_2_2 call_2_3"},
		{StopToolCall, []Block{call("call_2_1"), call("b")}, "call_2_1 call_2_3"},
		{StopEndTurn, []Block{TextBlock("t"), call("x")}, ""},
		{"other", []Block{call("x")}, ""},
	} {
		a := Answer{StopReason: tt.stop, Content: append([]Block(nil), tt.in...)}
		a.Finish(history)
		var ids []string
		for _, b := range a.Content {
			if b.Type == ToolCall {
				ids = append(ids, b.ID)
			}
		}
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("%s %v: ids %q, want %q", tt.stop, tt.in, got, tt.want)
		}
	}
}

func TestArguments(t *testing.T) {
	for text, want := range map[string]string{
		``: `{}`, ` `: `{}`, `null`: `{}`, `{}`: `{}`, `{"a": 1}`: `{"a": 1}`,
		`{"a"`: `"{\"a\""`, `[1]`: `"[1]"`, `7`: `"7"`, `"s"`: `"s"`, `{} {}`: `"{} {}"`,
	} {
		if got := string(Arguments(text)); got != want {
			t.Errorf("%q became %s, want %s", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("n", 70)
	req := Request{Tools: []Tool{{Name: "a.b"}, {Name: "a_b"}, {Name: "a+b"}, {Name: long}, {Name: long + "x"}, {Name: "plain-1"}, {Name: "..."}, {Name: "___"}}}
	req.Messages = []Message{{Role: Assistant, Content: []Block{{Type: ToolCall, Name: "gone!"}}}}
	n := NamesOf(req)
	seen := map[string]bool{}
	for _, tool := range append(req.Tools, Tool{Name: "gone!"}) {
		s := n.Sent(tool.Name)
		if seen[s] || len(s) > 64 || s != safe(s) || n.Ours(s) != tool.Name {
			t.Errorf("%q is sent as %q, which means %q", tool.Name, s, n.Ours(s))
		}
		seen[s] = true
	}
	for ours, sent := range map[string]string{"a_b": "a_b", "plain-1": "plain-1", "a.b": "a_b_2", "a+b": "a_b_3", "gone!": "gone_", "unknown.x": "unknown_x"} {
		if got := n.Sent(ours); got != sent {
			t.Errorf("%q is sent as %q, want %q", ours, got, sent)
		}
	}
	if got := n.Ours("made_up"); got != "made_up" {
		t.Errorf("made_up means %q", got)
	}
}

func TestSchema(t *testing.T) {
	for in, want := range map[string]string{
		``:                               `{"type":"object","properties":{}}`,
		`"not a schema"`:                 `{"type":"object","properties":{}}`,
		`null`:                           `{"type":"object","properties":{}}`,
		`{"type":"object","required":1}`: `{"type":"object","required":1}`,
		`{"properties":{}}`:              `{"properties":{},"type":"object"}`,
		`{"type":"array"}`:               `{"type":"object"}`,
	} {
		if got := string((Tool{Parameters: json.RawMessage(in)}).Schema()); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
