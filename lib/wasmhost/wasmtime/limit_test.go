//go:build cgo

package wasmtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// memories is a component of n core modules with a memory of one page each; f
// grows the first by the pages it is given and fails when that is refused.
func memories(n, pages int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `(component (core module $m (memory %d)
	  (func (export "f") (param i32) (if (i32.eq (i32.const -1) (memory.grow (local.get 0))) (then unreachable))))`, pages)
	for i := range n {
		fmt.Fprintf(&b, "(core instance $i%d (instantiate $m))", i)
	}
	b.WriteString(`(func (export "f") (param "n" u32) (canon lift (core func $i0 "f"))))`)
	return b.String()
}

// instantiate returns the error of instantiating text in a new store, and of
// calling its f with arg when there is none.
func instantiate(t *testing.T, text string, cfg StoreConfig, arg ...Val) error {
	t.Helper()
	c := compile(t, text)
	l := engine.NewLinker()
	defer l.Close()
	s := engine.NewStore(cfg)
	defer s.Close()
	i, err := l.Instantiate(context.Background(), s, c)
	if err != nil {
		return err
	}
	ix, err := c.Index("", "f")
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	f, err := i.Func(ix)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Call(context.Background(), 0, arg...)
	return err
}

// TestLimits: a store's memories are bounded together, tables one by one, and a
// limit is told apart from a trap whether it is met at the start or later.
// CON-258, CON-260, CON-263
func TestLimits(t *testing.T) {
	const page = 64 << 10
	table := func(n int) string {
		return fmt.Sprintf(`(component (core module $m (table %d funcref) (func (export "f") (param i32)))
		  (core instance $i (instantiate $m)) (func (export "f") (param "n" u32) (canon lift (core func $i "f"))))`, n)
	}
	many := func(item string, n int) string {
		return fmt.Sprintf(`(component (core module $m %s (func (export "f") (param i32)))
		  (core instance $i (instantiate $m)) (func (export "f") (param "n" u32) (canon lift (core func $i "f"))))`, strings.Repeat(item, n))
	}
	for _, tc := range []struct {
		name, text string
		cfg        StoreConfig
		arg        uint32
		want       Limit
	}{
		{"fits", memories(3, 1), StoreConfig{MemoryBytes: 4 * page}, 1, ""},
		{"no limits", memories(3, 1), StoreConfig{}, 100, ""},
		{"start", memories(1, 5), StoreConfig{MemoryBytes: 4 * page}, 0, MemoryBytes},
		{"start of the last", memories(5, 1), StoreConfig{MemoryBytes: 4 * page}, 0, MemoryBytes},
		{"growth", memories(1, 1), StoreConfig{MemoryBytes: 4 * page}, 4, MemoryBytes},
		{"growth beside others", memories(3, 1), StoreConfig{MemoryBytes: 4 * page}, 2, MemoryBytes},
		{"growth without end", memories(1, 1), StoreConfig{MemoryBytes: 4 * page}, 1 << 31, ""},
		{"table fits", table(10), StoreConfig{TableElements: 10}, 0, ""},
		{"table", table(11), StoreConfig{TableElements: 10}, 0, TableElements},
		{"instances fit", memories(3, 1), StoreConfig{Instances: 3}, 0, ""},
		{"instances", memories(4, 1), StoreConfig{Instances: 3}, 0, Instances},
		{"tables fit", many("(table 1 funcref)", 3), StoreConfig{Instances: 3}, 0, ""},
		{"tables", many("(table 1 funcref)", 4), StoreConfig{Instances: 3}, 0, Instances},
		{"memories", many("(memory 0)", 4), StoreConfig{Instances: 3}, 0, Instances},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := instantiate(t, tc.text, tc.cfg, tc.arg)
			var e *Error
			switch {
			case tc.name == "growth without end": // beyond what any memory can have: the guest's own fault
				if !errors.As(err, &e) || e.Kind != Trapped {
					t.Errorf("%v", err)
				}
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (!errors.As(err, &e) || e.Kind != LimitHit || e.Limit != tc.want):
				t.Errorf("%v %+v", err, e)
			}
		})
	}
}

// TestRefusedFeatures: what would bring waits, memory or stacks that no limit
// sees does not compile, by a setting or by the library's default. WIT-66
func TestRefusedFeatures(t *testing.T) {
	for name, module := range map[string]string{
		"shared memory":    `(memory 1 1 shared)`,
		"atomics":          `(memory 1) (func (drop (i32.atomic.load (i32.const 0))))`,
		"64-bit memory":    `(memory i64 1)`,
		"small pages":      `(memory 1 (pagesize 1))`,
		"a collected heap": `(type $s (struct (field i32))) (func (drop (struct.new_default $s)))`,
		"exceptions":       `(tag $t) (func (throw $t))`,
		"stack switching":  `(type $f (func)) (type $c (cont $f)) (func (param (ref $f)) (drop (cont.new $c (local.get 0))))`,
	} {
		b, err := Wat("(component (core module " + module + "))")
		if err != nil {
			t.Fatal(err)
		}
		if c, err := engine.Compile(b); err == nil {
			c.Close()
			t.Errorf("a guest with %s compiles", name)
		}
	}
	for name, item := range map[string]string{"async functions": `(import "f" (func async (param "x" u32)))`, "streams": `(type (stream u8))`} {
		b, err := Wat("(component " + item + ")")
		if err != nil {
			t.Fatal(err)
		}
		if c, err := engine.Compile(b); err == nil {
			c.Close()
			t.Errorf("a guest with %s compiles", name)
		}
	}
}

// Memory is zero when it is new and keeps its contents when it grows.
func TestMemoryContents(t *testing.T) {
	text := `(component (core module $m (memory 1) (data (i32.const 100) "abcd")
	  (func (export "f") (param i32)
	    (if (i32.ne (i32.load (i32.const 100)) (i32.const 0x64636261)) (then unreachable))
	    (drop (memory.grow (local.get 0)))
	    (if (i32.ne (i32.load (i32.const 100)) (i32.const 0x64636261)) (then unreachable))
	    (if (i32.load (i32.const 70000)) (then unreachable))
	    (if (i32.load (i32.const 131068)) (then unreachable))
	    (i32.store (i32.const 131068) (i32.const 1))
	    (if (i32.ne (memory.size) (i32.const 2)) (then unreachable))))
	  (core instance $i (instantiate $m)) (func (export "f") (param "n" u32) (canon lift (core func $i "f"))))`
	if err := instantiate(t, text, StoreConfig{MemoryBytes: 1 << 20}, uint32(1)); err != nil {
		t.Fatal(err)
	}
}

// A memory starts as zeros and ends where it should, whatever guest had its
// place in the process before.
func TestMemoryAfterAnother(t *testing.T) {
	text := func(pages int) string {
		return fmt.Sprintf(`(component (core module $m (memory %[1]d)
		  (func (export "f") (param $touch i32) (local $p i32)
		    (loop $l
		      (if (i64.ne (i64.load (local.get $p)) (i64.const 0)) (then unreachable))
		      (br_if $l (i32.lt_u (local.tee $p (i32.add (local.get $p) (i32.const 8))) (i32.const %[2]d))))
		    (memory.fill (i32.const 0) (i32.const 255) (i32.const %[2]d))
		    (drop (i32.load8_u (local.get $touch)))))
		  (core instance $i (instantiate $m)) (func (export "f") (param "n" u32) (canon lift (core func $i "f"))))`, pages, pages<<16)
	}
	for round := range 3 {
		for _, pages := range []int{3, 1, 2, 3} {
			size := uint32(pages) << 16
			if err := instantiate(t, text(pages), StoreConfig{}, size-1); err != nil {
				t.Errorf("round %d, %d pages: %v", round, pages, err)
			}
			if err := instantiate(t, text(pages), StoreConfig{}, size); err == nil || !strings.Contains(err.Error(), "out of bounds") {
				t.Errorf("round %d, %d pages: the byte after the last is there: %v", round, pages, err)
			}
		}
	}
}
