//go:build cgo

package component

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// A tool's input and result cross whole. WIT-9
func TestRunTool(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	if g.Interface() != "murmur:tool/run@0.1.0" {
		t.Error(g.Interface())
	}
	for _, in := range []wasmhost.ToolInput{
		{}, {Data: ptr("")}, {Data: ptr("hello \u00e9"), LogPath: ptr("logs/x")}, {Data: ptr(strings.Repeat("q", 60000))},
	} {
		got, err := g.RunTool(context.Background(), &wasmhost.Instance{Name: "t"}, in)
		want := wasmhost.ToolResult{Status: wasmhost.Failed, Summary: ptr("wat tool"), Data: in.Data, DataPath: in.LogPath,
			Truncated: true, Metadata: [][2]string{{"key", "value"}}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v %+v", err, got)
		}
	}
}

// TestFaults: each way to end early is told apart, with the text that a person
// needs. WIT-27, WIT-28, WIT-32, CON-261 to CON-263
func TestFaults(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	for _, tc := range []struct {
		data  string
		cause wasmhost.Cause
		text  string
	}{
		{"u", wasmhost.Trapped, "the guest trapped: wasm trap: wasm `unreachable` instruction executed"},
		{"o", wasmhost.Trapped, "out of bounds memory access"},
		{"r", wasmhost.Trapped, "call stack exhausted"},
		{"s", wasmhost.DeadlinePassed, "deadline"},
		{"z", wasmhost.DeadlinePassed, "deadline"},
		{"a wait", wasmhost.DeadlinePassed, "deadline"},
		{"a fail", wasmhost.Trapped, "request-input: nobody there"},
		{"a panic", wasmhost.HostPanic, "oh no"},
		{"g", wasmhost.LimitReached, "limits.memory_bytes"},
		{"x", wasmhost.Exited, "status 1"},
		{"y", wasmhost.Exited, "status 0"},
	} {
		t.Run(tc.data, func(t *testing.T) {
			in := &wasmhost.Instance{Name: "t", Limits: wasmhost.Limits{MemoryBytes: 4 << 20, Deadline: 200 * time.Millisecond}}
			in.Imports.RequestInput = func(ctx context.Context, prompt string) (string, error) {
				switch prompt {
				case "a fail":
					return "", errors.New("nobody there")
				case "a panic":
					panic("oh no")
				}
				<-ctx.Done()
				return "", ctx.Err()
			}
			began := time.Now()
			_, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: &tc.data})
			if d := time.Since(began); d > 2*time.Second {
				t.Errorf("took %v", d)
			}
			var f *wasmhost.Fault
			if !errors.As(err, &f) || f.Cause != tc.cause || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%v (%+v)", err, f)
			}
		})
	}
}

// What is too large from the start is named as the manifest does. CON-258, CON-264
func TestLimits(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	text, err := os.ReadFile("testdata/tool.wat")
	if err != nil {
		t.Fatal(err)
	}
	table := compile(t, wat(t, strings.Replace(string(text), "(data (i32.const 16)", "(table 100001 funcref) (data (i32.const 16)", 1)), wasmhost.Tool)
	for _, tc := range []struct {
		g      wasmhost.Guest
		limits wasmhost.Limits
		want   string
	}{
		{g, wasmhost.Limits{MemoryBytes: 64 << 10}, "limits.memory_bytes"},
		{table, wasmhost.Limits{}, "limits.table_elements"},
		{table, wasmhost.Limits{TableElements: 100001}, ""},
	} {
		_, err := tc.g.RunTool(context.Background(), &wasmhost.Instance{Limits: tc.limits}, wasmhost.ToolInput{})
		var f *wasmhost.Fault
		if tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &f) || f.Cause != wasmhost.LimitReached || f.Limit != tc.want) {
			t.Errorf("%+v: %v", tc.limits, err)
		}
	}
}

// A guest that lives with a refused growth has not failed, and the memory it
// asked for was refused.
func TestRefusedGrowth(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	in := &wasmhost.Instance{Limits: wasmhost.Limits{MemoryBytes: 4 << 20}}
	if r, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: ptr("h")}); err != nil || *r.Data != "h" {
		t.Error(err)
	}
}

// Cancelling the caller's context ends loops and blocked host calls at once.
// CON-261, CON-262
func TestCancel(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	why := errors.New("the session is over")
	for _, data := range []string{"s", "z", "a"} {
		in := &wasmhost.Instance{}
		in.Imports.RequestInput = func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		var began time.Time
		time.AfterFunc(50*time.Millisecond, func() { began = time.Now(); cancel(why) })
		_, err := g.RunTool(ctx, in, wasmhost.ToolInput{Data: &data})
		took := time.Since(began)
		var f *wasmhost.Fault
		if !errors.As(err, &f) || f.Cause != wasmhost.Canceled || !errors.Is(err, why) || took > 2*time.Second {
			t.Errorf("%s: %v after %v", data, err, took)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.RunTool(ctx, &wasmhost.Instance{}, wasmhost.ToolInput{}); err == nil {
		t.Error("a call under an ended context runs")
	}
}

// Chunks reach the host in order with their kind and are dropped without one;
// request-input brings the answer or ends the guest. WIT-15, WIT-16, WIT-27, WIT-28
func TestToolImports(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Driver)
	var got []string
	in := &wasmhost.Instance{Imports: wasmhost.Imports{
		EmitChunk:    func(k wasmhost.ChunkKind, s string) { got = append(got, fmt.Sprint(k, s)) },
		RequestInput: func(_ context.Context, prompt string) (string, error) { return prompt + "!", nil },
	}}
	if _, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: ptr("chunk")}); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[0chunk 1c]" {
		t.Error(got)
	}
	r, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: ptr("ask")})
	if err != nil || *r.Data != "ask!" {
		t.Error(err, r)
	}
	if _, err := g.RunTool(context.Background(), &wasmhost.Instance{}, wasmhost.ToolInput{Data: ptr("chunk")}); err != nil {
		t.Error(err)
	}
	_, err = g.RunTool(context.Background(), &wasmhost.Instance{}, wasmhost.ToolInput{Data: ptr("ask")})
	if err == nil || !strings.Contains(err.Error(), "request-input: not available in this context") {
		t.Error(err)
	}
}

// artifacts answers what testdata/capsule.wat expects.
type artifacts struct{}

func (artifacts) List(context.Context) []wasmhost.ArtifactSummary {
	return []wasmhost.ArtifactSummary{{Name: "a", Version: "1", Runtime: "wasm"}, {Name: "b", Version: "2", Runtime: "native"}}
}
func (artifacts) Describe(_ context.Context, name string) (wasmhost.ArtifactInfo, error) {
	return wasmhost.ArtifactInfo{Name: name, Tags: []string{"t"}, Runtime: "native", InputSchema: ptr("{}")}, nil
}
func (a artifacts) Search(ctx context.Context, q string) ([]wasmhost.ArtifactSummary, error) {
	return a.List(ctx)[:1], nil
}
func (artifacts) Pull(_ context.Context, name, version string) (wasmhost.ArtifactSummary, error) {
	return wasmhost.ArtifactSummary{}, fmt.Errorf("no %s at %s", name, version)
}
func (artifacts) Remove(context.Context, string) (bool, error) { return true, nil }
func (artifacts) Diagnostics(context.Context) (wasmhost.RuntimeState, error) {
	return wasmhost.RuntimeState{CapsuleID: "cap"}, nil
}

// A script capsule reaches the tool registry, the artifact manager and its
// peers; without them it gets the error case. WIT-10, WIT-11, WIT-12, WIT-14, WIT-27
func TestCapsuleImports(t *testing.T) {
	g := compile(t, fixture(t, "capsule.wat"), wasmhost.Capsule)
	var log []string
	in := &wasmhost.Instance{Name: "c", Imports: wasmhost.Imports{
		Artifacts: artifacts{},
		Invoke: func(_ context.Context, name string, in wasmhost.ToolInput) (wasmhost.ToolResult, error) {
			if name != "name" {
				return wasmhost.ToolResult{}, errors.New("refuse")
			}
			log = append(log, "invoke "+*in.Data)
			return wasmhost.ToolResult{Status: wasmhost.Passed, Data: in.Data, Metadata: [][2]string{{"k", "v"}}}, nil
		},
		Send: func(_ context.Context, url string, m wasmhost.Message) (wasmhost.TaskResult, error) {
			log = append(log, "send "+url+" "+m.MessageID+" "+m.Text)
			return wasmhost.TaskResult{TaskID: m.MessageID}, nil
		},
	}}
	if err := g.RunCapsule(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(log) != "[invoke text send url: id text]" {
		t.Error(log)
	}
	var f *wasmhost.Fault
	err := g.RunCapsule(context.Background(), &wasmhost.Instance{})
	if !errors.As(err, &f) || f.Cause != wasmhost.Trapped || !strings.Contains(err.Error(), "unreachable") {
		t.Error("without imports:", err)
	}
	if _, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{}); err == nil {
		t.Error("a capsule runs as a tool")
	}
}

// command is a script capsule that prints to both streams, then exits.
func command(status int) string {
	return fmt.Sprintf(`(component
  (import "wasi:io/error@0.2.0" (instance $err (export "error" (type (sub resource)))))
  (alias export $err "error" (type $error))
  (import "wasi:io/streams@0.2.0" (instance $s
    (export "output-stream" (type $out (sub resource)))
    (alias outer 1 $error (type $e1)) (export "error" (type $e (eq $e1)))
    (type $se0 (variant (case "last-operation-failed" (own $e)) (case "closed")))
    (export "stream-error" (type $se (eq $se0)))
    (export "[method]output-stream.blocking-write-and-flush" (func (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $se)))))))
  (alias export $s "output-stream" (type $out))
  (import "wasi:cli/stdout@0.2.0" (instance $o (alias outer 1 $out (type $t)) (export "output-stream" (type $u (eq $t))) (export "get-stdout" (func (result (own $u))))))
  (import "wasi:cli/stderr@0.2.0" (instance $r (alias outer 1 $out (type $t)) (export "output-stream" (type $u (eq $t))) (export "get-stderr" (func (result (own $u))))))
  (import "wasi:cli/exit@0.2.9" (instance $x (export "exit" (func (param "status" (result))))))
  (core module $libc (memory (export "memory") 1) (data (i32.const 16) "outerr"))
  (core instance $libc (instantiate $libc))
  (core func $write (canon lower (func $s "[method]output-stream.blocking-write-and-flush") (memory $libc "memory")))
  (core func $stdout (canon lower (func $o "get-stdout")))
  (core func $stderr (canon lower (func $r "get-stderr")))
  (core func $exit (canon lower (func $x "exit")))
  (core module $m
    (import "h" "write" (func $write (param i32 i32 i32 i32)))
    (import "h" "stdout" (func $stdout (result i32)))
    (import "h" "stderr" (func $stderr (result i32)))
    (import "h" "exit" (func $exit (param i32)))
    (func (export "run")
      (call $write (call $stdout) (i32.const 16) (i32.const 3) (i32.const 64))
      (call $write (call $stderr) (i32.const 19) (i32.const 3) (i32.const 64))
      (call $exit (i32.const %d))))
  (core instance $m (instantiate $m (with "h" (instance (export "write" (func $write)) (export "stdout" (func $stdout)) (export "stderr" (func $stderr)) (export "exit" (func $exit))))))
  (func $run (canon lift (core func $m "run")))
  (instance $i (export "run" (func $run)))
  (export "murmur:capsule/run@0.1.0" (instance $i)))`, status)
}

// A capsule's streams are those it was given; exit status 0 is success, another
// one is a fault with the end of standard error. WIT-48, WIT-70
func TestCapsuleExit(t *testing.T) {
	for status, want := range []string{"", "the guest exited with status 1\nerr"} {
		g := compile(t, wat(t, command(status)), wasmhost.Capsule)
		var out, stderr bytes.Buffer
		err := g.RunCapsule(context.Background(), &wasmhost.Instance{Stdout: &out, Stderr: &stderr})
		if out.String() != "out" || stderr.String() != "err" {
			t.Errorf("%q %q", out.String(), stderr.String())
		}
		if got := fmt.Sprint(err); (err == nil) != (want == "") || err != nil && got != want {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func TestTail(t *testing.T) {
	s := newStreams(&wasmhost.Instance{}, wasmhost.Capsule)
	for range 3000 {
		fmt.Fprint(s.err, "abc")
	}
	fmt.Fprint(s.err, "end")
	if got := s.tail(); len(got) != tailBytes || !strings.HasSuffix(got, "abcend") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-10:])
	}
	fmt.Fprint(s.err, strings.Repeat("x", 2*tailBytes)+"y")
	if got := s.tail(); len(got) != tailBytes || !strings.HasSuffix(got, "xxy") {
		t.Errorf("%d bytes", len(got))
	}
}

// A tool that a script capsule invokes runs inside the capsule's call, on its
// thread; how it ends is the capsule's to see and does it no harm. WIT-10
func TestNestedGuests(t *testing.T) {
	capsule := compile(t, fixture(t, "capsule.wat"), wasmhost.Capsule)
	tool := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	for _, data := range []string{"q", "u", "r", "g", "x"} {
		var seen error
		in := &wasmhost.Instance{Imports: wasmhost.Imports{
			Artifacts: artifacts{},
			Invoke: func(ctx context.Context, name string, _ wasmhost.ToolInput) (wasmhost.ToolResult, error) {
				if name != "name" {
					return wasmhost.ToolResult{}, errors.New("refuse")
				}
				inner := &wasmhost.Instance{Limits: wasmhost.Limits{MemoryBytes: 1 << 20}}
				_, seen = tool.RunTool(ctx, inner, wasmhost.ToolInput{Data: &data})
				return wasmhost.ToolResult{Status: wasmhost.Passed}, nil
			},
			Send: func(_ context.Context, _ string, m wasmhost.Message) (wasmhost.TaskResult, error) {
				return wasmhost.TaskResult{TaskID: m.MessageID}, nil
			},
		}}
		if err := capsule.RunCapsule(context.Background(), in); err != nil {
			t.Errorf("%s: the capsule fails: %v", data, err)
		}
		if (seen == nil) != (data == "q") {
			t.Errorf("%s: %v", data, seen)
		}
	}
	// The end of the capsule's time ends the tool, and the capsule with it.
	in := &wasmhost.Instance{Limits: wasmhost.Limits{Deadline: 100 * time.Millisecond}, Imports: wasmhost.Imports{
		Invoke: func(ctx context.Context, _ string, _ wasmhost.ToolInput) (wasmhost.ToolResult, error) {
			return tool.RunTool(ctx, &wasmhost.Instance{}, wasmhost.ToolInput{Data: ptr("s")})
		},
	}}
	var inner error
	invoke := in.Imports.Invoke
	in.Imports.Invoke = func(ctx context.Context, name string, i wasmhost.ToolInput) (r wasmhost.ToolResult, err error) {
		r, inner = invoke(ctx, name, i)
		return r, inner
	}
	began := time.Now()
	err := capsule.RunCapsule(context.Background(), in)
	var f *wasmhost.Fault
	if !errors.As(inner, &f) || f.Cause != wasmhost.Canceled {
		t.Errorf("the tool ended with: %v", inner)
	}
	if !errors.As(err, &f) || f.Cause != wasmhost.DeadlinePassed || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
