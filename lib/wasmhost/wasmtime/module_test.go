//go:build cgo

package wasmtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const moduleText = `(module
  (import "t" "f" (func $f (param i32 i64 i32) (result i32)))
  (import "t" "end" (func $end))
  (import "t" "panic" (func $panic))
  (import "t" "block" (func $block))
  (memory (export "memory") 1)
  (table $t (export "table") 1 funcref)
  (global (export "g") i32 (i32.const 1))
  (data (i32.const 8) "abc")
  (func (export "call") (result i32) (call $f (i32.const -2) (i64.const 0x100000002) (i32.const 3)))
  (func (export "big") (result i64) (i64.const -3))
  (func (export "end") (call $end))
  (func (export "panic") (call $panic))
  (func (export "block") (call $block))
  (func (export "nothing"))
  (func (export "takes") (param i32))
  (func (export "float") (param f32) (result f64) (f64.const 0))
  (func (export "unreachable") unreachable)
  (func (export "oob") (drop (i32.load (i32.const 0x7ffffff0))))
  (func (export "div") (drop (i32.div_s (i32.const 1) (i32.load (i32.const 0)))))
  (func $r (export "recurse") (call $r))
  (func (export "null") (call_indirect (i32.const 0)))
  (func (export "spin") (loop $l (br $l)))
  (func (export "grow") (if (i32.eq (i32.const -1) (memory.grow (i32.const 100))) (then unreachable)))
  (func (export "grow-on") (drop (memory.grow (i32.const 100))))
  (func (export "grow-spin") (drop (memory.grow (i32.const 100))) (loop $l (br $l)))
  (func (export "table-grow") (result i32) (table.grow (ref.null func) (i32.const 100))))`

var errEnd = errors.New("end of the guest")

// moduleHost defines what moduleText imports; Data is a func that "f" calls.
func moduleHost(t testing.TB) *ModuleLinker {
	t.Helper()
	l := engine.NewModuleLinker()
	t.Cleanup(func() { l.Close() })
	for name, d := range map[string]struct {
		ty Signature
		f  ModuleFunc
	}{
		"f": {"iIi:i", func(s *Store, mem []byte, stack []uint64) error {
			return s.Data().(func([]byte, []uint64) error)(mem, stack)
		}},
		"end":   {":", func(*Store, []byte, []uint64) error { return errEnd }},
		"panic": {":", func(*Store, []byte, []uint64) error { var p *int; return fmt.Errorf("%d", *p) }},
		"block": {":", func(s *Store, _ []byte, _ []uint64) error { <-s.Context().Done(); return s.Context().Err() }},
	} {
		if err := l.Define("t", name, d.ty, d.f); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func compileModule(t testing.TB, text string) *Module {
	t.Helper()
	b, err := Wat(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.CompileModule(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func link(t testing.TB, l *ModuleLinker, m *Module) *LinkedModule {
	t.Helper()
	lm, err := l.Link(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lm.Close() })
	return lm
}

func startModule(t testing.TB, lm *LinkedModule, cfg StoreConfig) (*Store, *ModuleInstance) {
	t.Helper()
	s := engine.NewStore(cfg)
	t.Cleanup(func() { s.Close() })
	in, err := lm.Instantiate(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return s, in
}

// A module says what it exports, compiled or loaded.
func TestModuleExports(t *testing.T) {
	m := compileModule(t, moduleText)
	exports := m.Exports()
	for name, want := range map[string]Signature{"memory": "", "g": "", "table": "", "call": ":i", "big": ":I", "float": "f:F", "takes": "i:"} {
		if got, ok := exports[name]; !ok || got != want {
			t.Errorf("%s is %q, %v", name, got, ok)
		}
	}
	if got := loadModule(t, m).Exports(); !maps.Equal(got, exports) {
		t.Errorf("exports of the loaded module: %v", got)
	}
}

func formFile(t testing.TB, form []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "form")
	if err := os.WriteFile(path, form, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func loadModule(t testing.TB, m *Module) *Module {
	t.Helper()
	form, err := m.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	f := formFile(t, form)
	loaded, err := engine.LoadModule(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loaded.Close() })
	f.Close() // the mapping needs it no longer
	return loaded
}

// What is loaded is the open file, whatever lies at its path now; a damaged one
// is an error. ART-127, ART-128
func TestModuleForms(t *testing.T) {
	m := compileModule(t, moduleText)
	form, err := m.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	f := formFile(t, form)
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Name(), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := engine.LoadModule(f)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	_, in := startModule(t, link(t, moduleHost(t), loaded), StoreConfig{})
	if v, err := in.Call(context.Background(), "big"); err != nil || int64(v) != -3 {
		t.Errorf("%d, %v", int64(v), err)
	}
	for _, n := range []int{0, 1, 7, 8, 64, len(form) / 3, len(form) / 2, len(form) - 1} {
		if m, err := engine.LoadModule(formFile(t, form[:n])); err == nil {
			m.Close()
			t.Errorf("the first %d of %d bytes load", n, len(form))
		}
	}
	c := compile(t, memories(1, 1))
	component, err := c.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := engine.LoadModule(formFile(t, component)); err == nil {
		m.Close()
		t.Error("the form of a component loads as that of a module")
	}
	for name, b := range map[string][]byte{"nothing": nil, "a header": []byte("\x00asm"), "a form": form} {
		if m, err := engine.CompileModule(b); err == nil {
			m.Close()
			t.Errorf("%s compiles", name)
		}
	}
}

// Values and memory cross in both directions.
func TestModuleCalls(t *testing.T) {
	lm := link(t, moduleHost(t), loadModule(t, compileModule(t, moduleText)))
	s, in := startModule(t, lm, StoreConfig{Data: func(mem []byte, stack []uint64) error {
		if int32(stack[0]) != -2 || stack[1] != 0x100000002 || int32(stack[2]) != 3 {
			t.Errorf("arguments %x", stack)
		}
		if len(mem) != 1<<16 || string(mem[8:11]) != "abc" {
			t.Errorf("%d bytes of memory, %q", len(mem), mem[8:11])
		}
		stack[0] = uint64(uint32(0xfffffff9))
		return nil
	}})
	if v, err := in.Call(context.Background(), "call"); err != nil || int32(v) != -7 {
		t.Errorf("call: %d, %v", int32(v), err)
	}
	if v, err := in.Call(context.Background(), "nothing"); err != nil || v != 0 {
		t.Errorf("nothing: %d, %v", v, err)
	}
	for _, name := range []string{"takes", "float", "memory", "none"} {
		if _, err := in.Call(context.Background(), name); err == nil {
			t.Errorf("%s is called without parameters", name)
		}
	}
	if _, err := lm.Instantiate(context.Background(), s); err == nil {
		t.Error("a second instance in one store")
	}
}

// What is not served or has another type does not link.
func TestModuleLinker(t *testing.T) {
	l := moduleHost(t)
	for _, text := range []string{`(module (import "t" "f" (func)))`, `(module (import "t" "g" (func)))`, `(module (import "t" "f" (memory 1)))`} {
		if lm, err := l.Link(compileModule(t, text)); err == nil {
			lm.Close()
			t.Errorf("%s links", text)
		}
	}
	for _, ty := range []Signature{"", "r:", ":ii", "x:"} {
		if err := l.Define("t", "bad", ty, nil); err == nil {
			t.Errorf("a function of type %q", ty)
		}
	}
	if err := l.Define("t", "f", ":", nil); err == nil {
		t.Error("a function is defined twice")
	}
}

// Every way to fail comes back as an Error of its kind, as for components.
// WIT-32, CON-261, CON-263
func TestModuleTraps(t *testing.T) {
	lm := link(t, moduleHost(t), compileModule(t, moduleText))
	for _, tc := range []struct {
		name string
		kind Kind
		text string
	}{
		{"unreachable", Trapped, "wasm trap: wasm `unreachable` instruction executed"},
		{"oob", Trapped, "wasm trap: out of bounds memory access"},
		{"div", Trapped, "wasm trap: integer divide by zero"},
		{"recurse", Trapped, "wasm trap: call stack exhausted"},
		{"null", Trapped, "wasm trap: uninitialized element"},
		{"grow", LimitHit, "memory_bytes"},
		{"grow-spin", LimitHit, "memory_bytes"},
		{"spin", Interrupted, "deadline"},
		{"block", Interrupted, "deadline"},
		{"end", HostError, "end of the guest"},
		{"panic", HostPanic, "nil pointer"},
		{"call", HostError, "running"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var in *ModuleInstance
			s, in := startModule(t, lm, StoreConfig{MemoryBytes: 1 << 20, Data: func([]byte, []uint64) error {
				_, err := in.Call(context.Background(), "nothing") // a store runs one call at a time
				return err
			}})
			ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer stop()
			began := time.Now()
			_, err := in.Call(ctx, tc.name)
			if d := time.Since(began); d > time.Second {
				t.Errorf("took %v", d)
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(err.Error(), tc.text) {
				t.Fatalf("got %v (%+v)", err, e)
			}
			if tc.kind == Interrupted && !errors.Is(err, context.DeadlineExceeded) || tc.name == "end" && !errors.Is(err, errEnd) {
				t.Errorf("the cause is lost: %v", err)
			}
			if s.MemoryRefused() != (tc.kind == LimitHit) {
				t.Errorf("a refused growth: %v", s.MemoryRefused())
			}
			if _, err := in.Call(context.Background(), "nothing"); err == nil {
				t.Error("a failed store runs on")
			}
		})
	}
}

// Limits are met at the start and later. CON-258, CON-260
func TestModuleLimits(t *testing.T) {
	l := moduleHost(t)
	for _, tc := range []struct {
		name, text string
		cfg        StoreConfig
		want       Limit
	}{
		{"fits", `(module (memory 2) (table 10 funcref))`, StoreConfig{MemoryBytes: 2 << 16, TableElements: 10, Instances: 1}, ""},
		{"memory", `(module (memory 3))`, StoreConfig{MemoryBytes: 2 << 16}, MemoryBytes},
		{"table", `(module (table 11 funcref))`, StoreConfig{TableElements: 10}, TableElements},
		{"tables", `(module (table 1 funcref) (table 1 funcref))`, StoreConfig{Instances: 1}, Instances},
		{"start grows", `(module (memory 1) (func $s (if (i32.eq (i32.const -1) (memory.grow (i32.const 9))) (then unreachable))) (start $s))`, StoreConfig{MemoryBytes: 2 << 16}, MemoryBytes},
	} {
		s := engine.NewStore(tc.cfg)
		_, err := link(t, l, compileModule(t, tc.text)).Instantiate(context.Background(), s)
		var e *Error
		if tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &e) || e.Kind != LimitHit || e.Limit != tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
		s.Close()
	}
	s, in := startModule(t, link(t, l, compileModule(t, moduleText)), StoreConfig{MemoryBytes: 2 << 16, TableElements: 10})
	if v, err := in.Call(context.Background(), "table-grow"); err != nil || int32(v) != -1 {
		t.Errorf("growth of a table: %d, %v", int32(v), err)
	}
	if _, err := in.Call(context.Background(), "grow-on"); err != nil || !s.MemoryRefused() {
		t.Errorf("a refused growth that the guest lives with: %v, %v", err, s.MemoryRefused())
	}
}

// One linked module in many stores at once; run with -race.
func TestModuleConcurrentCalls(t *testing.T) {
	lm := link(t, moduleHost(t), compileModule(t, moduleText))
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for range 20 {
				s := engine.NewStore(StoreConfig{Data: func(mem []byte, stack []uint64) error {
					mem[0]++
					stack[0] = uint64(n) + uint64(mem[0])
					return nil
				}})
				in, err := lm.Instantiate(context.Background(), s)
				for i := range 3 {
					if err == nil {
						var v uint64
						if v, err = in.Call(context.Background(), "call"); int(v) != n+i+1 {
							t.Errorf("guest %d has %d", n, v)
						}
					}
				}
				if err != nil {
					t.Error(err)
				}
				ctx, stop := context.WithTimeout(context.Background(), 5*time.Millisecond)
				if _, err := in.Call(ctx, "spin"); err == nil {
					t.Error("an endless loop ended")
				}
				stop()
				s.Close()
			}
		})
	}
	wg.Wait()
}

// A guest in the host call of another has a stack of its own size (WIT-66).
func TestModuleNestedRecursion(t *testing.T) {
	stack, err := guestStack()
	if err != nil {
		t.Fatal(err)
	}
	lm := link(t, moduleHost(t), compileModule(t, fmt.Sprintf(`(module
	  (import "t" "f" (func $f (param i32 i64 i32) (result i32)))
	  (func $deep (param i32) (result i32)
	    (if (i32.eqz (local.get 0)) (then (return (call $f (i32.const 0) (i64.const 0) (i32.const 0)))))
	    (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
	  (func (export "deep") (result i32) (call $deep (i32.const %d)))
	  (func $r (export "recurse") (call $r)))`, stack/80)))
	var inner error
	_, outer := startModule(t, lm, StoreConfig{Data: func([]byte, []uint64) error {
		_, in := startModule(t, lm, StoreConfig{})
		_, inner = in.Call(context.Background(), "recurse")
		return nil
	}})
	if _, err := outer.Call(context.Background(), "deep"); err != nil {
		t.Errorf("the outer guest: %v", err)
	}
	if inner == nil || !strings.Contains(inner.Error(), "call stack exhausted") {
		t.Errorf("the inner guest: %v", inner)
	}
}

// BenchmarkModuleHostCall measures one call from a guest to a host function.
func BenchmarkModuleHostCall(b *testing.B) {
	lm := link(b, moduleHost(b), compileModule(b, `(module
	  (import "t" "f" (func $f (param i32 i64 i32) (result i32)))
	  (memory (export "memory") 1)
	  (func (export "loop") (result i32) (local i32)
	    (loop $l (local.set 0 (call $f (local.get 0) (i64.const 0) (i32.const 0))) (br_if $l (local.get 0)))
	    (local.get 0)))`))
	left := b.N
	_, in := startModule(b, lm, StoreConfig{Data: func(_ []byte, stack []uint64) error {
		left--
		stack[0] = uint64(left)
		return nil
	}})
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := in.Call(context.Background(), "loop"); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkModuleCall measures a store, an instance and one call in it.
func BenchmarkModuleCall(b *testing.B) {
	lm := link(b, moduleHost(b), compileModule(b, moduleText))
	b.ReportAllocs()
	for b.Loop() {
		s := engine.NewStore(StoreConfig{})
		in, err := lm.Instantiate(context.Background(), s)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := in.Call(context.Background(), "nothing"); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
