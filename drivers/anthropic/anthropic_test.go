package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/drivers/sse"
	"github.com/mur-capsules/mur/drivers/upstream"
	"github.com/mur-capsules/mur/lib/murtest/provider"
)

var silent = upstream.Emit{Text: func(string) {}, Thinking: func(string) {}}

func parse(t testing.TB, text string) payload.Request {
	t.Helper()
	req, err := payload.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func translated(t testing.TB, d *driver, req payload.Request) string {
	t.Helper()
	b, err := json.Marshal(d.Request(req, false))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// AGT-31, AGT-48
func TestMessages(t *testing.T) {
	off := false
	for _, tt := range []struct{ name, in, want string }{
		{"text", `[{"role":"user","content":[{"type":"text","text":"hi"}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"hi"}]}]`},
		{"an empty task", `[{"role":"user","content":[{"type":"text","text":" \n"}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"(empty)"}]}]`},
		{"calls and results", `[{"role":"user","content":[{"type":"text","text":"go"}]},
			{"role":"assistant","content":[{"type":"text","text":""},{"type":"tool_call","id":"a","name":"x.y","input":{"k":1}},{"type":"tool_call","id":"b:1","name":"z","input":"{bad"}]},
			{"role":"tool","tool_call_id":"a","is_error":false,"content":[{"type":"text","text":"ok"}]},
			{"role":"tool","tool_call_id":"b:1","is_error":true,"content":[{"type":"text","text":" "}]},
			{"role":"user","content":[{"type":"text","text":"and?"}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"go"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x_y","input":{"k":1}},{"type":"tool_use","id":"b_x3A1","name":"z","input":{"not_an_object":"{bad"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"ok"}]},{"type":"tool_result","tool_use_id":"b_x3A1","is_error":true},{"type":"text","text":"and?"}]}]`},
		{"thinking and what only this provider knows", `[{"role":"user","content":[{"type":"text","text":"go"}]},
			{"role":"assistant","content":[{"type":"thinking","text":"","signature":"s"},{"type":"thinking","text":"unsigned"},{"type":"redacted_thinking","data":"zz"},{"type":"text","text":"x"}]},
			{"role":"user","content":[{"type":"image","source":{"media_type":"image/png","data":"AA=="}}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"go"}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"redacted_thinking","data":"zz"},{"type":"text","text":"x"}]},` +
				`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]`},
		{"an assistant with nothing to say", `[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[]},{"role":"user","content":[{"type":"text","text":"b"}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`},
	} {
		d := &driver{config{Cache: &off}}
		got := translated(t, d, parse(t, `{"model":"m","max_tokens":9,"messages":`+tt.in+`}`))
		if want := `{"model":"m","max_tokens":9,"stream":false,"messages":` + tt.want + `}`; got != want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, want)
		}
	}
}

func TestThinking(t *testing.T) {
	const call, thought = `{"type":"tool_call","id":"a","name":"x","input":{}}`, `{"type":"thinking","text":"t","signature":"s"}`
	for content, want := range map[string]bool{call: false, thought + "," + call: true} {
		d := &driver{config{Thinking: json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)}}
		got := translated(t, d, parse(t, `{"model":"m","max_tokens":9000,"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},
			{"role":"assistant","content":[`+content+`]},{"role":"tool","tool_call_id":"a","content":[]}]}`))
		if strings.Contains(got, `"thinking":{"type":"enabled","budget_tokens":2000}`) != want {
			t.Errorf("%s: %s", content, got)
		}
	}
}

// The beginning of a request stays the same from call to call, but for the
// marks, which the provider does not count as content: AGT-49.
func TestPrefix(t *testing.T) {
	marks := regexp.MustCompile(`,"cache_control":\{"type":"ephemeral"\}`)
	h := provider.New(provider.Options{Wire: provider.Anthropic, Next: func(r provider.Request) provider.Reply {
		return provider.Reply{Text: "next", Calls: []provider.Call{{Name: "t"}, {Name: "t"}}}
	}})
	d := &driver{}
	req := payload.Request{Model: "m", MaxTokens: 100, System: "s", Tools: []payload.Tool{{Name: "t"}},
		Messages: []payload.Message{{Role: payload.User, Content: []payload.Block{payload.TextBlock("go")}}}}
	before := ""
	for turn := range 20 {
		body := translated(t, d, req)
		if n := strings.Count(body, "cache_control"); n != min(turn+2, 3) {
			t.Errorf("turn %d has %d marks", turn, n)
		}
		answer := d.Whole(req, ask(t, h, body))
		if answer.StopReason != payload.StopToolCall {
			t.Fatalf("turn %d: %s", turn, answer.JSON())
		}
		answer.Finish(req)
		plain := strings.TrimSuffix(marks.ReplaceAllString(body, ""), "]}")
		if !strings.HasPrefix(plain, before) {
			t.Fatalf("turn %d does not begin as the one before:\n%s\n%s", turn, before, plain)
		}
		before = plain
		req.Messages = append(req.Messages, payload.Message{Role: payload.Assistant, Content: answer.Content})
		for _, b := range answer.Content {
			if b.Type == payload.ToolCall {
				req.Messages = append(req.Messages, payload.Message{Role: payload.ToolRole, ToolCallID: b.ID, Content: []payload.Block{payload.TextBlock(fmt.Sprint(turn))}})
			}
		}
	}
}

func ask(t *testing.T, h http.Handler, body string) []byte {
	t.Helper()
	r := httptest.NewRequest("POST", "/v1/messages", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.Bytes()
}

func TestWhole(t *testing.T) {
	for in, want := range map[string]string{
		`{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`:                                                                                        `{"stop_reason":"end_turn","content":[{"type":"text","text":"a"}]}`,
		`{"content":[],"stop_reason":"stop_sequence","usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":null,"output_tokens":5}}`: `{"stop_reason":"end_turn","content":[],"usage":{"input_tokens":7,"output_tokens":5,"cached_tokens":4}}`,
		`{"content":[{"type":"server_thing","k":[1]}],"stop_reason":"max_tokens"}`:                                                                                 `{"stop_reason":"max_tokens","content":[{"type":"server_thing","k":[1]}]}`,
		`{"content":[],"stop_reason":"refusal"}`:                                                                                                                   `{"stop_reason":"error","content":[],"error":"the provider refused to answer (refusal)"}`,
		`{"content":[],"stop_reason":"model_context_window_exceeded"}`:                                                                                             `{"stop_reason":"error","content":[],"error":"the model's context window is full"}`,
		`{"content":[],"stop_reason":"pause_turn"}`:                                                                                                                `{"stop_reason":"pause_turn","content":[]}`,
		`{"content":[]}`: `{"stop_reason":"error","content":[],"error":"the provider's answer has no stop_reason"}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}`: `{"stop_reason":"error","content":[],"error":"the provider failed within its answer: overloaded_error: Busy"}`,
	} {
		if got := (&driver{}).Whole(payload.Request{}, []byte(in)).JSON(); got != want {
			t.Errorf("%s:\n%s, want\n%s", in, got, want)
		}
	}
}

const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n"

func TestStreamFaults(t *testing.T) {
	for in, want := range map[string]string{
		"":    "ended before the answer was complete",
		start: "ended before the answer was complete",
		start + `data: {"type":"content_block_start","index":1,"content_block":{"type":"text"}}` + "\n\n":           "out of order: block 1 begins where 0 should",
		start + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}` + "\n\n":  "more of block 0, which has not begun",
		start + `data: {"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"x"}}` + "\n\n": "more of block -1",
		start + `data: {"type":"content_block_start","index":0,"content_block":7}` + "\n\n":                         "malformed",
		start + "data: {\n\n":                            "malformed",
		start + `data: {"type":"message_stop"}` + "\n\n": "no stop_reason",
		start + `event: error` + "\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n": "overloaded_error: Overloaded",
	} {
		got := (&driver{}).Stream(payload.Request{}, sse.NewReader(strings.NewReader(in)), silent)
		if got.StopReason != payload.StopError || !strings.Contains(got.Error, want) {
			t.Errorf("%q: %s", in, got.JSON())
		}
	}
	// What the driver does not know does not disturb it.
	in := start + "event: ping\ndata: {\"type\":\"ping\"}\n\ndata: {\"type\":\"news\",\"k\":[]}\n\n"
	if got := (&driver{}).Stream(payload.Request{}, sse.NewReader(strings.NewReader(in)), silent); !strings.Contains(got.Error, "ended before") {
		t.Error(got.JSON())
	}
}

func TestURL(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:9": "http://127.0.0.1:9/v1/messages", "http://127.0.0.1:9/v1": "http://127.0.0.1:9/v1/messages",
		"http://127.0.0.1:9/proxy/anthropic": "http://127.0.0.1:9/proxy/anthropic/v1/messages",
	} {
		if got := (&driver{}).URL(endpoint); got != want {
			t.Errorf("%s gives %s, want %s", endpoint, got, want)
		}
	}
}

// Whatever arrives, there is an answer, and it can be written.
func FuzzStream(f *testing.F) {
	f.Add([]byte(start + `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"n","input":{}}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"))
	f.Add([]byte(`{"content":[{"type":"text","text":"a"},{"type":"x"}],"stop_reason":"end_turn"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, a := range []payload.Answer{
			(&driver{}).Stream(payload.Request{}, sse.NewReader(bytes.NewReader(data)), silent),
			(&driver{}).Whole(payload.Request{}, data),
		} {
			a.Finish(payload.Request{})
			if a.StopReason == "" || !json.Valid([]byte(a.JSON())) || a.StopReason == payload.StopError && a.Error == "" {
				t.Errorf("%q: %s", data, a.JSON())
			}
		}
	})
}

// Whatever conversation is translated, the request is JSON and its roles
// alternate.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_call","id":"?","name":"","input":[]},{"type":"q"}]},{"role":"tool","tool_call_id":"?","content":[]}],"tools":[{"name":"a b","parameters":{}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := payload.Parse(string(data))
		if err != nil {
			return
		}
		b, err := json.Marshal((&driver{}).Request(req, true))
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ Messages []struct{ Role string } }
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(back.Messages); i++ {
			if back.Messages[i].Role == back.Messages[i-1].Role {
				t.Errorf("%s", b)
			}
		}
	})
}
