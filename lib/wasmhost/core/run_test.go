package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// WIT-46, WIT-51, WIT-62, WIT-63
func TestToolCommand(t *testing.T) { onEach(t, testToolCommand) }

func testToolCommand(t *testing.T) {
	in := instance()
	in.Env = []string{"A=1", "B=x=y", "PWD=/elsewhere"}
	if got := run(t, in, do{"do": "echo", "text": "héllo"}); got != "héllo" {
		t.Errorf("echo: %q", got)
	}
	if got := run(t, in, do{"do": "args"}); got != "try tool-run" {
		t.Errorf("args: %q", got)
	}
	if got := run(t, in, do{"do": "env"}); got != "A=1\nB=x=y\nPWD=/" {
		t.Errorf("env: %q", got)
	}
	var at int64
	fmt.Sscan(run(t, in, do{"do": "time"}), &at)
	if d := time.Since(time.Unix(at, 0)); d < -2*time.Second || d > 10*time.Second {
		t.Errorf("the guest's clock is off by %v", d)
	}
	start := time.Now()
	if got := run(t, in, do{"do": "sleep", "n": 50}); got != "slept" || time.Since(start) < 50*time.Millisecond {
		t.Errorf("sleep: %q after %v", got, time.Since(start))
	}
	if a, b := run(t, in, do{"do": "random"}), run(t, in, do{"do": "random"}); a == b || len(a) != 32 {
		t.Errorf("random: %q, %q", a, b)
	}
}

// WIT-43, WIT-44
func TestChunksAndInput(t *testing.T) { onEach(t, testChunksAndInput) }

func testChunksAndInput(t *testing.T) {
	in := instance()
	if got := run(t, in, do{"do": "chunk", "text": "x"}); got != "" {
		t.Errorf("outside a task: %q", got)
	}
	if got := run(t, in, do{"do": "ask", "text": "x"}); !strings.Contains(got, "not available") {
		t.Errorf("outside a task: %q", got)
	}
	var got []string
	in.Imports.EmitChunk = func(k wasmhost.ChunkKind, s string) { got = append(got, fmt.Sprint(k, s)) }
	in.Imports.RequestInput = func(_ context.Context, p string) (string, error) { return "<" + p + ">", nil }
	run(t, in, do{"do": "chunk", "text": "x"})
	if fmt.Sprint(got) != "[0x 1x?]" {
		t.Errorf("chunks: %q", got)
	}
	if got := run(t, in, do{"do": "ask", "text": "x"}); got != "<x>" {
		t.Errorf("answer: %q", got)
	}
	none := errors.New("no answer within the time for it")
	in.Imports.RequestInput = func(context.Context, string) (string, error) { return "", none }
	if f := faultOf(t, context.Background(), in, do{"do": "ask"}); f.Cause != wasmhost.Trapped || !errors.Is(f, none) {
		t.Errorf("no answer: %v", f)
	}
}

// WIT-45, WIT-52
func TestCapsule(t *testing.T) { onEach(t, testCapsule) }

func testCapsule(t *testing.T) {
	g := testGuest(t, wasmhost.Capsule)
	var out, log bytes.Buffer
	in := &wasmhost.Instance{Name: "report", Stdout: &out, Stderr: &log}
	in.Imports.Invoke = func(_ context.Context, name string, input wasmhost.ToolInput) (wasmhost.ToolResult, error) {
		if name != "echo" {
			return wasmhost.ToolResult{}, fmt.Errorf("tool %q is not declared: %w", name, wasmhost.ErrDenied)
		}
		return wasmhost.ToolResult{Status: wasmhost.Failed, Data: input.Data, Metadata: [][2]string{{"k", "v"}}}, nil
	}
	runs := func(action string) error {
		out.Reset()
		log.Reset()
		in.Env = []string{"DO=" + action}
		return g.RunCapsule(context.Background(), in)
	}
	if err := runs(`{"do":"args"}`); err != nil || out.String() != "report capsule-run" {
		t.Errorf("args: %q, %v", &out, err)
	}
	if err := runs(`{"do":"invoke","path":"echo","text":"hi"}`); err != nil || out.String() != `{"status":"failed","data":"hi","metadata":[["k","v"]]}` {
		t.Errorf("invoke: %q, %v", &out, err)
	}
	err := runs(`{"do":"invoke","path":"other"}`)
	var f *wasmhost.Fault
	if !errors.As(err, &f) || f.Cause != wasmhost.Exited || f.Status != 1 || !strings.Contains(log.String(), "denied by policy") || log.String() != f.Stderr {
		t.Errorf("undeclared tool: %v, %q", err, &log)
	}
	if err := runs(`{"do":"chunk"}`); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("chunk: %v", err)
	}
	if _, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{}); err == nil {
		t.Error("a capsule ran as a tool")
	}
	if err := testGuest(t, wasmhost.Tool).RunCapsule(context.Background(), in); err == nil {
		t.Error("a tool ran as a capsule")
	}
}

// answering is a reactor that reads its request from the slot to address 2048
// and answers with data of length n at 1024.
func answering(data string, times int, status int64) wasm {
	handle := code(callFn(0, 2048, 1000), opDrop)
	for range times {
		handle = code(handle, callFn(1, 1024, int64(len(data))), opDrop)
	}
	w := reactor(nil, code(handle, i32(status)), coreModule, "slot_read", "ii:i", coreModule, "respond", "ii:i", wasiModule, "proc_exit", "i:")
	w.data = data
	return w
}

// WIT-55, WIT-56
func TestReactor(t *testing.T) { onEach(t, testReactor) }

func testReactor(t *testing.T) {
	g := compile(t, answering(`{"status":"passed","data":"r"}`, 1, 0))
	for range 2 {
		res, err := g.RunTool(context.Background(), instance(), input(do{}))
		if err != nil || *res.Data != "r" {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
	// A reactor that answers with the request itself shows what it was given.
	echo := answering("", 0, 0)
	echo.funcs[1].code = code(
		callFn(0, 1024, 1000), opDrop, // slot_read
		callFn(1, 1024, int64(len(`{"op":"tool-run","input":{"data":"d","log_path":null}}`))), opDrop, i32(0))
	d := "d"
	_, err := compile(t, echo).RunTool(context.Background(), instance(), wasmhost.ToolInput{Data: &d})
	if err == nil || !strings.Contains(err.Error(), `"status" is missing`) {
		t.Errorf("the request is not the object expected: %v", err)
	}
	exits := answering("{}", 1, 0)
	exits.funcs[1].code = code(exits.funcs[1].code, opDrop, callFn(2, 0), i32(0))
	for says, w := range map[string]wasm{
		"respond was not called":   answering("{}", 0, 0),
		"respond was called twice": answering(`{"status":"passed"}`, 2, 0),
		"returned 7":               answering(`{"status":"passed"}`, 1, 7),
		"returned -1":              answering(`{"status":"passed"}`, 1, -1),
		"missing":                  answering("{}", 1, 0),
		"exited without an answer": exits,
	} {
		if f := runFault(t, compile(t, w), instance()); f.Cause != wasmhost.BadOutput || !strings.Contains(f.Error(), says) {
			t.Errorf("%s: got %v", says, f)
		}
	}
}

// ART-127, ART-128: a form makes the same guest, on an engine of the same
// fingerprint only, and one that is not what was written is refused.
func TestForm(t *testing.T) { onEach(t, testForm) }

func testForm(t *testing.T) {
	ctx := context.Background()
	g := compile(t, answering(`{"status":"passed","data":"r"}`, 1, 0))
	form, err := g.Form()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := g.Form(); err != nil || !bytes.Equal(again, form) {
		t.Errorf("a second form differs, %v", err)
	}
	if info := engine.Info(); info.Name != engine.name || strings.ContainsAny(info.Fingerprint, "/ ") {
		t.Errorf("info: %+v", info)
	}
	loaded, err := engine.Load(ctx, formFile(t, form), wasmhost.Tool)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	if res, err := loaded.RunTool(ctx, instance(), wasmhost.ToolInput{}); err != nil || *res.Data != "r" {
		t.Errorf("loaded: %+v, %v", res, err)
	}
	if loaded.Interface() != "murmur:tool/run@0.1.0" {
		t.Errorf("interface %q", loaded.Interface())
	}
	bad := map[string][]byte{
		"empty":     nil,
		"a module":  answering("{}", 1, 0).bytes(),
		"cut off":   form[:len(form)-1],
		"half":      form[:len(form)/2],
		"something": []byte("something else"),
	}
	for name, b := range bad {
		var le *wasmhost.LoadError
		if _, err := engine.Load(ctx, formFile(t, b), wasmhost.Tool); !errors.As(err, &le) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var le *wasmhost.LoadError
	if _, err := engine.Load(ctx, formFile(t, form), "process-driver"); !errors.As(err, &le) || le.Reason != wasmhost.BadExport {
		t.Errorf("as an unknown kind: %v", err)
	}
	if _, err := engine.Load(ctx, formFile(t, form), wasmhost.Capsule); err != nil {
		t.Errorf("as another kind: %v", err)
	}
}

// A guest may call itself as deep as Go programs do, also one that a guest just as
// deep has invoked: both stand on one thread (WIT-66).
func TestRecursion(t *testing.T) { onEach(t, testRecursion) }

func testRecursion(t *testing.T) {
	const deep = 5000
	tool, capsule := testGuest(t, wasmhost.Tool), testGuest(t, wasmhost.Capsule)
	var out bytes.Buffer
	in := &wasmhost.Instance{Name: "report", Stdout: &out, Env: []string{fmt.Sprintf(`DO={"do":"deep","n":%d,"path":"t"}`, deep)}}
	in.Imports.Invoke = func(ctx context.Context, _ string, _ wasmhost.ToolInput) (wasmhost.ToolResult, error) {
		return tool.RunTool(ctx, instance(), input(do{"do": "deep", "n": deep}))
	}
	if err := capsule.RunCapsule(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if dots := strings.Repeat(".", deep); out.String() != `"bottom`+dots+`"`+dots {
		t.Errorf("%d bytes: %.60q", out.Len(), &out)
	}
}

// What a guest left open is closed with it (WIT-42).
func TestHandlesAreClosed(t *testing.T) { onEach(t, testHandlesAreClosed) }

func testHandlesAreClosed(t *testing.T) {
	const request = `{"method":"GET","url":"http://h/"}`
	open := command(callFn(0, 1024, int64(len(request))), coreModule, "http_open", "ii:i")
	open.funcs[0].code = code(open.funcs[0].code, opDrop)
	open.data = request
	trapped := open
	trapped.funcs = []fn{{export: "_start", sig: ":", code: code(open.funcs[0].code, trap)}}
	for name, w := range map[string]wasm{"returns": open, "traps": trapped} {
		body := &bodyCloser{}
		var ctx context.Context
		in := instance()
		in.HTTP = roundTrip(func(r *http.Request) (*http.Response, error) {
			ctx = r.Context()
			return &http.Response{StatusCode: 200, Body: body}, nil
		})
		runFault(t, compile(t, w), in)
		if ctx == nil || ctx.Err() == nil || !body.closed {
			t.Errorf("a guest that %s: body closed: %v, request over: %v", name, body.closed, ctx != nil && ctx.Err() != nil)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type bodyCloser struct{ closed bool }

func (b *bodyCloser) Read([]byte) (int, error) { return 0, io.EOF }
func (b *bodyCloser) Close() error             { b.closed = true; return nil }

// One guest, many calls at once; run with -race.
func TestConcurrentCalls(t *testing.T) { onEach(t, testConcurrentCalls) }

func testConcurrentCalls(t *testing.T) {
	dir, work := workFolder(t)
	_ = dir
	g := testGuest(t, wasmhost.Tool)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 5 {
				in := instance()
				in.Dirs = []wasmhost.Dir{work}
				name := fmt.Sprintf("f%d", i)
				for _, d := range []do{{"do": "write", "path": name, "text": fmt.Sprint(n)}, {"do": "read", "path": name}} {
					res, err := g.RunTool(context.Background(), in, input(d))
					if err != nil || res.Status != wasmhost.Passed {
						t.Errorf("%v: %+v, %v", d, res, err)
					} else if d["do"] == "read" && *res.Data != fmt.Sprint(n) {
						t.Errorf("%s holds %q, want %d", name, *res.Data, n)
					}
				}
				in.Limits.Deadline = 30 * time.Millisecond
				if _, err := g.RunTool(context.Background(), in, input(do{"do": "spin"})); err == nil {
					t.Error("an endless loop ended")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCompileGo(b *testing.B) { benchEach(b, benchmarkCompileGo) }

func benchmarkCompileGo(b *testing.B) {
	wasm, err := goGuest()
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes of wasm", len(wasm))
	for b.Loop() {
		g, err := engine.Compile(context.Background(), wasm, wasmhost.Tool)
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

func BenchmarkLoadGo(b *testing.B) { benchEach(b, benchmarkLoadGo) }

func benchmarkLoadGo(b *testing.B) {
	path, err := engine.goForm()
	if err != nil {
		b.Fatal(err)
	}
	if fi, err := os.Stat(path); err == nil {
		b.Logf("%d bytes of form", fi.Size())
	}
	for b.Loop() {
		g, err := engine.loadGo(wasmhost.Tool)
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

func BenchmarkCallGo(b *testing.B) { benchEach(b, benchmarkCallGo) }

func benchmarkCallGo(b *testing.B) {
	in := instance()
	run(b, in, do{"do": "echo"})
	for b.Loop() {
		run(b, in, do{"do": "echo"})
	}
}

func BenchmarkCallReactor(b *testing.B) { benchEach(b, benchmarkCallReactor) }

func benchmarkCallReactor(b *testing.B) {
	g := compile(b, answering(`{"status":"passed"}`, 1, 0))
	in := instance()
	for b.Loop() {
		if _, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{}); err != nil {
			b.Fatal(err)
		}
	}
}
