package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
)

// host calls host functions as a guest would, with arguments laid out in a
// memory of one page.
type host struct {
	*call
	mem memory
	end uint32 // of what is laid out
}

func newHost(kind wasmhost.Kind, in *wasmhost.Instance) *host {
	return &host{
		call: &call{ctx: context.Background(), kind: kind, in: in, handles: map[int32]*httpHandle{}},
		mem:  make(memory, sections.PageSize), end: 4096,
	}
}

// do calls a function; a string argument stands for its pointer and length.
func (h *host) do(name string, list ...any) int32 {
	var a args
	for _, arg := range list {
		switch arg := arg.(type) {
		case int:
			a = append(a, uint64(uint32(arg)))
		case string:
			copy(h.mem[h.end:], arg)
			a = append(a, uint64(h.end), uint64(len(arg)))
			h.end += uint32(len(arg))
		}
	}
	return hostFuncs[name](h.call, h.mem, a)
}

func (h *host) slotText() string { return string(h.slot) }

// WIT-36, WIT-37, WIT-40
func TestSlot(t *testing.T) {
	h := newHost(wasmhost.Tool, &wasmhost.Instance{})
	h.slot = []byte("abcdef")
	if n := h.do("slot_len"); n != 6 {
		t.Errorf("slot_len: %d", n)
	}
	if n := h.do("slot_read", 10, 4); n != 4 {
		t.Errorf("slot_read: %d", n)
	}
	if n := h.do("slot_read", 14, 100); n != 2 || h.do("slot_len") != 0 {
		t.Errorf("slot_read of the rest: %d", n)
	}
	if got, _ := h.mem.read(9, 8); string(got) != "\x00abcdef\x00" {
		t.Errorf("memory holds %q", got)
	}
	for _, bad := range [][2]int{{sections.PageSize - 1, 2}, {-1, 1}, {-4, 8}, {0, sections.PageSize + 1}} {
		if n := h.do("slot_read", bad[0], bad[1]); n != codeInvalid || h.slotText() == "" {
			t.Errorf("slot_read(%d, %d): %d %q", bad[0], bad[1], n, h.slot)
		}
	}
	if n := h.fillBytes(make([]byte, maxOutput+1)); n != codeTooLarge {
		t.Errorf("a slot of more than 64 MiB: %d", n)
	}
}

// WIT-37 to WIT-39, WIT-43 to WIT-45, WIT-57: codes of each function, by kind
// and context, and one line in the slot for each failure.
func TestCodes(t *testing.T) {
	full := &wasmhost.Instance{Imports: wasmhost.Imports{
		EmitChunk:    func(wasmhost.ChunkKind, string) {},
		RequestInput: func(_ context.Context, p string) (string, error) { return p + "!", nil },
		Invoke: func(_ context.Context, name string, in wasmhost.ToolInput) (wasmhost.ToolResult, error) {
			switch name {
			case "denied":
				return wasmhost.ToolResult{}, &wasmhost.Fault{Err: wasmhost.ErrDenied}
			case "broken":
				return wasmhost.ToolResult{}, errors.New("two\nlines")
			}
			return wasmhost.ToolResult{Status: wasmhost.Passed, Data: in.Data}, nil
		},
		Artifacts: manager{},
		Send: func(_ context.Context, url string, m wasmhost.Message) (wasmhost.TaskResult, error) {
			return wasmhost.TaskResult{TaskID: url, ContextID: m.MessageID, State: m.Text}, nil
		},
		Shell: func(_ context.Context, program string, args []string, env [][2]string) (wasmhost.ShellResult, error) {
			if program == "denied" {
				return wasmhost.ShellResult{}, fmt.Errorf("%w: %s", wasmhost.ErrDenied, program)
			}
			return wasmhost.ShellResult{ExitCode: -1, Stdout: fmt.Sprint(program, args, env)}, nil
		},
	}}
	bare := &wasmhost.Instance{}
	const bad = "\xff\xfe"
	tests := []struct {
		kind wasmhost.Kind
		in   *wasmhost.Instance
		name string
		args []any
		want int32
		slot string // "" for a failure: any text
	}{
		{wasmhost.Tool, full, "emit_chunk", []any{0, "hi"}, 0, ""},
		{wasmhost.Driver, bare, "emit_chunk", []any{1, "hi"}, 0, ""},
		{wasmhost.Tool, full, "emit_chunk", []any{2, "hi"}, codeInvalid, ""},
		{wasmhost.Tool, full, "emit_chunk", []any{0, bad}, codeInvalid, ""},
		{wasmhost.Tool, full, "emit_chunk", []any{0, -1, 5}, codeInvalid, ""},
		{wasmhost.Capsule, full, "emit_chunk", []any{0, "hi"}, codeUnavailable, ""},
		{wasmhost.Tool, full, "request_input", []any{"name?"}, 0, "name?!"},
		{wasmhost.Tool, full, "request_input", []any{bad}, codeInvalid, ""},
		{wasmhost.Tool, bare, "request_input", []any{"name?"}, codeUnavailable, ""},
		{wasmhost.Driver, full, "request_input", []any{"name?"}, codeUnavailable, ""},
		{wasmhost.Capsule, full, "invoke_tool", []any{"echo", `{"data":"x","other":1}`}, 0,
			`{"status":"passed","summary":null,"data":"x","data_path":null,"truncated":false,"metadata":[]}`},
		{wasmhost.Capsule, full, "invoke_tool", []any{"denied", `{}`}, codeDenied, ""},
		{wasmhost.Capsule, full, "invoke_tool", []any{"broken", `{}`}, codeInternal, "two lines"},
		{wasmhost.Capsule, full, "invoke_tool", []any{"echo", `[]`}, codeInvalid, ""},
		{wasmhost.Capsule, full, "invoke_tool", []any{"echo", `{"data":"` + bad + `"}`}, codeInvalid, ""},
		{wasmhost.Capsule, full, "invoke_tool", []any{bad, `{}`}, codeInvalid, ""},
		{wasmhost.Capsule, bare, "invoke_tool", []any{"echo", `{}`}, codeUnavailable, ""},
		{wasmhost.Tool, full, "invoke_tool", []any{"echo", `{}`}, codeUnavailable, ""},
		{wasmhost.Capsule, full, "call", []any{"artifacts.list", ""}, 0, `[]`},
		{wasmhost.Capsule, full, "call", []any{"artifacts.search", `{"query":"q"}`}, 0, `[{"name":"q","version":"1.0.0","runtime":"wasm"}]`},
		{wasmhost.Capsule, full, "call", []any{"artifacts.describe", `{"name":"a/b"}`}, 0,
			`{"name":"a/b","version":"","description":"","tags":[],"runtime":"","input_schema":null,"output_schema":null}`},
		{wasmhost.Capsule, full, "call", []any{"artifacts.describe", `{"name":"none"}`}, codeNotFound, ""},
		{wasmhost.Capsule, full, "call", []any{"artifacts.pull", `{"name":"a/b","version":"2.0.0"}`}, 0, `{"name":"a/b","version":"2.0.0","runtime":"wasm"}`},
		{wasmhost.Capsule, full, "call", []any{"artifacts.remove", `{"name":"a/b"}`}, 0, `true`},
		{wasmhost.Capsule, full, "call", []any{"artifacts.diagnostics", ` {} `}, 0, `{"capsule_id":"c","installed":[],"capabilities":"{}"}`},
		{wasmhost.Capsule, full, "call", []any{"artifacts.drop", `{}`}, codeInvalid, ""},
		{wasmhost.Capsule, full, "call", []any{"artifacts.list", `{`}, codeInvalid, ""},
		{wasmhost.Capsule, bare, "call", []any{"artifacts.list", `{}`}, codeUnavailable, ""},
		{wasmhost.Tool, full, "call", []any{"artifacts.list", `{}`}, codeUnavailable, ""},
		{wasmhost.Capsule, full, "call", []any{"run-inference", `{}`}, codeUnavailable, ""},
		{wasmhost.Capsule, full, "call", []any{"message.send", `{"peer_url":"u","message":{"message_id":"m","text":"t"}}`}, 0,
			`{"task_id":"u","context_id":"m","state":"t"}`},
		{wasmhost.Capsule, bare, "call", []any{"message.send", `{}`}, codeUnavailable, ""},
		{wasmhost.Capsule, full, "call", []any{"shell.run", `{"binary":"git","args":["log",""],"env":[["A","b"]]}`}, 0,
			`{"exit_code":-1,"stdout":"git[log ] [[A b]]","stderr":"","truncated":false,"full_output_path":null}`},
		{wasmhost.Capsule, full, "call", []any{"shell.run", `{"binary":"denied"}`}, codeDenied, ""},
		{wasmhost.Capsule, full, "call", []any{"shell.run", `{"binary":"git","args":"log"}`}, codeInvalid, ""},
		{wasmhost.Capsule, bare, "call", []any{"shell.run", `{"binary":"git"}`}, codeUnavailable, ""},
		{wasmhost.Tool, full, "call", []any{"shell.run", `{"binary":"git"}`}, codeUnavailable, ""},
		{wasmhost.Tool, full, "respond", []any{"{}"}, codeUnavailable, ""},
		{wasmhost.Tool, full, "http_open", []any{"{}"}, codeInvalid, ""},
		{wasmhost.Tool, full, "http_read", []any{7, 0, 1}, codeNotFound, ""},
		{wasmhost.Tool, full, "http_close", []any{7}, codeNotFound, ""},
	}
	for _, tt := range tests {
		h := newHost(tt.kind, tt.in)
		got := h.do(tt.name, tt.args...)
		if got != tt.want || tt.slot != "" && h.slotText() != tt.slot {
			t.Errorf("%s %s%q: %d %q, want %d %q", tt.kind, tt.name, tt.args, got, h.slot, tt.want, tt.slot)
		}
		if got < 0 && (len(h.slot) == 0 || bytes.ContainsAny(h.slot, "\r\n")) {
			t.Errorf("%s %s%q: slot %q is not one line", tt.kind, tt.name, tt.args, h.slot)
		}
	}
}

type manager struct{}

func (manager) List(context.Context) []wasmhost.ArtifactSummary { return nil }
func (manager) Describe(_ context.Context, name string) (wasmhost.ArtifactInfo, error) {
	if name == "none" {
		return wasmhost.ArtifactInfo{}, fs.ErrNotExist
	}
	return wasmhost.ArtifactInfo{Name: name}, nil
}
func (manager) Search(_ context.Context, q string) ([]wasmhost.ArtifactSummary, error) {
	return []wasmhost.ArtifactSummary{{Name: q, Version: "1.0.0", Runtime: "wasm"}}, nil
}
func (manager) Pull(_ context.Context, name, version string) (wasmhost.ArtifactSummary, error) {
	return wasmhost.ArtifactSummary{Name: name, Version: version, Runtime: "wasm"}, nil
}
func (manager) Remove(context.Context, string) (bool, error) { return true, nil }
func (manager) Diagnostics(context.Context) (wasmhost.RuntimeState, error) {
	return wasmhost.RuntimeState{CapsuleID: "c", Capabilities: "{}"}, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// WIT-41: what a request may be, and that an invalid one says nothing of its URL.
func TestHTTPOpenArguments(t *testing.T) {
	var sent *http.Request
	var body []byte
	in := &wasmhost.Instance{HTTP: roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r
		body, _ = io.ReadAll(r.Body)
		return &http.Response{StatusCode: 204, Header: http.Header{"X-B": {"2"}, "X-A": {"1", "3"}}, Body: http.NoBody}, nil
	})}
	for _, bad := range []string{
		`{`, `[]`, `{}`, `{"method":"GET"}`, `{"method":"G T","url":"http://h/"}`, `{"method":"GET","url":"ftp://h/"}`,
		`{"method":"GET","url":"file:///etc/passwd"}`, `{"method":"GET","url":"http://"}`,
		`{"method":"GET","url":"http://u:pass%zz@h/"}`, `{"method":"GET","url":"http://h/","body":"a","body_b64":"YQ=="}`,
		`{"method":"GET","url":"http://h/","body_b64":"?"}`, `{"method":"GET","url":"http://h/","headers":[["a b","c"]]}`,
		`{"method":"GET","url":"http://h/","headers":[["","c"]]}`, `{"method":"GET","url":"http://h/","headers":[["a","c\r\nx: y"]]}`,
		`{"method":"GET","url":"http://h/","headers":[["a"],1]}`,
	} {
		h := newHost(wasmhost.Tool, in)
		if n := h.do("http_open", bad); n != codeInvalid || strings.Contains(h.slotText(), "pass") || sent != nil {
			t.Errorf("%s: %d %q", bad, n, h.slot)
		}
	}
	h := newHost(wasmhost.Tool, in)
	n := h.do("http_open", `{"method":"POST","url":"http://h:81/p?q","body_b64":"AAE=","timeout_ms":1000,
		"headers":[["x-own","1"],["Host","evil"],["Connection","x-gone"],["x-gone","1"],["X-MURMUR-task","1"],["Transfer-Encoding","chunked"]]}`)
	if n <= 0 || h.slotText() != `{"status":204,"headers":[["x-a","1"],["x-a","3"],["x-b","2"]]}` {
		t.Errorf("%d %q", n, h.slot)
	}
	if got := sent.Header; len(got) != 1 || got.Get("X-Own") != "1" || sent.Host != "" || string(body) != "\x00\x01" || sent.URL.String() != "http://h:81/p?q" {
		t.Errorf("sent %v with %v and %q", sent, got, body)
	}
	if n := newHost(wasmhost.Tool, &wasmhost.Instance{}).do("http_open", `{"method":"GET","url":"http://h/"}`); n != codeDenied {
		t.Errorf("without a network: %d", n)
	}
}

// WIT-42
func TestHTTPReadAndHandles(t *testing.T) {
	var bodies []*closer
	in := &wasmhost.Instance{HTTP: roundTrip(func(r *http.Request) (*http.Response, error) {
		switch r.URL.Path {
		case "/denied":
			return nil, wasmhost.ErrDenied
		case "/down":
			return nil, errors.New("connection refused")
		case "/slow":
			<-r.Context().Done()
			return nil, r.Context().Err()
		case "/switch":
			return &http.Response{StatusCode: 101, Body: http.NoBody}, nil
		}
		b := &closer{Reader: iotest.OneByteReader(strings.NewReader("ab"))}
		if r.URL.Path == "/broken" {
			b.Reader = iotest.TimeoutReader(b.Reader)
		}
		bodies = append(bodies, b)
		return &http.Response{StatusCode: 200, Body: b}, nil
	})}
	h := newHost(wasmhost.Tool, in)
	open := func(path string) int32 {
		return h.do("http_open", `{"method":"GET","url":"http://h`+path+`","timeout_ms":50}`)
	}
	for path, want := range map[string]int32{"/denied": codeDenied, "/down": codeTransport, "/slow": codeTimeout, "/switch": codeTransport} {
		if n := open(path); n != want {
			t.Errorf("%s: %d %q, want %d", path, n, h.slot, want)
		}
	}
	id := int(open("/"))
	for i, want := range []int32{1, 1, 0, 0} {
		if n := h.do("http_read", id, 0, 10); n != want {
			t.Errorf("read %d: %d, want %d", i, n, want)
		}
	}
	if n := h.do("http_read", id, sections.PageSize-1, 2); n != codeInvalid {
		t.Errorf("outside memory: %d", n)
	}
	if n := h.do("http_close", id); n != 0 || !bodies[0].closed {
		t.Errorf("close: %d", n)
	}
	if n := h.do("http_read", id, 0, 10); n != codeNotFound {
		t.Errorf("read after close: %d", n)
	}
	id = int(open("/broken"))
	h.do("http_read", id, 0, 1)
	if n := h.do("http_read", id, 0, 1); n != codeTransport {
		t.Errorf("broken body: %d", n)
	}
	for len(h.handles) < maxHandles {
		if n := open("/"); n <= 0 {
			t.Fatalf("open: %d %q", n, h.slot)
		}
	}
	if n := open("/"); n != codeTooLarge {
		t.Errorf("one handle too many: %d %q", n, h.slot)
	}
}

type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

// A stream may last longer than timeout_ms; only one wait may not.
func TestTimeoutIsPerWait(t *testing.T) {
	r, w := io.Pipe()
	in := &wasmhost.Instance{HTTP: roundTrip(func(req *http.Request) (*http.Response, error) {
		context.AfterFunc(req.Context(), func() { r.CloseWithError(context.Cause(req.Context())) })
		return &http.Response{StatusCode: 200, Body: r}, nil
	})}
	h := newHost(wasmhost.Tool, in)
	id := int(h.do("http_open", `{"method":"GET","url":"http://h/","timeout_ms":100}`))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 4 {
			time.Sleep(50 * time.Millisecond)
			w.Write([]byte("x"))
		}
	}()
	for i := range 4 {
		if n := h.do("http_read", id, 0, 1); n != 1 {
			t.Fatalf("read %d: %d %q", i, n, h.slot)
		}
	}
	<-done
	if n := h.do("http_read", id, 0, 1); n != codeTimeout {
		t.Errorf("a wait that is too long: %d %q", n, h.slot)
	}
}
