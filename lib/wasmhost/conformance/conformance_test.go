package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

func ptr(s string) *string { return &s }

// The modules in testdata are made of the sources beside them.
func TestGuestsMatchSources(t *testing.T) {
	sum := sha256.New()
	for _, name := range []string{"guest.c", "core.h", "component.h", "world.wit"} {
		b, err := os.ReadFile("testdata/src/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(b)
	}
	want, err := os.ReadFile("testdata/guests.sources")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != strings.TrimSpace(string(want)) {
		t.Errorf("the sources have changed to %s: run testdata/src/rebuild.sh", got)
	}
}

// WIT-9, WIT-46, WIT-57
func TestResults(t *testing.T) {
	awkward := "quotes \" and \\ and <>& and \u00e9\u4e2d \t tab \r\n line"
	onEach(t, func(t *testing.T, h *host) {
		for _, tt := range []struct {
			in   wasmhost.ToolInput
			want wasmhost.ToolResult
		}{
			{wasmhost.ToolInput{Data: ptr("echo " + awkward)}, wasmhost.ToolResult{Status: wasmhost.Passed, Data: ptr(awkward)}},
			{wasmhost.ToolInput{Data: ptr("echo")}, wasmhost.ToolResult{Status: wasmhost.Passed, Data: ptr("")}},
			{wasmhost.ToolInput{}, wasmhost.ToolResult{Status: wasmhost.Passed, Data: ptr("no data")}},
			{wasmhost.ToolInput{LogPath: ptr("l")}, wasmhost.ToolResult{Status: wasmhost.Passed, Data: ptr("log path without data")}},
			{wasmhost.ToolInput{Data: ptr("nothing")}, wasmhost.ToolResult{Status: wasmhost.Error}},
			{wasmhost.ToolInput{Data: ptr("full d")}, wasmhost.ToolResult{
				Status: wasmhost.Failed, Summary: ptr(`the "summary"`), Data: ptr("d"), DataPath: ptr("out/a b"),
				Truncated: true, Metadata: [][2]string{{"k", "v"}, {"k", "w"}},
			}},
		} {
			got, err := h.tool.RunTool(context.Background(), instance(nil), tt.in)
			if len(got.Metadata) == 0 {
				got.Metadata = nil
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%v: got %+v, %v", tt.in.Data, got, err)
			}
		}
		long := strings.Repeat("0123456789", 6000)
		if got := h.call(t, instance(nil), "echo "+long); got != long {
			t.Errorf("a long text came back with %d bytes", len(got))
		}
		if h.tool.Interface() != "murmur:tool/run@0.1.0" || h.capsule.Interface() != "murmur:capsule/run@0.1.0" {
			t.Errorf("interfaces %q and %q", h.tool.Interface(), h.capsule.Interface())
		}
	})
}

// WIT-62, WIT-63
func TestSurroundings(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		in := instance(func(in *wasmhost.Instance) { in.Env = []string{"A=1", "B=x=y", "EMPTY="} })
		t.Setenv("HOST_SECRET", "canary")
		for name, want := range map[string]string{"A": "1", "B": "x=y", "EMPTY": "", "HOST_SECRET": "failed: unset", "PATH": "failed: unset"} {
			if got := h.call(t, in, "env "+name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		var at int64
		if _, err := fmt.Sscan(h.call(t, in, "clock"), &at); err != nil {
			t.Error(err)
		}
		if d := time.Since(time.Unix(at, 0)); d < -2*time.Second || d > 30*time.Second {
			t.Errorf("the guest's clock is off by %v", d)
		}
		start := time.Now()
		if got := h.call(t, in, "sleep 50"); got != "" || time.Since(start) < 50*time.Millisecond {
			t.Errorf("sleep: %q after %v", got, time.Since(start))
		}
		if a, b := h.call(t, in, "random"), h.call(t, in, "random"); a == b || len(a) != 32 {
			t.Errorf("random: %q and %q", a, b)
		}
	})
}

// WIT-32, WIT-48, WIT-64, CON-263
func TestFaults(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		for line, cause := range map[string]wasmhost.Cause{
			"trap": wasmhost.Trapped, "abort": wasmhost.Trapped, "outside": wasmhost.Trapped, "recurse": wasmhost.Trapped,
			"hog": wasmhost.LimitReached, "exit 1 oh no": wasmhost.Exited,
		} {
			f := h.fault(t, context.Background(), instance(nil), line)
			if f.Cause != cause {
				t.Errorf("%s: %v", line, f)
			}
			switch cause {
			case wasmhost.LimitReached:
				if f.Limit != "limits.memory_bytes" {
					t.Errorf("%s: limit %q", line, f.Limit)
				}
			case wasmhost.Exited:
				if f.Status != 1 || f.Stderr != "oh no" {
					t.Errorf("%s: status %d, %q", line, f.Status, f.Stderr)
				}
			}
		}
		// A guest that copes with a refused growth has not failed.
		if got := h.call(t, instance(nil), "alloc 100"); got != "failed: no memory" {
			t.Errorf("alloc 100: %q", got)
		}
		if got := h.call(t, instance(nil), "alloc 20"); got != "allocated" {
			t.Errorf("alloc 20: %q", got)
		}
		f := h.fault(t, context.Background(), instance(nil), "exit 1 "+strings.Repeat("x", 5000)+"why")
		if len(f.Stderr) != 4096 || !strings.HasSuffix(f.Stderr, "xwhy") {
			t.Errorf("%d bytes of standard error", len(f.Stderr))
		}
		// What a form knows of an exit without an answer.
		want := map[string]wasmhost.Cause{"core": wasmhost.BadOutput, "component": wasmhost.Exited}[h.name]
		if f := h.fault(t, context.Background(), instance(nil), "exit 0"); f.Cause != want || f.Status != 0 {
			t.Errorf("exit 0: %v", f)
		}
	})
}

// CON-261, CON-262, WIT-32: whatever a guest waits in, its time counts.
func TestDeadline(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	srv := serve(t, release)
	onEach(t, func(t *testing.T, h *host) {
		in := instance(func(in *wasmhost.Instance) {
			in.Limits.Deadline = 200 * time.Millisecond
			in.HTTP = allow(t, srv.URL)
			in.Imports.RequestInput = func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
		})
		for _, line := range []string{"spin", "sleep 30000", "get " + srv.URL + "/slow", "get " + srv.URL + "/drip", "ask anything"} {
			start := time.Now()
			f := h.fault(t, context.Background(), in, line)
			took := time.Since(start)
			t.Logf("%s ended after %v", line, took.Round(time.Millisecond))
			if f.Cause != wasmhost.DeadlinePassed || took < 200*time.Millisecond || took > 1200*time.Millisecond {
				t.Errorf("%s: %v after %v", line, f, took)
			}
		}
		// Standard output of a command is its answer, that of a component a log.
		in.Limits.Deadline = map[string]time.Duration{"core": 20 * time.Second, "component": time.Second}[h.name]
		want := map[string]wasmhost.Cause{"core": wasmhost.BadOutput, "component": wasmhost.DeadlinePassed}[h.name]
		if f := h.fault(t, context.Background(), in, "flood"); f.Cause != want {
			t.Errorf("flood: %v", f)
		}
	})
}

func TestCancel(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		gone := errors.New("the user went away")
		for _, line := range []string{"spin", "sleep 30000"} {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(100*time.Millisecond, func() { cancel(gone) })
			if f := h.fault(t, ctx, instance(nil), line); f.Cause != wasmhost.Canceled || !errors.Is(f, gone) {
				t.Errorf("%s: %v", line, f)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if f := h.fault(t, ctx, instance(nil), "spin"); f.Cause != wasmhost.Canceled || !errors.Is(f, context.DeadlineExceeded) {
			t.Errorf("the caller's deadline: %v", f)
		}
	})
}

// WIT-28, WIT-43, WIT-44
func TestChunksAndInput(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		if got := h.call(t, instance(nil), "chunk x"); got != "" {
			t.Errorf("outside a task: %q", got)
		}
		var chunks []string
		in := instance(func(in *wasmhost.Instance) {
			in.Imports.EmitChunk = func(k wasmhost.ChunkKind, s string) { chunks = append(chunks, fmt.Sprint(k, s)) }
			in.Imports.RequestInput = func(_ context.Context, p string) (string, error) { return "<" + p + ">", nil }
		})
		h.call(t, in, "chunk x")
		if fmt.Sprint(chunks) != "[0x 1x]" {
			t.Errorf("chunks: %q", chunks)
		}
		if got := h.call(t, in, "ask name?"); got != "<name?>" {
			t.Errorf("answer: %q", got)
		}
		none := errors.New("no answer in time")
		in.Imports.RequestInput = func(context.Context, string) (string, error) { return "", none }
		if f := h.fault(t, context.Background(), in, "ask name?"); f.Cause != wasmhost.Trapped || !errors.Is(f, none) {
			t.Errorf("no answer: %v", f)
		}
		in.Imports.RequestInput = nil
		switch h.name {
		case "core":
			if got := h.call(t, in, "ask name?"); got != "failed: unavailable" {
				t.Errorf("outside a task: %q", got)
			}
		case "component":
			if f := h.fault(t, context.Background(), in, "ask name?"); f.Cause != wasmhost.Trapped {
				t.Errorf("outside a task: %v", f)
			}
		}
		in.Imports.EmitChunk = func(wasmhost.ChunkKind, string) { panic("a defect") }
		if f := h.fault(t, context.Background(), in, "chunk x"); f.Cause != wasmhost.HostPanic || !strings.Contains(f.Error(), "a defect") {
			t.Errorf("panic: %v", f)
		}
	})
}

// WIT-45, WIT-52
func TestCapsule(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		in := instance(func(in *wasmhost.Instance) {
			in.Imports.Invoke = func(_ context.Context, name string, input wasmhost.ToolInput) (wasmhost.ToolResult, error) {
				switch name {
				case "echo":
					return wasmhost.ToolResult{Status: wasmhost.Failed, Data: input.Data}, nil
				case "bare":
					return wasmhost.ToolResult{Status: wasmhost.Passed}, nil
				}
				return wasmhost.ToolResult{}, fmt.Errorf("tool %s is not declared: %w", name, wasmhost.ErrDenied)
			}
		})
		for line, want := range map[string]string{
			"invoke echo hi \"there\"": "f hi \"there\"", "invoke bare": "p -", "echo x": "x",
		} {
			if got, err := h.script(in, line); err != nil || got != want {
				t.Errorf("%s: %q, %v", line, got, err)
			}
		}
		got, err := h.script(in, "invoke other")
		var f *wasmhost.Fault
		if !errors.As(err, &f) || f.Cause != wasmhost.Exited || f.Status != 1 || got != "tool other is not declared: denied by policy" {
			t.Errorf("undeclared: %q, %v", got, err)
		}
		if got, err := h.script(in, "exit 0"); err != nil || got != "" {
			t.Errorf("exit 0: %q, %v", got, err)
		}
		in.Imports = wasmhost.Imports{}
		if got, err := h.script(in, "invoke echo hi"); err == nil || got == "" {
			t.Errorf("without a registry: %q, %v", got, err)
		}
		if _, err := h.capsule.RunTool(context.Background(), in, wasmhost.ToolInput{}); !errors.As(err, &f) || f.Cause != wasmhost.HostPanic {
			t.Errorf("a capsule as a tool: %v", err)
		}
		if err := h.tool.RunCapsule(context.Background(), in); !errors.As(err, &f) || f.Cause != wasmhost.HostPanic {
			t.Errorf("a tool as a capsule: %v", err)
		}
	})
}

// WIT-50: a driver is a tool of another kind.
func TestDriver(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		form, err := h.tool.Form()
		if err != nil {
			t.Fatal(err)
		}
		g, err := h.engine.Load(context.Background(), formFile(t, form), wasmhost.Driver)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		var text string
		in := instance(func(in *wasmhost.Instance) {
			in.Imports.EmitChunk = func(_ wasmhost.ChunkKind, s string) { text += s }
		})
		driver := &host{name: h.name, tool: g}
		if got := driver.call(t, in, "echo x"); got != "x" {
			t.Errorf("echo: %q", got)
		}
		if got := driver.call(t, in, "chunk a"); got != "" || text != "aa" {
			t.Errorf("chunks: %q, %q", got, text)
		}
		if g.Interface() != "murmur:tool/run@0.1.0" {
			t.Errorf("interface %q", g.Interface())
		}
	})
}

// WIT-33: a form makes the same guest.
func TestForms(t *testing.T) {
	onEach(t, func(t *testing.T, h *host) {
		form, err := h.tool.Form()
		if err != nil {
			t.Fatal(err)
		}
		g, err := h.engine.Load(context.Background(), formFile(t, form), wasmhost.Tool)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		loaded := &host{tool: g}
		if got := loaded.call(t, instance(nil), "echo x"); got != "x" {
			t.Errorf("got %q", got)
		}
		var le *wasmhost.LoadError
		if _, err := h.engine.Load(context.Background(), formFile(t, form[:len(form)/2]), wasmhost.Tool); !errors.As(err, &le) {
			t.Errorf("half a form: %v", err)
		}
	})
}

// Many calls of one guest at once; run with -race.
func TestConcurrentCalls(t *testing.T) {
	srv := serve(t, nil)
	onEach(t, func(t *testing.T, h *host) {
		_, work := folder(t, ".")
		client := allow(t, srv.URL)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				var log bytes.Buffer
				in := instance(func(in *wasmhost.Instance) {
					in.Dirs, in.HTTP, in.Stderr = []wasmhost.Dir{work}, client, &log
				})
				for n := range 5 {
					want := fmt.Sprint(i, n)
					for line, want := range map[string]string{
						"echo " + want: want, "get " + srv.URL: "200 hello", "sleep 5": "",
						fmt.Sprintf("write f%d %s", i, want): "",
					} {
						if got := h.call(t, in, line); got != want {
							t.Errorf("%s: %q", line, got)
						}
					}
					if got := h.call(t, in, fmt.Sprintf("read f%d", i)); got != want {
						t.Errorf("file %d: %q, want %q", i, got, want)
					}
					h.fault(t, context.Background(), in, "exit 1 x")
				}
			})
		}
		wg.Wait()
	})
}

// An instance and a call that does nothing.
func BenchmarkCall(b *testing.B) {
	for _, h := range hosts {
		b.Run(h.label(), func(b *testing.B) {
			in := instance(nil)
			for b.Loop() {
				h.call(b, in, "echo x")
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, h := range hosts {
		form, err := h.tool.Form()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(h.label(), func(b *testing.B) {
			for b.Loop() {
				g, err := h.engine.Load(context.Background(), formFile(b, form), wasmhost.Tool)
				if err != nil {
					b.Fatal(err)
				}
				g.Close()
			}
		})
	}
}
