package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// post sends a body with the headers a good client sends.
func post(h http.Handler, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const (
	anthropicPath = "/v1/messages"
	openAIPath    = "/v1/chat/completions"
)

// claude is a good request of the Messages API, with members replaced.
func claude(members string) string {
	return `{"model":"m","max_tokens":2000,"messages":[{"role":"user","content":"hi"}]` + members + `}`
}

// conversation is one with these messages after the user's first.
func conversation(messages string) string {
	return `{"model":"m","max_tokens":2000,"messages":[{"role":"user","content":"hi"},` + messages + `]}`
}

func TestAnthropicRefusals(t *testing.T) {
	const use, use2 = `{"type":"tool_use","id":"a","name":"t","input":{}}`, `{"type":"tool_use","id":"b","name":"t","input":{}}`
	const result = `{"type":"tool_result","tool_use_id":"a","content":"ok"}`
	marked := strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5)
	signed := fmt.Sprintf(`{"type":"thinking","thinking":"hm","signature":%q}`, signature("hm"))
	for _, tt := range []struct{ body, want string }{
		{claude(``), ""},
		{claude(`,"system":"s","stream":false,"temperature":1`), ""},
		{claude(`,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]`), ""},
		{claude(`,"tools":[{"name":"t","input_schema":{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]}},"required":["a"]}}]`), ""},
		{claude(`,"thinking":{"type":"enabled","budget_tokens":1024}`), ""},
		{conversation(`{"role":"assistant","content":[` + signed + `,` + use + `,` + use2 + `]},{"role":"user","content":[` + result + `,{"type":"tool_result","tool_use_id":"b","is_error":true},{"type":"text","text":"and?"}]}`), ""},
		{conversation(`{"role":"assistant","content":"Hello"}`), ""},

		{`{`, "not valid JSON"},
		{`{} {}`, "data after the end"},
		{`[]`, "must be an object"},
		{`{}`, "model: Field required"},
		{`{"model":"m","max_tokens":0,"messages":[]}`, "max_tokens: Input should be greater"},
		{`{"model":"m","max_tokens":1.5,"messages":[]}`, "max_tokens: Input should be a valid integer"},
		{`{"model":"m","max_tokens":"1","messages":[]}`, "max_tokens: Input should be a valid integer"},
		{`{"model":"","max_tokens":1,"messages":[]}`, "model: String should"},
		{`{"model":"m","max_tokens":1,"messages":[]}`, "at least one message is required"},
		{claude(`,"prompt_cache_key":"k"`), "prompt_cache_key: Extra inputs are not permitted"},
		{claude(`,"stream":"yes"`), "stream: Input should be a valid boolean"},
		{claude(`,"temperature":2`), "temperature: Input should be between"},
		{claude(`,"system":[]`), ""},
		{claude(`,"system":[{"type":"text","text":" "}]`), "system.0: text content blocks must be non-empty"},
		{claude(`,"thinking":{"type":"enabled","budget_tokens":1000}`), "greater than or equal to 1024"},
		{claude(`,"thinking":{"type":"enabled","budget_tokens":2000}`), "must be greater than `thinking.budget_tokens`"},
		{claude(`,"thinking":{"type":"enabled","budget_tokens":1024},"temperature":0.5`), "may only be set to 1"},
		{claude(`,"tools":[{"name":"a.b","input_schema":{"type":"object"}}]`), "tools.0.name: String should match pattern"},
		{claude(`,"tools":[{"name":"a","input_schema":{}}]`), "tools.0.input_schema.type: Field required"},
		{claude(`,"tools":[{"name":"a","parameters":{}}]`), "tools.0.parameters: Extra inputs"},
		{claude(`,"tools":[{"name":"a","input_schema":{"type":"object","required":"x"}}]`), "required: Input should be a valid list"},
		{claude(`,"tools":[{"name":"a","input_schema":{"type":"object","required":["x","x"]}}]`), "listed twice"},
		{claude(`,"tools":[{"name":"a","input_schema":{"type":"object","properties":{"p":{"type":"text"}}}}]`), "properties.p.type: Input should be one of"},
		{claude(`,"tools":[{"name":"a","input_schema":{"type":"object","properties":{"p":{"anyOf":[{"items":7}]}}}}]`), "anyOf.0.items: Input should be an object"},
		{claude(`,"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`), "names must be unique"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":"x"}]}`, "first message must use the \"user\" role"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"system","content":"x"}]}`, "messages.0.role: Input should be one of"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x","id":"msg_1"}]}`, "messages.0.id: Extra inputs"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[]}]}`, "must have non-empty content"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "must be non-empty"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[` + strings.TrimSuffix(marked, ",") + `]}]}`, "A maximum of 4 blocks with cache_control"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":""}}]}]}`, "media_type: Input should be one of"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}]}]}`, "invalid base64"},
		{conversation(`{"role":"user","content":"x"}`), "roles must alternate"},
		{conversation(`{"role":"assistant","content":"x "}`), "cannot end with trailing whitespace"},
		{conversation(`{"role":"assistant","content":[` + use + `]}`), "found without `tool_result` blocks immediately after: a"},
		{conversation(`{"role":"assistant","content":[` + use + `,` + use2 + `]},{"role":"user","content":[` + result + `]}`), "immediately after: b"},
		{conversation(`{"role":"assistant","content":[` + use + `,` + use + `]}`), "ids must be unique"},
		{conversation(`{"role":"assistant","content":"x"},{"role":"user","content":[` + result + `]}`), "unexpected `tool_use_id`"},
		{conversation(`{"role":"assistant","content":[` + use + `]},{"role":"user","content":[{"type":"text","text":"x"},` + result + `]}`), "must come first"},
		{conversation(`{"role":"assistant","content":[{"type":"tool_use","id":"a:1","name":"t","input":{}}]}`), "id: String should match"},
		{conversation(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":"x"}]}`), "input: Input should be an object"},
		{conversation(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm!","signature":"x"}]}`), "Invalid `signature`"},
		{`{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` + use + `]},{"role":"user","content":[` + result + `]}]}`, "Expected `thinking`"},
	} {
		h := New(Options{Wire: Anthropic})
		w := post(h, anthropicPath, tt.body)
		refused(t, h, w, tt.body, tt.want, http.StatusBadRequest)
	}
}

// refused checks an answer: a refusal with these words, or success without.
func refused(t *testing.T, h *Handler, w *httptest.ResponseRecorder, body, want string, status int) {
	t.Helper()
	var e struct{ Error struct{ Message string } }
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Errorf("%s: %v in %s", body, err, w.Body)
	}
	seen := h.Requests()[0]
	if want == "" && (w.Code != http.StatusOK || seen.Refusal != "") || want != "" && (w.Code != status || !strings.Contains(e.Error.Message, want) || seen.Refusal != e.Error.Message) {
		t.Errorf("%s:\n%d %q, want %q", body, w.Code, e.Error.Message, want)
	}
}

// gpt is a good request of the chat completions API, with members added.
func gpt(members string) string {
	return `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]` + members + `}`
}

func talk(messages string) string {
	return `{"model":"m","messages":[{"role":"user","content":"hi"},` + messages + `]}`
}

func TestOpenAIRefusals(t *testing.T) {
	const call = `{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}}`
	const result = `{"role":"tool","tool_call_id":"a","content":"ok"}`
	for _, tt := range []struct{ body, want string }{
		{gpt(``), ""},
		{gpt(`,"max_tokens":9,"stream":false,"prompt_cache_key":"k"`), ""},
		{gpt(`,"tools":[{"type":"function","function":{"name":"t","description":"d","parameters":{"type":"object"}}}]`), ""},
		{talk(`{"role":"assistant","content":null,"tool_calls":[` + call + `]},` + result), ""},
		{`{"model":"gpt-5","max_completion_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`, ""},

		{`{"messages":[]}`, "model: Input should be a valid string"},
		{`{"model":"m","messages":[]}`, "Invalid 'messages': empty array"},
		{gpt(`,"cache_control":{}`), "Unrecognized request argument supplied: cache_control"},
		{gpt(`,"max_tokens":9,"max_completion_tokens":9`), "at the same time is not supported"},
		{gpt(`,"max_tokens":0`), "integer below minimum value"},
		{`{"model":"gpt-5-mini","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, "'max_tokens' is not supported with this model"},
		{`{"model":"o3","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, "'max_tokens' is not supported with this model"},
		{gpt(`,"stream_options":{"include_usage":true}`), "only allowed when 'stream' is enabled"},
		{gpt(`,"stream":true,"stream_options":{"usage":true}`), "Unknown parameter: 'stream_options.usage'"},
		{gpt(`,"tools":[]`), "Invalid 'tools': empty array"},
		{gpt(`,"tool_choice":"auto"`), "only allowed when 'tools' are specified"},
		{gpt(`,"tools":[{"name":"t"}]`), "Unknown parameter: 'tools[0].name'"},
		{gpt(`,"tools":[{"type":"function","function":{"name":"a.b"}}]`), "tools[0].function.name: String should match"},
		{gpt(`,"tools":[{"type":"function","function":{"name":"t","parameters":{"type":"array"}}}]`), `got 'type: "array"'`},
		{gpt(`,"tools":[{"type":"function","function":{"name":"t"}},{"type":"function","function":{"name":"t"}}]`), "is used twice"},
		{talk(`{"role":"assistant"}`), "expected a string, got null"},
		{talk(`{"role":"assistant","content":"x","is_error":true}`), "Unknown parameter: 'messages[1].is_error'"},
		{talk(`{"role":"assistant","content":"x","reasoning_content":"y"}`), "Unknown parameter: 'messages[1].reasoning_content'"},
		{talk(`{"role":"assistant","content":null,"tool_calls":[` + call + `]}`), "did not have response messages: a"},
		{talk(`{"role":"assistant","content":null,"tool_calls":[` + call + `]},{"role":"user","content":"x"}`), "did not have response messages: a"},
		{talk(`{"role":"assistant","content":null,"tool_calls":[` + call + `,` + call + `]}`), "Duplicate value for 'tool_call_id'"},
		{talk(`{"role":"assistant","content":null,"tool_calls":[` + call + `]},` + result + `,` + result), "must be a response to a preceeding message"},
		{talk(result), "must be a response to a preceeding message"},
		{talk(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":{}}}]}`), "arguments: Input should be a valid string"},
		{talk(`{"role":"user","content":[{"type":"image","source":{}}]}`), "type: Input should be one of"},
		{talk(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/y.png"}}]}`), "only data URLs"},
		{talk(`{"role":"user","content":null}`), "content: Input should be a valid list"},
	} {
		h := New(Options{Wire: OpenAI})
		w := post(h, openAIPath, tt.body)
		refused(t, h, w, tt.body, tt.want, http.StatusBadRequest)
	}
}

func TestDoor(t *testing.T) {
	for _, wire := range []Wire{Anthropic, OpenAI} {
		path, body, auth := anthropicPath, claude(``), []string{"X-Api-Key", "k"}
		if wire == OpenAI {
			path, body, auth = openAIPath, gpt(``), []string{"Authorization", "Bearer k"}
		}
		for _, tt := range []struct {
			path    string
			headers []string
			status  int
		}{
			{path, auth, 200},
			{path, nil, 401},
			{path, []string{auth[0], auth[1] + "x"}, 401},
			{"/v1/other", auth, 404},
			{path, append([]string{"Content-Type", "text/plain"}, auth...), 400},
			{path, append([]string{"Content-Type", "application/json; charset=utf-8"}, auth...), 200},
		} {
			h := New(Options{Wire: wire, Key: "k"})
			if w := post(h, tt.path, body, tt.headers...); w.Code != tt.status || h.Requests()[0].Status != tt.status {
				t.Errorf("%s %s %q: %d, want %d", wire, tt.path, tt.headers, w.Code, tt.status)
			}
		}
		h := New(Options{Wire: wire, Key: "k"})
		h.SetKey("k2")
		if w := post(h, path, body, auth...); w.Code != 401 {
			t.Errorf("%s: a rotated key gave %d", wire, w.Code)
		}
	}
	for version, want := range map[string]int{"": 400, "2020-01-01": 400} {
		if w := post(New(Options{Wire: Anthropic}), anthropicPath, claude(``), "Anthropic-Version", version); w.Code != want {
			t.Errorf("version %q: %d", version, w.Code)
		}
	}
}

// The script is followed, then Next, and without it the last text comes back.
func TestScript(t *testing.T) {
	var logged []string
	h := New(Options{Wire: Anthropic, Script: []Reply{{Text: "one"}}, Log: func(s string) { logged = append(logged, s) }})
	h.Add(Reply{Calls: []Call{{Name: "t", Input: json.RawMessage(`{"a":1}`)}}})
	for _, want := range []string{`"text":"one"`, `"input":{"a":1}`, `"text":"You said: hi"`} {
		if w := post(h, anthropicPath, claude(``)); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s lacks %s", w.Body, want)
		}
	}
	if h.Left() != 0 || len(h.Requests()) != 3 || logged[2] != "/v1/messages 200" {
		t.Errorf("%d left, %d seen, logged %q", h.Left(), len(h.Requests()), logged)
	}
	next := New(Options{Wire: OpenAI, Next: func(r Request) Reply { return Reply{Text: r.Text + "!", Thinking: r.Model} }})
	if w := post(next, openAIPath, gpt(``)); !strings.Contains(w.Body.String(), `"content":"hi!"`) || !strings.Contains(w.Body.String(), `"reasoning_content":"m"`) {
		t.Error(w.Body)
	}
}

// A stream in pieces is the same bytes as one in whole events, and pieces end
// within characters and lines.
func TestPieces(t *testing.T) {
	for _, wire := range []Wire{Anthropic, OpenAI} {
		path, body := anthropicPath, claude(`,"stream":true`)
		if wire == OpenAI {
			path, body = openAIPath, gpt(`,"stream":true,"stream_options":{"include_usage":true}`)
		}
		reply := Reply{Thinking: "hm \U0001F914", Text: strings.Repeat("\u4e16\u754c ", 20), Calls: []Call{{Name: "t"}}}
		whole := post(New(Options{Wire: wire, Script: []Reply{reply}}), path, body).Body.String()
		h := New(Options{Wire: wire, Script: []Reply{reply}, Pieces: 5})
		w := &pieces{header: http.Header{}}
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Anthropic-Version", "2023-06-01")
		h.ServeHTTP(w, r)
		split, longest := 0, 0
		for _, p := range w.all {
			longest = max(longest, len(p))
			if !utf8.Valid(p) {
				split++
			}
		}
		if got := string(bytes.Join(w.all, nil)); got != whole || split < 10 || longest > 5 || longest < 3 {
			t.Errorf("%s: same %v, %d split characters, longest %d", wire, got == whole, split, longest)
		}
		crlf := post(New(Options{Wire: wire, Script: []Reply{reply}, CRLF: true}), path, body).Body.String()
		if crlf != strings.ReplaceAll(whole, "\n", "\r\n") {
			t.Errorf("%s: %q", wire, crlf)
		}
		for _, want := range map[Wire][]string{
			Anthropic: {"event: ping\n", "event: message_stop\n", `"type":"input_json_delta"`, `"stop_reason":"tool_use"`},
			OpenAI:    {": keep-alive\n", "data: [DONE]\n", `"finish_reason":"tool_calls"`, `"prompt_tokens":`},
		}[wire] {
			if !strings.Contains(whole, want) {
				t.Errorf("%s lacks %s", whole, want)
			}
		}
	}
}

type pieces struct {
	header http.Header
	all    [][]byte
}

func (p *pieces) Header() http.Header { return p.header }
func (p *pieces) WriteHeader(int)     {}
func (p *pieces) Write(b []byte) (int, error) {
	p.all = append(p.all, bytes.Clone(b))
	return len(b), nil
}

// Each fault does on a real connection what it says.
func TestFaults(t *testing.T) {
	for _, wire := range []Wire{Anthropic, OpenAI} {
		for _, stream := range []bool{false, true} {
			s, err := Start("", Options{Wire: wire, Drip: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			client := &http.Client{Timeout: 150 * time.Millisecond}
			for _, fault := range Faults {
				body, url := claude(``), s.Base()+"/v1/messages"
				if wire == OpenAI {
					body, url = gpt(``), s.Base()+"/chat/completions"
				}
				body = strings.TrimSuffix(body, "}") + fmt.Sprintf(`,"stream":%v}`, stream)
				s.Add(Reply{Text: strings.Repeat("some words ", 20), Fault: fault, RetryAfter: 3})
				req, err := http.NewRequest("POST", url, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Anthropic-Version", "2023-06-01")
				resp, err := client.Do(req)
				status, got := 0, []byte(nil)
				var readErr error
				if err == nil {
					status = resp.StatusCode
					got, readErr = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				ok := false
				switch fault {
				case RateLimited:
					ok = status == 429 && resp.Header.Get("Retry-After") == "3"
				case OutOfQuota:
					ok = status == 429 && resp.Header.Get("Retry-After") == ""
				case ServerError:
					ok = status == 500
				case Overloaded:
					ok = status == 529 || status == 503 && wire == OpenAI
				case Unauthorized:
					ok = status == 401
				case BadRequest:
					ok = status == 400
				case HTML:
					ok = status == 502 && strings.HasPrefix(string(got), "<html>")
				case Hang:
					ok = err != nil
				case Stall, Cut:
					ok = status == 200 && readErr != nil && len(got) > 0
				case Short:
					ok = status == 200 && readErr == nil && len(got) > 0 && !strings.Contains(string(got), "stop\"}")
				case Malformed:
					ok = status == 200 && readErr == nil && !json.Valid(got)
				case Empty:
					ok = status == 200 && readErr == nil && len(got) == 0
				case MidError:
					ok = status == 200 && readErr == nil && (!stream || strings.Contains(string(got), `"error":`))
				case Slow:
					ok = status == 200 && readErr == nil
				case IgnoreStream:
					ok = status == 200 && json.Valid(got)
				}
				if !ok {
					t.Errorf("%s stream=%v %s: %v, %d, %q, %v", wire, stream, fault, err, status, got, readErr)
				}
			}
		}
	}
}
