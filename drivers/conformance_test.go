//go:build !race

// Compiling guests takes minutes under the race detector; what is concurrent
// here is tested with it in lib/wasmhost/core.

package drivers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/lib/murtest/provider"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
)

// The key is never in a guest: the gateway adds it.
const key = "sk-test-7c1e55aa"

var guests struct {
	sync.Mutex
	engine wasmhost.Engine
	dir    string
	built  map[string]wasmhost.Guest
}

func TestMain(m *testing.M) {
	status := m.Run()
	for _, g := range guests.built {
		g.Close()
	}
	if guests.dir != "" {
		guests.engine.Close()
		os.RemoveAll(guests.dir)
	}
	os.Exit(status)
}

// guest builds a driver with the Go tool chain, once.
func guest(t testing.TB, name string) wasmhost.Guest {
	t.Helper()
	guests.Lock()
	defer guests.Unlock()
	if g, ok := guests.built[name]; ok {
		return g
	}
	if guests.dir == "" {
		dir, err := os.MkdirTemp("", "drivers-")
		if err != nil {
			t.Fatal(err)
		}
		engine, err := core.New()
		if err != nil {
			t.Fatal(err)
		}
		guests.dir, guests.engine, guests.built = dir, engine, map[string]wasmhost.Guest{}
	}
	out := filepath.Join(guests.dir, name+".wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	g, err := guests.engine.Compile(t.Context(), wasm, wasmhost.Driver)
	if err != nil {
		t.Fatal(err)
	}
	guests.built[name] = g
	return g
}

// gateway sends what a driver addresses to 127.0.0.1:9 to a server, with the
// key, as the runtime's gateway does; everything else is refused.
type gateway struct {
	to     string
	header string
	value  string
}

func (g *gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" || req.URL.Host != "127.0.0.1:9" {
		return nil, fmt.Errorf("%s: %w", req.URL.Host, wasmhost.ErrDenied)
	}
	to, err := url.Parse(g.to)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = to.Scheme, to.Host, ""
	out.Header.Del(g.header)
	out.Header.Set(g.header, g.value)
	return http.DefaultTransport.RoundTrip(out)
}

// call is one driver call and what it emitted.
type call struct {
	answer   payload.Answer
	raw      string
	text     string
	thinking string
	took     time.Duration
}

// session is a driver with a provider behind it.
type session struct {
	t      *testing.T
	guest  wasmhost.Guest
	server *provider.Server
	path   string // of the endpoint
	auth   [2]string
	config string
}

func newSession(t *testing.T, wire provider.Wire, opt provider.Options) *session {
	t.Helper()
	opt.Wire, opt.Key = wire, key
	server, err := provider.Start("", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s := &session{t: t, guest: guest(t, string(wire)), server: server, auth: [2]string{"X-Api-Key", key}}
	if wire == provider.OpenAI {
		s.path, s.auth = "/v1", [2]string{"Authorization", "Bearer " + key}
	}
	return s
}

// call hands a request to the driver as the loop does (AGT-48) and reads the
// answer as it does (AGT-53).
func (s *session) call(req map[string]any) call {
	s.t.Helper()
	data, err := json.Marshal(req)
	if err != nil {
		s.t.Fatal(err)
	}
	text := string(data)
	var c call
	in := &wasmhost.Instance{
		Name:   "driver",
		Env:    []string{"MURMUR_INFERENCE_ENDPOINT=http://127.0.0.1:9" + s.path, "MURMUR_INFERENCE_DRIVER_CONFIG=" + s.config},
		HTTP:   &gateway{s.server.URL, s.auth[0], s.auth[1]},
		Limits: wasmhost.Limits{Deadline: 60 * time.Second},
		Imports: wasmhost.Imports{EmitChunk: func(kind wasmhost.ChunkKind, text string) {
			if kind == wasmhost.ThinkingChunk {
				c.thinking += text
			} else {
				c.text += text
			}
		}},
	}
	start := time.Now()
	res, err := s.guest.RunTool(s.t.Context(), in, wasmhost.ToolInput{Data: &text})
	c.took = time.Since(start)
	if err != nil {
		s.t.Fatalf("the driver could not be run: %v", err)
	}
	if res.Status != wasmhost.Passed || res.Data == nil {
		s.t.Fatalf("the driver answered %+v", res)
	}
	c.raw = *res.Data
	if err := json.Unmarshal([]byte(c.raw), &c.answer); err != nil {
		s.t.Fatalf("%v in %s", err, c.raw)
	}
	return c
}

type object = map[string]any

func said(role, text string) object {
	return object{"role": role, "content": []any{object{"type": "text", "text": text}}}
}

func result(id, text string, failed bool) object {
	return object{"role": "tool", "tool_call_id": id, "is_error": failed, "content": []any{object{"type": "text", "text": text}}}
}

// request is one of the loop's; the tool names include one no provider takes.
func request(messages ...any) object {
	return object{
		"model": "test-model", "max_tokens": 4096, "system": "You are\na test \U0001F9EA", "prompt_cache_key": "capsule:0.1.0:ctx",
		"params": object{}, "messages": messages,
		"tools": []any{
			object{"name": "python3.12", "description": "runs it", "parameters": object{"type": "object", "required": []any{"command"}, "properties": object{"command": object{"type": "string"}}}},
			object{"name": "todo-scan", "parameters": object{"type": "object", "properties": object{}}},
		},
	}
}

// forms are the ways an answer can come.
var forms = []struct {
	name   string
	config string
	opt    provider.Options
}{
	{"whole", `{"stream":false,"retries":0}`, provider.Options{}},
	{"stream", `{"retries":0}`, provider.Options{}},
	{"pieces", `{"retries":0}`, provider.Options{Pieces: 7, Drip: time.Millisecond}},
	{"crlf", `{"retries":0}`, provider.Options{Pieces: 3, CRLF: true, Drip: time.Millisecond}},
}

// eachForm runs f with both drivers and every form; what is waited for is
// waited for side by side.
func eachForm(t *testing.T, f func(t *testing.T, s *session, streams bool)) {
	t.Parallel()
	for _, wire := range []provider.Wire{provider.Anthropic, provider.OpenAI} {
		for _, form := range forms {
			t.Run(string(wire)+"/"+form.name, func(t *testing.T) {
				t.Parallel()
				s := newSession(t, wire, form.opt)
				s.config = form.config
				f(t, s, form.name != "whole")
				for _, r := range s.server.Requests() {
					if r.Refusal != "" {
						t.Errorf("the provider refused the request: %s\n%s", r.Refusal, r.Body)
					}
				}
			})
		}
	}
}

// AGT-48, AGT-53, AGT-56, WIT-16, WIT-41, WIT-43, WIT-46, WIT-50
func TestConversation(t *testing.T) {
	const awkward = "Grüße, \u4e16\u754c \U0001F469\u200D\U0001F680 <&> \"quoted\" \\ \u2028 end"
	eachForm(t, func(t *testing.T, s *session, streams bool) {
		s.server.Add(
			provider.Reply{Thinking: "first \U0001F914 think", Text: "Let me look.", Calls: []provider.Call{
				{ID: "use_1", Name: "python3_12", Input: json.RawMessage(`{"command":"print(\"\u00fc\")"}`)},
				{ID: "use_2", Name: "todo-scan"},
			}, Usage: &provider.Usage{Input: 100, Output: 20, Cached: 30, CacheWrite: 5}},
			provider.Reply{Text: awkward},
		)
		messages := []any{said("user", "What is here?")}
		c := s.call(request(messages...))
		want := []payload.Block{
			{Type: payload.Thinking, Text: "first \U0001F914 think", Signature: c.answer.Content[0].Signature},
			payload.TextBlock("Let me look."),
			{Type: payload.ToolCall, ID: "use_1", Name: "python3.12", Input: json.RawMessage(`{"command":"print(\"\u00fc\")"}`)},
			{Type: payload.ToolCall, ID: "use_2", Name: "todo-scan", Input: json.RawMessage(`{}`)},
		}
		if c.answer.StopReason != payload.StopToolCall || !same(c.answer.Content, want) {
			t.Errorf("answered %s", c.raw)
		}
		if u := c.answer.Usage; u == nil || *u.Input != 135 || *u.Output != 20 || *u.Cached != 30 {
			t.Errorf("usage in %s", c.raw)
		}
		if text, thinking := c.text, c.thinking; streams != (text == "Let me look.") || streams != (thinking == "first \U0001F914 think") {
			t.Errorf("emitted %q and %q", text, thinking)
		}
		var recorded struct{ Content []any }
		if err := json.Unmarshal([]byte(c.raw), &recorded); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, object{"role": "assistant", "content": recorded.Content},
			result("use_1", "\u00fc\n", false), result("use_2", "it failed", true))
		c = s.call(request(messages...))
		if c.answer.StopReason != payload.StopEndTurn || !same(c.answer.Content, []payload.Block{payload.TextBlock(awkward)}) {
			t.Errorf("answered %s", c.raw)
		}
		if streams && c.text != awkward || !streams && c.text != "" {
			t.Errorf("emitted %q", c.text)
		}
		requests := s.server.Requests()
		if len(requests) != 2 || requests[0].Stream != streams || strings.Join(requests[0].Tools, " ") != "python3_12 todo-scan" {
			t.Errorf("requests %+v", requests)
		}
		for _, r := range requests {
			if strings.Contains(string(r.Body), key) {
				t.Error("the body holds the key")
			}
		}
	})
}

func same(a, b []payload.Block) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// AGT-53
func TestStops(t *testing.T) {
	eachForm(t, func(t *testing.T, s *session, streams bool) {
		cut, odd := "max_tokens", "pause_turn"
		if s.path != "" {
			cut = "length"
		}
		s.server.Add(
			provider.Reply{Text: "half an ans", Stop: cut},
			provider.Reply{Text: "begun", Calls: []provider.Call{{Name: "todo-scan"}}, Stop: cut},
			provider.Reply{Text: "x", Stop: odd},
			provider.Reply{Calls: []provider.Call{{Name: "no-such-tool", Arguments: `{"a":1} trailing`}}},
			provider.Reply{Text: "  "},
		)
		req := request(said("user", "go"))
		for i, want := range []string{
			`{"stop_reason":"max_tokens","content":[{"type":"text","text":"half an ans"}]`,
			`{"stop_reason":"max_tokens","content":[{"type":"text","text":"begun"}]`, // nobody would answer the call
			`{"stop_reason":"pause_turn","content":[{"type":"text","text":"x"}]`,
			`"name":"no-such-tool","input":"{\"a\":1} trailing"}]`,
			`{"stop_reason":"end_turn","content":[{"type":"text","text":"  "}]`,
		} {
			if c := s.call(req); !strings.Contains(c.raw, want) {
				t.Errorf("answer %d: %s, want %s", i, c.raw, want)
			}
		}
	})
}

// An answer comes whatever the provider does: AGT-53, AGT-58
func TestFaults(t *testing.T) {
	want := map[provider.Fault]string{
		provider.RateLimited:  "answered 429 (",
		provider.OutOfQuota:   "answered 429 (",
		provider.ServerError:  "answered 500 (",
		provider.Overloaded:   "Overloaded",
		provider.Unauthorized: "answered 401 (",
		provider.BadRequest:   "answered 400 (invalid_request_error): the request is refused",
		provider.HTML:         "answered 502: <html>",
		provider.Hang:         "can not be reached: timed out",
		provider.Stall:        "broke off",
		provider.Cut:          "broke off",
		provider.Short:        "",
		provider.Malformed:    "malformed",
		provider.Empty:        "",
		provider.MidError:     "",
		provider.Slow:         "-",
		provider.IgnoreStream: "-",
	}
	eachForm(t, func(t *testing.T, s *session, streams bool) {
		config := s.config
		for _, fault := range provider.Faults {
			if s.config = config; fault == provider.Hang || fault == provider.Stall {
				s.config = strings.Replace(config, "{", `{"timeout_secs":0.3,`, 1)
			}
			s.server.Add(provider.Reply{Thinking: "hm", Text: "A longer answer, which can be cut in the middle of it", Fault: fault, RetryAfter: 7})
			c := s.call(request(said("user", "go")))
			wanted, ok := want[fault]
			switch {
			case !ok:
				t.Errorf("%s is not tested", fault)
			case wanted == "-":
				if c.answer.StopReason != payload.StopEndTurn || c.answer.Error != "" {
					t.Errorf("%s: %s", fault, c.raw)
				}
			case c.answer.StopReason != payload.StopError || c.answer.Error == "" || !strings.Contains(c.answer.Error, wanted):
				t.Errorf("%s: %s", fault, c.raw)
			}
			if c.took > 20*time.Second {
				t.Errorf("%s took %v", fault, c.took)
			}
			if fault == provider.RateLimited && !strings.Contains(c.answer.Error, "tried again in 7 s") {
				t.Errorf("%s: %s", fault, c.raw)
			}
		}
		if n := len(s.server.Requests()); n != len(provider.Faults) {
			t.Errorf("%d requests for %d calls without retries", n, len(provider.Faults))
		}
	})
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for _, wire := range []provider.Wire{provider.Anthropic, provider.OpenAI} {
		s := newSession(t, wire, provider.Options{})
		s.server.Add(provider.Reply{Fault: provider.RateLimited}, provider.Reply{Fault: provider.Overloaded}, provider.Reply{Text: "at last"})
		c := s.call(request(said("user", "go")))
		if c.text != "at last" || len(s.server.Requests()) != 3 || c.took < 2*time.Second {
			t.Errorf("%s: %s after %v and %d requests", wire, c.raw, c.took, len(s.server.Requests()))
		}
		// Neither what waiting does not cure nor what has begun to be shown.
		for _, fault := range []provider.Fault{provider.OutOfQuota, provider.Unauthorized, provider.BadRequest, provider.Cut} {
			before := len(s.server.Requests())
			s.server.Add(provider.Reply{Text: "some text to be cut", Fault: fault})
			if c := s.call(request(said("user", "go"))); c.answer.StopReason != payload.StopError || len(s.server.Requests()) != before+1 {
				t.Errorf("%s %s: %s", wire, fault, c.raw)
			}
		}
		// A wait that is too long is not waited.
		s.server.Add(provider.Reply{Fault: provider.RateLimited, RetryAfter: 3600})
		if c := s.call(request(said("user", "go"))); !strings.Contains(c.answer.Error, "in 3600 s") || c.took > 10*time.Second {
			t.Errorf("%s: %s", wire, c.raw)
		}
	}
}

func TestCredentials(t *testing.T) {
	for _, wire := range []provider.Wire{provider.Anthropic, provider.OpenAI} {
		s := newSession(t, wire, provider.Options{})
		s.server.SetKey("another")
		c := s.call(request(said("user", "go")))
		if !strings.Contains(c.answer.Error, "answered 401 (") || strings.Contains(c.raw, key) {
			t.Errorf("%s: %s", wire, c.raw)
		}
	}
}

// A driver without a gateway, with a configuration nobody knows, or called with
// something else, says so.
func TestMisuse(t *testing.T) {
	for _, wire := range []provider.Wire{provider.Anthropic, provider.OpenAI} {
		s := newSession(t, wire, provider.Options{})
		for config, want := range map[string]string{
			`{"streem":true}`:    `unknown field \"streem\"`,
			`{"retries":-1}`:     "retries is negative",
			`{"timeout_secs":0}`: "timeout_secs is not above 0",
			`[]`:                 "inference.driver.config",
		} {
			s.config = config
			if c := s.call(request(said("user", "go"))); !strings.Contains(c.raw, want) {
				t.Errorf("%s: %s", config, c.raw)
			}
		}
	}
}

func TestReplay(t *testing.T) {
	run := func(env string, dirs []wasmhost.Dir, req object) (wasmhost.ToolResult, string) {
		data, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		text, emitted := string(data), ""
		res, err := guest(t, "replay").RunTool(t.Context(), &wasmhost.Instance{
			Name: "replay", Env: []string{env}, Dirs: dirs,
			Imports: wasmhost.Imports{EmitChunk: func(_ wasmhost.ChunkKind, s string) { emitted += s }},
		}, wasmhost.ToolInput{Data: &text})
		if err != nil {
			t.Fatal(err)
		}
		return res, emitted
	}
	const answers = `{"stop_reason":"tool_call","content":[{"type":"text","text":"looking"},{"type":"tool_call","id":"c1","name":"todo-scan","input":{}}]}
{"stop_reason":"end_turn","content":[{"type":"text","text":"{{c1 /marks/0}} of {{c1}}, {{other}}"}],"expect":["FIXME"],"fill":true}`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.jsonl"), []byte(answers), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	first := said("user", "go")
	second := object{"role": "assistant", "content": []any{object{"type": "tool_call", "id": "c1", "name": "todo-scan", "input": object{}}}}
	third := result("c1", "<untrusted-content source=tool:todo-scan>\n{\"marks\":[\"FIXME\"]}\n</untrusted-content>\na note", false)
	inline := "MURMUR_ARTIFACT_CONFIG={\"answers\":[" + strings.ReplaceAll(answers, "\n", ",") + "]}"
	for _, env := range []string{inline, `MURMUR_INFERENCE_DRIVER_CONFIG={"script":"script.jsonl"}`} {
		dirs := []wasmhost.Dir{{Guest: ".", Root: root}}
		res, emitted := run(env, dirs, request(first))
		if *res.Data != `{"stop_reason":"tool_call","content":[{"type":"text","text":"looking"},{"type":"tool_call","id":"c1","name":"todo-scan","input":{}}]}` || emitted != "looking" {
			t.Errorf("%s, emitted %q", *res.Data, emitted)
		}
		res, emitted = run(env, dirs, request(first, second, third))
		if want := `FIXME of {"marks":["FIXME"]}, {{other}}`; emitted != want {
			t.Errorf("%s, emitted %q", *res.Data, emitted)
		}
		res, _ = run(env, dirs, request(first, second, result("c1", "nothing", false)))
		if !strings.Contains(*res.Data, `expects \"FIXME\"`) {
			t.Error(*res.Data)
		}
		res, _ = run(env, dirs, request(first, second, third, second, third))
		if !strings.Contains(*res.Data, "the script has 2 answers, and this is call 3") {
			t.Error(*res.Data)
		}
	}
	if res, _ := run("A=b", nil, request(first)); !strings.Contains(*res.Data, "no answers are configured") {
		t.Error(*res.Data)
	}
}
