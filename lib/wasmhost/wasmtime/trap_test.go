//go:build cgo

package wasmtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const trapGuest = `(component
  (import "t:t/t@0.1.0" (instance $x (export "reenter" (func)) (export "panic" (func)) (export "fail" (func)) (export "exit" (func)) (export "block" (func))))
  (core func $re (canon lower (func $x "reenter")))
  (core func $pa (canon lower (func $x "panic")))
  (core func $fa (canon lower (func $x "fail")))
  (core func $ex (canon lower (func $x "exit")))
  (core func $bl (canon lower (func $x "block")))
  (core module $m
    (import "x" "re" (func $re)) (import "x" "pa" (func $pa)) (import "x" "fa" (func $fa)) (import "x" "ex" (func $ex)) (import "x" "bl" (func $bl))
    (memory 1)
    (table $t 1 funcref)
    (type $nul (func))
    (func (export "oob") (drop (i32.load (i32.const 0x7ffffff0))))
    (func (export "unreachable") unreachable)
    (func (export "div") (drop (i32.div_s (i32.const 1) (i32.load (i32.const 0)))))
    (func $r (export "recurse") (call $r))
    (func (export "spin") (loop $l (br $l)))
    (func (export "null") (call_indirect (type $nul) (i32.const 0)))
    (func (export "grow") (if (i32.eq (i32.const -1) (memory.grow (i32.const 100))) (then unreachable)))
    (func (export "grow-on") (drop (memory.grow (i32.const 100))))
    (func (export "grow-spin") (drop (memory.grow (i32.const 100))) (loop $l (br $l)))
    (func (export "reenter") (call $re))
    (func (export "panic") (call $pa))
    (func (export "fail") (call $fa))
    (func (export "exit") (call $ex))
    (func (export "block") (call $bl)))
  (core instance $i (instantiate $m (with "x" (instance (export "re" (func $re)) (export "pa" (func $pa)) (export "fa" (func $fa)) (export "ex" (func $ex)) (export "bl" (func $bl))))))
  (func (export "oob") (canon lift (core func $i "oob")))
  (func (export "unreachable") (canon lift (core func $i "unreachable")))
  (func (export "div") (canon lift (core func $i "div")))
  (func (export "recurse") (canon lift (core func $i "recurse")))
  (func (export "spin") (canon lift (core func $i "spin")))
  (func (export "null") (canon lift (core func $i "null")))
  (func (export "grow") (canon lift (core func $i "grow")))
  (func (export "grow-on") (canon lift (core func $i "grow-on")))
  (func (export "grow-spin") (canon lift (core func $i "grow-spin")))
  (func (export "reenter") (canon lift (core func $i "reenter")))
  (func (export "panic") (canon lift (core func $i "panic")))
  (func (export "fail") (canon lift (core func $i "fail")))
  (func (export "exit") (canon lift (core func $i "exit")))
  (func (export "block") (canon lift (core func $i "block"))))`

var errHost = errors.New("no luck")

// trapHost is what trapGuest imports; Data is a func that "reenter" calls.
func trapHost() Interface {
	return Interface{Name: "t:t/t@0.1.0", Funcs: map[string]Func{
		"reenter": func(c *Call, a []Val) (Val, error) { return nil, c.Data().(func() error)() },
		"panic": func(c *Call, a []Val) (Val, error) {
			if f, ok := c.Data().(func() error); ok && f == nil {
				var p *int
				return nil, fmt.Errorf("%d", *p)
			}
			panic("host bug")
		},
		"fail": func(c *Call, a []Val) (Val, error) { return nil, errHost },
		"exit": func(c *Call, a []Val) (Val, error) { return nil, c.Exit(3) },
		"block": func(c *Call, a []Val) (Val, error) {
			<-c.Context().Done()
			return nil, c.Context().Err()
		},
	}}
}

// TestTraps: every way for a guest to fail comes back as an Error of its kind.
// WIT-32, CON-261, CON-263
func TestTraps(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind Kind
		text string
	}{
		{"oob", Trapped, "wasm trap: out of bounds memory access"},
		{"unreachable", Trapped, "wasm trap: wasm `unreachable` instruction executed"},
		{"div", Trapped, "wasm trap: integer divide by zero"},
		{"recurse", Trapped, "wasm trap: call stack exhausted"},
		{"null", Trapped, "wasm trap: uninitialized element"},
		{"grow", LimitHit, "memory_bytes"},
		{"grow-spin", LimitHit, "memory_bytes"},
		{"spin", Interrupted, "deadline"},
		{"block", Interrupted, "deadline"},
		{"panic", HostPanic, "host bug"},
		{"fail", HostError, "no luck"},
		{"exit", Exited, "exit status 3"},
		{"reenter", HostError, "running"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var again func() error
			g := start(t, trapGuest, StoreConfig{MemoryBytes: 1 << 20, Data: func() error { return again() }}, trapHost())
			again = func() error { _, err := g.call(context.Background(), "oob", 0); return err }
			ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer stop()
			began := time.Now()
			_, err := g.call(ctx, tc.name, 0)
			if d := time.Since(began); d > time.Second {
				t.Errorf("took %v", d)
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(err.Error(), tc.text) {
				t.Fatalf("got %v (%+v)", err, e)
			}
			t.Logf("%s\n%s", err, e.Detail)
			if tc.kind == Interrupted && !errors.Is(err, context.DeadlineExceeded) || tc.name == "fail" && !errors.Is(err, errHost) {
				t.Errorf("the cause is lost: %v", err)
			}
			if _, err := g.call(context.Background(), "grow-on", 0); err == nil {
				t.Error("a failed store runs on")
			}
		})
	}
}

// A refused growth that the guest lives with is no failure.
func TestRefusedGrowthIsNoFailure(t *testing.T) {
	g := start(t, trapGuest, StoreConfig{MemoryBytes: 1 << 20}, trapHost())
	if _, err := g.call(context.Background(), "grow-on", 0); err != nil {
		t.Fatal(err)
	}
}

// A fault of the processor in a host function reaches Go's handler although
// the library has installed one of its own, and one outside of any guest too.
func TestNilPointerInHost(t *testing.T) {
	var none func() error
	g := start(t, trapGuest, StoreConfig{Data: none}, trapHost())
	_, err := g.call(context.Background(), "panic", 0)
	var e *Error
	if !errors.As(err, &e) || e.Kind != HostPanic || !strings.Contains(err.Error(), "nil pointer dereference") {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var p *int
	t.Log(*p)
}
