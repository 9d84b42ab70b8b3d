package core_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// compile makes a tool of a hand-made module.
func compile(t testing.TB, w wasm) wasmhost.Guest {
	t.Helper()
	g, err := engine.Compile(context.Background(), w.bytes(), wasmhost.Tool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func runFault(t *testing.T, g wasmhost.Guest, in *wasmhost.Instance) *wasmhost.Fault {
	t.Helper()
	res, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{})
	var f *wasmhost.Fault
	if !errors.As(err, &f) {
		t.Fatalf("got %+v, %v; want a fault", res, err)
	}
	return f
}

var (
	spin    = code(opLoop, opVoid, opBr, 0, opEnd)
	trap    = code(opUnreachable)
	grow    = func(pages int64) []byte { return code(i32(pages), 0x40, 0) } // memory.grow
	ifMinus = func(then []byte) []byte { return code(i32(-1), 0x46, opIf, opVoid, then, opEnd) }
)

// WIT-32, WIT-64, CON-263
func TestFaults(t *testing.T) { onEach(t, testFaults) }

func testFaults(t *testing.T) {
	small := wasmhost.Limits{MemoryBytes: 2 << 16, TableElements: 10}
	exit := func(status int64) []byte { return callFn(0, status) }
	exitImport := []string{wasiModule, "proc_exit", "i:"}
	tests := []struct {
		name  string
		w     wasm
		cause wasmhost.Cause
		limit string
		says  string
	}{
		{"unreachable", command(trap), wasmhost.Trapped, "", "unreachable"},
		{"out of bounds", command(code(i32(-4), 0x28, 2, 0, opDrop)), wasmhost.Trapped, "", "out of bounds"},
		{"division", command(code(i32(1), i32(0), 0x6d, opDrop)), wasmhost.Trapped, "", "divide by zero"},
		{"recursion", command(code(opCall, 0)), wasmhost.Trapped, "", "stack overflow"},
		{"start function traps", wasm{start: trap, funcs: []fn{{export: "_start", sig: ":"}}}, wasmhost.Trapped, "", "unreachable"},
		{"loop", command(spin), wasmhost.DeadlinePassed, "", "deadline"},
		{"start function loops", wasm{start: spin, funcs: []fn{{export: "_start", sig: ":"}}}, wasmhost.DeadlinePassed, "", ""},
		{"reactor's initialisation loops", reactor(spin, i32(0)), wasmhost.DeadlinePassed, "", ""},
		{"refused growth, then a trap", command(code(grow(2), ifMinus(trap))), wasmhost.LimitReached, "limits.memory_bytes", "131072"},
		{"refused growth, then an exit", command(code(grow(2), ifMinus(exit(3))), exitImport...), wasmhost.LimitReached, "limits.memory_bytes", ""},
		{"refused growth, then a loop", command(code(grow(2), ifMinus(spin))), wasmhost.LimitReached, "limits.memory_bytes", ""},
		{"growth beyond the module's own maximum", withMemory(command(code(grow(1), ifMinus(trap))), 1, 1), wasmhost.Trapped, "", "unreachable"},
		{"growth within the limit", command(code(grow(1), ifMinus(trap))), wasmhost.BadOutput, "", "empty"},
		{"starts too large", withMemory(command(nil), 3), wasmhost.LimitReached, "limits.memory_bytes", "131072"},
		{"table too large", withTable(command(nil), 11), wasmhost.LimitReached, "limits.table_elements", "more than 10"},
		{"table growth is refused", withTable(command(code(0xd0, 0x70, i32(1), 0xfc, 0x0f, 0, ifMinus(trap))), 10), wasmhost.Trapped, "", "unreachable"},
		{"table growth within the limit", withTable(command(code(0xd0, 0x70, i32(1), 0xfc, 0x0f, 0, ifMinus(trap))), 9), wasmhost.BadOutput, "", "empty"},
		{"exit", command(exit(3), exitImport...), wasmhost.Exited, "", "status 3"},
		{"exit with the engine's own numbers", command(exit(-1), exitImport...), wasmhost.Exited, "", "status 4294967295"},
		{"exit with the engine's other number", command(exit(0xefffffff), exitImport...), wasmhost.Exited, "", "status 4026531839"},
		{"raise", command(code(callFn(0, 9), opDrop), wasiModule, "proc_raise", "i:i"), wasmhost.Trapped, "", "signal 9"},
		{"returns without output", command(nil), wasmhost.BadOutput, "", "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			limits := small
			if strings.Contains(tt.name, "loop") {
				limits.Deadline = 200 * time.Millisecond
			}
			f := runFault(t, compile(t, tt.w), &wasmhost.Instance{Name: "try", Limits: limits})
			if f.Cause != tt.cause || f.Limit != tt.limit || !strings.Contains(f.Error(), tt.says) || strings.Contains(f.Error(), "\n") {
				t.Errorf("got %s %q: %v", f.Cause, f.Limit, f)
			}
			if d := time.Since(start); limits.Deadline > 0 && d > time.Second { // CON-262
				t.Errorf("ended after %v", d)
			}
		})
	}
}

func withMemory(w wasm, limits ...uint32) wasm { w.memory = limits; return w }
func withTable(w wasm, limits ...uint32) wasm  { w.table = limits; return w }

// WIT-61: sockets are not supported, and hostile arguments of poll_oneoff end
// in an error number.
func TestWASIEdges(t *testing.T) { onEach(t, testWASIEdges) }

func testWASIEdges(t *testing.T) {
	const notsup, inval, fault = 58, 28, 21
	expect := func(call []byte, want int64) wasm {
		// if (call != want) unreachable
		return command(code(call, i32(want), 0x47, opIf, opVoid, trap, opEnd),
			wasiModule, "sock_shutdown", "ii:i", wasiModule, "poll_oneoff", "iiii:i")
	}
	for name, w := range map[string]wasm{
		"sock_shutdown":        expect(callFn(0, 3, 0), notsup),
		"no subscriptions":     expect(callFn(1, 0, 0, 0, 0), inval),
		"too many":             expect(callFn(1, 0, 0, 0x05555556, 0), fault), // 48 times this wraps around
		"outside memory":       expect(callFn(1, -8, 0, 1, 0), fault),
		"events outside":       expect(callFn(1, 0, -8, 1, 0), fault),
		"result outside":       expect(callFn(1, 0, 64, 1, -2), fault),
		"overlapping in place": expect(callFn(1, 0, 0, 1, 100), 0),
	} {
		t.Run(name, func(t *testing.T) {
			if f := runFault(t, compile(t, w), instance()); f.Cause != wasmhost.BadOutput {
				t.Errorf("got %v", f)
			}
		})
	}
}

// WIT-48
func TestExitCarriesStderr(t *testing.T) { onEach(t, testExitCarriesStderr) }

func testExitCarriesStderr(t *testing.T) {
	f := faultOf(t, context.Background(), instance(), do{"do": "exit", "n": 3, "text": strings.Repeat("x", 5000) + "why"})
	if f.Cause != wasmhost.Exited || f.Status != 3 || len(f.Stderr) != 4096 || !strings.HasSuffix(f.Stderr, "why") {
		t.Errorf("got %v status %d, %d bytes", f.Cause, f.Status, len(f.Stderr))
	}
	f = faultOf(t, context.Background(), instance(), do{"do": "panic", "text": "oh no"})
	if f.Cause != wasmhost.Exited || f.Status != 2 || !strings.Contains(f.Stderr, "panic: oh no") {
		t.Errorf("got %v", f)
	}
}

// WIT-47
func TestBadOutput(t *testing.T) { onEach(t, testBadOutput) }

func testBadOutput(t *testing.T) {
	for out, says := range map[string]string{
		" ": "empty", "plain text": "not a JSON object", `{"status":"passed"} {}`: "something follows",
		`{"status":"great"}`: "great", `{"data":"x"}`: "missing", `{"status":"passed","truncated":"no"}`: "truncated",
	} {
		f := faultOf(t, context.Background(), instance(), do{"do": "print", "text": out})
		if f.Cause != wasmhost.BadOutput || !strings.Contains(f.Error(), says) {
			t.Errorf("%q: got %v", out, f)
		}
	}
	start := time.Now()
	f := faultOf(t, context.Background(), instance(), do{"do": "flood"})
	if f.Cause != wasmhost.BadOutput || !strings.Contains(f.Error(), "over 67108864") {
		t.Errorf("flood: %v after %v", f, time.Since(start))
	}
}

// WIT-49
func TestStderrIsCapped(t *testing.T) { onEach(t, testStderrIsCapped) }

func testStderrIsCapped(t *testing.T) {
	var log bytes.Buffer
	in := instance()
	in.Stderr = &log
	run(t, in, do{"do": "stderr", "n": 20000, "text": "0123456789"})
	if log.Len() != 64<<10 {
		t.Errorf("%d bytes were passed on", log.Len())
	}
}

// A Go guest out of memory exits; what ended it is the limit (CON-263, MAN-130).
func TestMemoryLimitOfGoGuest(t *testing.T) { onEach(t, testMemoryLimitOfGoGuest) }

func testMemoryLimitOfGoGuest(t *testing.T) {
	in := instance()
	in.Limits.MemoryBytes = 32 << 20
	if f := faultOf(t, context.Background(), in, do{"do": "alloc", "n": 100}); f.Cause != wasmhost.LimitReached || f.Limit != "limits.memory_bytes" {
		t.Errorf("got %v", f)
	}
	if got := run(t, in, do{"do": "alloc", "n": 5}); got != "5" {
		t.Errorf("got %q", got)
	}
}

type blockedWriter struct{ release chan struct{} }

func (w blockedWriter) Write(p []byte) (int, error) { <-w.release; return len(p), nil }

// CON-261, CON-262: time spent in a host call counts and the call is ended.
func TestDeadlineInHostCalls(t *testing.T) { onEach(t, testDeadlineInHostCalls) }

func testDeadlineInHostCalls(t *testing.T) {
	testGuest(t, wasmhost.Tool) // compiled before time is taken
	dir, work := workFolder(t)
	if err := mkfifo(dir + "/pipe"); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	in := instance()
	in.Dirs = []wasmhost.Dir{work}
	in.Stderr = blockedWriter{release}
	in.Limits.Deadline = 200 * time.Millisecond
	in.Imports.RequestInput = func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done()
		return "too late", nil
	}
	for _, d := range []do{
		{"do": "spin"}, {"do": "sleep", "n": 30000}, {"do": "ask"}, {"do": "stderr", "n": 1, "text": "x"},
	} {
		start := time.Now()
		f := faultOf(t, context.Background(), in, d)
		if f.Cause != wasmhost.DeadlinePassed || time.Since(start) > time.Second {
			t.Errorf("%v: %v after %v", d, f, time.Since(start))
		}
	}
	in.Limits.Deadline = 20 * time.Second
	for _, d := range []do{{"do": "read", "path": "pipe"}, {"do": "append", "path": "pipe"}} {
		if got := run(t, in, d); !strings.HasPrefix(got, "failed: ") {
			t.Errorf("%v: %q", d, got)
		}
	}
}

// CON-261: the caller's context ends a call, and is told from the deadline.
func TestCancel(t *testing.T) { onEach(t, testCancel) }

func testCancel(t *testing.T) {
	for _, d := range []do{{"do": "spin"}, {"do": "sleep", "n": 30000}} {
		ctx, cancel := context.WithCancelCause(context.Background())
		stop := errors.New("the user went away")
		time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
		if f := faultOf(t, ctx, instance(), d); f.Cause != wasmhost.Canceled || !errors.Is(f, stop) {
			t.Errorf("%v: got %v", d, f)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if f := faultOf(t, ctx, instance(), do{"do": "spin"}); f.Cause != wasmhost.Canceled || !errors.Is(f, context.DeadlineExceeded) {
		t.Errorf("the caller's deadline: got %v", f)
	}
}

// A panic of a host function ends the call, not the program.
func TestHostPanic(t *testing.T) { onEach(t, testHostPanic) }

func testHostPanic(t *testing.T) {
	in := instance()
	in.Imports.EmitChunk = func(wasmhost.ChunkKind, string) { panic("a defect") }
	if f := faultOf(t, context.Background(), in, do{"do": "chunk"}); f.Cause != wasmhost.HostPanic || !strings.Contains(f.Error(), "a defect") {
		t.Errorf("got %v", f)
	}
	in.Imports.RequestInput = func(context.Context, string) (string, error) {
		var none []int
		return "", errors.Join(errors.New("never"), map[bool]error{}[none[1] > 0])
	}
	if f := faultOf(t, context.Background(), in, do{"do": "ask"}); f.Cause != wasmhost.HostPanic {
		t.Errorf("got %v", f)
	}
	in = instance()
	in.Stderr = panicWriter{}
	if f := faultOf(t, context.Background(), in, do{"do": "stderr", "n": 1}); f.Cause != wasmhost.HostPanic {
		t.Errorf("got %v", f)
	}
	in = instance()
	in.Dirs = []wasmhost.Dir{{Guest: "."}} // no root: a defect of the caller
	if f := faultOf(t, context.Background(), in, do{"do": "read", "path": "x"}); f.Cause != wasmhost.HostPanic {
		t.Errorf("got %v", f)
	}
}

type panicWriter struct{}

func (panicWriter) Write([]byte) (int, error) { panic("writer") }

func TestClosedGuest(t *testing.T) { onEach(t, testClosedGuest) }

func testClosedGuest(t *testing.T) {
	g, err := engine.Compile(context.Background(), command(nil).bytes(), wasmhost.Tool)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	if f := runFault(t, g, instance()); f.Cause != wasmhost.HostPanic || !strings.Contains(f.Error(), "closed") {
		t.Errorf("got %v", f)
	}
}
