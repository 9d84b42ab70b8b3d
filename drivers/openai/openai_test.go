package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/drivers/sse"
	"github.com/mur-capsules/mur/drivers/upstream"
	"github.com/mur-capsules/mur/lib/murtest/provider"
)

var silent = upstream.Emit{Text: func(string) {}, Thinking: func(string) {}}

func translated(t testing.TB, d *driver, req payload.Request, stream bool) string {
	t.Helper()
	b, err := json.Marshal(d.Request(req, stream))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// AGT-31, AGT-48
func TestMessages(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text", `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`,
			`[{"role":"system","content":"be brief"},{"role":"user","content":"a\nb"}]`},
		{"an empty task", `[{"role":"user","content":[]}]`,
			`[{"role":"system","content":"be brief"},{"role":"user","content":""}]`},
		{"calls and results", `[{"role":"user","content":[{"type":"text","text":"go"}]},
			{"role":"assistant","content":[{"type":"thinking","text":"hm"},{"type":"tool_call","id":"a","name":"x.y","input":{"k":1}},{"type":"tool_call","id":"b","name":"z","input":"{bad"}]},
			{"role":"tool","tool_call_id":"a","is_error":true,"content":[{"type":"text","text":"no"}]},
			{"role":"tool","tool_call_id":"b","content":[{"type":"image","source":{"media_type":"image/png","data":"AA=="}}]}]`,
			`[{"role":"system","content":"be brief"},{"role":"user","content":"go"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"x_y","arguments":"{\"k\":1}"}},{"id":"b","type":"function","function":{"name":"z","arguments":"{bad"}}]},` +
				`{"role":"tool","content":"no","tool_call_id":"a"},` +
				`{"role":"tool","content":"\n(an image, which can not be given with the result of a tool)","tool_call_id":"b"}]`},
		{"an image", `[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"media_type":"image/png","data":"AA=="}}]},{"role":"assistant","content":[{"type":"redacted_thinking","data":"z"}]}]`,
			`[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},{"role":"assistant","content":""}]`},
	} {
		req, err := payload.Parse(`{"model":"m","max_tokens":9,"system":"be brief","prompt_cache_key":"k","messages":` + tt.in + `}`)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := translated(t, &driver{}, req, false), `{"model":"m","max_tokens":9,"messages":`+tt.want+`}`; got != want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, want)
		}
	}
}

// What differs between OpenAI's own models and those of other servers.
func TestModels(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		model string
		cfg   config
		want  string
	}{
		{"gpt-5", config{}, `"max_completion_tokens":9,"prompt_cache_key":"k",`},
		{"o3", config{}, `"max_completion_tokens":9,"prompt_cache_key":"k",`},
		{"o4-mini", config{}, `"max_completion_tokens":9,"prompt_cache_key":"k",`},
		{"chatgpt-4o-latest", config{}, `"max_completion_tokens":9,"prompt_cache_key":"k",`},
		{"gpt-oss:20b", config{}, `"max_tokens":9,`},
		{"olmo-2", config{}, `"max_tokens":9,`},
		{"o", config{}, `"max_tokens":9,`},
		{"llama3.2", config{PromptCacheKey: &yes, MaxTokensField: "max_completion_tokens"}, `"max_completion_tokens":9,"prompt_cache_key":"k",`},
		{"gpt-4o", config{PromptCacheKey: &no, MaxTokensField: "max_tokens"}, `"max_tokens":9,`},
	} {
		got := translated(t, &driver{tt.cfg}, payload.Request{Model: tt.model, MaxTokens: 9, PromptCacheKey: "k"}, true)
		if want := `{"model":"` + tt.model + `",` + tt.want + `"stream":true,"stream_options":{"include_usage":true},"messages":null}`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The messages of a request begin with those of the request before: AGT-49.
func TestPrefix(t *testing.T) {
	h := provider.New(provider.Options{Wire: provider.OpenAI, Next: func(provider.Request) provider.Reply {
		return provider.Reply{Text: "next", Calls: []provider.Call{{Name: "t"}, {Name: "t"}}}
	}})
	d := &driver{}
	req := payload.Request{Model: "m", MaxTokens: 100, System: "s", Tools: []payload.Tool{{Name: "t"}},
		Messages: []payload.Message{{Role: payload.User, Content: []payload.Block{payload.TextBlock("go")}}}}
	before := ""
	for turn := range 20 {
		body := translated(t, d, req, false)
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		answer := d.Whole(req, w.Body.Bytes())
		if answer.StopReason != payload.StopToolCall {
			t.Fatalf("turn %d: %s", turn, answer.JSON())
		}
		answer.Finish(req)
		plain := strings.TrimSuffix(body, "]}")
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

// What servers answer, each in its way.
func TestWhole(t *testing.T) {
	for in, want := range map[string]string{
		`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}}`: `{"stop_reason":"end_turn","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":7,"output_tokens":2,"cached_tokens":4,"thinking_tokens":1}}`,
		`{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"length"}],"usage":{}}`:                                                                                 `{"stop_reason":"max_tokens","content":[{"type":"text","text":"ab"}]}`,
		`{"choices":[{"message":{"content":null,"refusal":"I can not"},"finish_reason":"stop"}]}`:                                                                                                                           `{"stop_reason":"end_turn","content":[{"type":"text","text":"I can not"}]}`,
		`{"choices":[{"message":{"content":"","reasoning":"hm","tool_calls":[{"function":{"name":"t","arguments":{"a":1}}}]},"finish_reason":"stop"}]}`:                                                                     `{"stop_reason":"tool_call","content":[{"type":"thinking","text":"hm"},{"type":"tool_call","name":"t","input":{"a":1}}]}`,
		`{"choices":[{"message":{"tool_calls":[{"id":"x","function":{"name":"t","arguments":""}},{"id":"y","function":{"name":"t","arguments":"{\"b\""}}]},"finish_reason":"tool_calls"}]}`:                                 `{"stop_reason":"tool_call","content":[{"type":"tool_call","id":"x","name":"t","input":{}},{"type":"tool_call","id":"y","name":"t","input":"{\"b\""}]}`,
		`{"choices":[{"message":{"content":"a"},"finish_reason":"content_filter"}]}`:                                                                                                                                        `{"stop_reason":"error","content":[{"type":"text","text":"a"}],"error":"the provider withheld the answer (content_filter)"}`,
		`{"choices":[{"message":{"content":"a"},"finish_reason":null}]}`:                                                                                                                                                    `{"stop_reason":"error","content":[{"type":"text","text":"a"}],"error":"the provider's answer has no finish_reason"}`,
		`{"choices":[{"message":{"content":"a"},"finish_reason":"odd"}]}`:                                                                                                                                                   `{"stop_reason":"odd","content":[{"type":"text","text":"a"}]}`,
		`{"choices":[]}`: `{"stop_reason":"error","content":[],"error":"the provider's answer has no choices"}`,
		`{"error":"model not loaded","choices":null}`: `{"stop_reason":"error","content":[],"error":"the provider failed within its answer: model not loaded"}`,
	} {
		if got := (&driver{}).Whole(payload.Request{}, []byte(in)).JSON(); got != want {
			t.Errorf("%s:\n%s, want\n%s", in, got, want)
		}
	}
}

func TestStream(t *testing.T) {
	chunks := func(deltas ...string) string {
		s := ""
		for _, d := range deltas {
			s += `data: {"choices":[{"delta":` + d + "}]}\n\n"
		}
		return s
	}
	const stop = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	for in, want := range map[string]string{
		chunks(`{"content":"a"}`, `{"content":null}`, `{"content":"b"}`) + stop + "data: [DONE]\n\n": `{"stop_reason":"end_turn","content":[{"type":"text","text":"ab"}]}`,
		chunks(`{"content":"a"}`) + stop: `{"stop_reason":"end_turn","content":[{"type":"text","text":"a"}]}`, // without [DONE]
		// Servers that leave out the index, and one whose calls come together.
		chunks(`{"tool_calls":[{"id":"x","function":{"name":"t","arguments":"{\"a\""}}]}`, `{"tool_calls":[{"function":{"arguments":":1}"}}]}`, `{"tool_calls":[{"id":"y","function":{"name":"u","arguments":"{}"}}]}`) + stop: `{"stop_reason":"tool_call","content":[{"type":"tool_call","id":"x","name":"t","input":{"a":1}},{"type":"tool_call","id":"y","name":"u","input":{}}]}`,
		chunks(`{"tool_calls":[{"index":1,"id":"y","function":{"name":"u"}},{"index":0,"id":"x","function":{"name":"t"}}]}`, `{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`) + stop:                              `{"stop_reason":"tool_call","content":[{"type":"tool_call","id":"y","name":"u","input":{}},{"type":"tool_call","id":"x","name":"t","input":{}}]}`,
		chunks(`{"content":"a"}`):                      `{"stop_reason":"error","content":[],"error":"the provider's stream ended before the answer was complete"}`,
		chunks(`{"content":"a"}`) + "data: [DONE]\n\n": `{"stop_reason":"error","content":[{"type":"text","text":"a"}],"error":"the provider's answer has no finish_reason"}`,
		chunks(`{"content":"a"}`) + `data: {"error":{"message":"gone","code":"oom"}}` + "\n\n": `{"stop_reason":"error","content":[],"error":"the provider failed within its answer: oom: gone"}`,
	} {
		if got := (&driver{}).Stream(payload.Request{}, sse.NewReader(strings.NewReader(in)), silent).JSON(); got != want {
			t.Errorf("%s:\n%s, want\n%s", in, got, want)
		}
	}
}

func TestURL(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:9": "http://127.0.0.1:9/v1/chat/completions", "http://127.0.0.1:9/v1": "http://127.0.0.1:9/v1/chat/completions",
		"http://127.0.0.1:9/api/v1": "http://127.0.0.1:9/api/v1/chat/completions", "http://127.0.0.1:9/v1beta/openai": "http://127.0.0.1:9/v1beta/openai/chat/completions",
	} {
		if got := (&driver{}).URL(endpoint); got != want {
			t.Errorf("%s gives %s, want %s", endpoint, got, want)
		}
	}
}

// Whatever arrives, there is an answer, and it can be written.
func FuzzStream(f *testing.F) {
	f.Add([]byte(`data: {"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"x","function":{"name":"t","arguments":"{"}}]},"finish_reason":"stop"}]}` + "\n\n"))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"a"}],"tool_calls":[{"function":{"arguments":{"a":1}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`))
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
