//go:build cgo

package component

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// sameVerdict wants Vet to say what Compile says, and returns the refusal.
func sameVerdict(t testing.TB, wasm []byte, kind wasmhost.Kind) *wasmhost.LoadError {
	t.Helper()
	g, err := engine.Compile(t.Context(), wasm, kind)
	if err == nil {
		g.Close()
	}
	if vet := engine.Vet(t.Context(), wasm, kind); fmt.Sprint(vet) != fmt.Sprint(err) {
		t.Errorf("Vet says %v, Compile %v", vet, err)
	}
	var le *wasmhost.LoadError
	if err != nil && !errors.As(err, &le) {
		t.Errorf("error of type %T", err)
	}
	return le
}

// nested is a component whose core module lies in a component within it; its code
// is that of a function of one i32.
func nested(t testing.TB, code string) []byte {
	return wat(t, `(component
	  (component $inner
	    (component $innermost
	      (core module $m (func (export "f") (result i32) `+code+`))
	      (core instance $i (instantiate $m))
	      (func (export "f") (result u32) (canon lift (core func $i "f"))))
	    (instance $i (instantiate $innermost))
	    (export "f" (func $i "f")))
	  (instance $i (instantiate $inner))
	  (core module $r (func (export "run")))
	  (core instance $r (instantiate $r))
	  (func $run (canon lift (core func $r "run")))
	  (instance $out (export "run" (func $run)))
	  (export "murmur:capsule/run@0.1.0" (instance $out)))`)
}

// What only the engine sees, in a component or in a module within it, is refused by
// Vet as by Compile, with its words, and what it takes passes. SES-271, ART-114, WIT-2
func TestVet(t *testing.T) {
	text, err := os.ReadFile("testdata/tool.wat")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) []byte {
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("no %s in the fixture", old)
		}
		return wat(t, strings.ReplaceAll(string(text), old, new))
	}
	whole := wat(t, string(text))
	// damage changes the one place where old stands.
	damage := func(old, new string) []byte {
		if bytes.Count(whole, []byte(old)) != 1 {
			t.Fatalf("%q stands %d times", old, bytes.Count(whole, []byte(old)))
		}
		return bytes.Replace(whole, []byte(old), []byte(new), 1)
	}
	for _, tc := range []struct {
		name   string
		wasm   []byte
		kind   wasmhost.Kind
		reason wasmhost.LoadReason // "" passes
	}{
		{"tool", whole, wasmhost.Tool, ""},
		{"driver", whole, wasmhost.Driver, ""},
		{"capsule", fixture(t, "capsule.wat"), wasmhost.Capsule, ""},
		{"shell", fixture(t, "shell.wat"), wasmhost.Capsule, ""},
		{"made by the C compiler, and wrapped", ctool(t), wasmhost.Tool, ""},
		{"type error in a function", edit("(local.get $p)))", "(i64.const 7)))"), wasmhost.Tool, wasmhost.NoCompile},
		{"type error in the other module", edit("(call $recurse))", "(drop))"), wasmhost.Tool, wasmhost.NoCompile},
		{"code cut off", damage("\xf0\xff\xff\xff\x07", "\xf0\xff\xff\xff\xff"), wasmhost.Tool, wasmhost.NoCompile},
		{"lowered at another type", edit(`(import "host" "chunk" (func $chunk (param i32 i32)))`, `(import "host" "chunk" (func $chunk (param i32 i64)))`), wasmhost.Tool, wasmhost.NoCompile},
		{"module with an import nobody gives", edit(`(import "libc" "memory" (memory 2))`, `(import "libc" "memory" (memory 2)) (import "gone" "f" (func))`), wasmhost.Tool, wasmhost.NoCompile},
		{"memory smaller than asked for", edit(`(memory (export "memory") 2)`, `(memory (export "memory") 1)`), wasmhost.Tool, wasmhost.NoCompile},
		{"large table", edit("(global $b", "(table 20000000 funcref) (global $b"), wasmhost.Tool, ""}, // bounded by each run
		{"start that takes an argument", edit("(func $grow ", "(start $odd) (func $odd (param i32)) (func $grow "), wasmhost.Tool, wasmhost.NoCompile},
		{"unknown import", edit("murmur:task/task@0.1.0", "murmur:process/spawn@0.1.0"), wasmhost.Tool, wasmhost.BadImport},
		{"import at another version", edit("murmur:task/task@0.1.0", "murmur:task/task@0.1.1"), wasmhost.Tool, wasmhost.BadVersion},
		{"import of another type", edit(`(export "emit-chunk" (func (param "chunk" string)))`, `(export "emit-chunk" (func (param "chunk" (list u8))))`), wasmhost.Tool, wasmhost.BadImport},
		{"export at another version", edit("murmur:tool/run@0.1.0", "murmur:tool/run@0.2.0"), wasmhost.Tool, wasmhost.BadVersion},
		{"export of another type", edit(`"passed" "failed" "error"`, `"passed" "failed"`), wasmhost.Tool, wasmhost.BadExport},
		{"another kind", whole, wasmhost.Capsule, wasmhost.BadExport},
		{"cut in two", whole[:len(whole)/2], wasmhost.Tool, wasmhost.BadFormat},
		{"last byte cut off", whole[:len(whole)-1], wasmhost.Tool, wasmhost.BadFormat},
		{"unknown section", append(bytes.Clone(whole), 77, 0), wasmhost.Tool, wasmhost.NoCompile},
		{"bad module deep inside", nested(t, "i64.const 1"), wasmhost.Capsule, wasmhost.NoCompile},
		{"good module deep inside", nested(t, "i32.const 1"), wasmhost.Capsule, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			le := sameVerdict(t, tc.wasm, tc.kind)
			if (le == nil) != (tc.reason == "") || le != nil && le.Reason != tc.reason {
				t.Errorf("refused with %v, want %q", le, tc.reason)
			}
			if sound := engine.sound(t.Context(), tc.wasm, tc.kind); sound != (le == nil) {
				t.Errorf("sound is %v, and Compile says %v", sound, le)
			}
		})
	}
	// What no shell can be made of is compiled.
	odd := edit("(global $b", "(global funcref (ref.func $named)) (func $named) (global $b")
	if le := sameVerdict(t, odd, wasmhost.Tool); le != nil || engine.sound(t.Context(), odd, wasmhost.Tool) {
		t.Errorf("a constant that names a function: %v", le)
	}
}

// Every module is found, however deep, and the hull has none of its code.
func TestHollow(t *testing.T) {
	whole := nested(t, "i32.const 123456789")
	hull, modules, err := hollow(whole)
	if err != nil || len(modules) != 2 {
		t.Fatalf("%d modules, %v", len(modules), err)
	}
	code := []byte("\x41\x95\x9a\xef\x3a\x0b") // i32.const 123456789, end
	if !bytes.Contains(modules[0], code) && !bytes.Contains(modules[1], code) {
		t.Error("the modules are not as they were")
	}
	if bytes.Contains(hull, code) || !bytes.Contains(hull, trapBody) {
		t.Error("the hull has code")
	}
	for n := range whole {
		if _, _, err := hollow(whole[:n]); err == nil && n != len(magic) {
			// A component may end after any of its sections.
			if _, _, err := names(whole[:n]); err != nil {
				t.Errorf("%d bytes of it are hollowed", n)
			}
		}
	}
	deep := bytes.Clone(magic)
	for range 2 * maxNesting {
		deep = append(append(bytes.Clone(magic), componentSection), append(leb(len(deep)), deep...)...)
	}
	if _, _, err := hollow(deep); !errors.Is(err, errDamaged) {
		t.Errorf("any depth is hollowed: %v", err)
	}
}

// A shell has the types of its module, whatever they are, and the functions it
// exports alone.
func TestShell(t *testing.T) {
	const sections = `
	  (import "a" "f" (func $f (param i64) (result f32)))
	  (import "a" "m" (memory 1 3))
	  (import "a" "t" (table 2 externref))
	  (import "a" "g" (global (mut v128)))
	  (import "a" "f2" (func $f2))`
	module := wat(t, `(module`+sections+`
	  (func $inner (param i32) (result i32) local.get 0)
	  (func $start)
	  (func $out (export "out") (param i32 i32) (result i64 i32) i64.const 1 i32.const 2)
	  (func $more (export "more") (export "twice") i32.const 1 call $inner drop)
	  (export "f" (func $f)) (export "f2" (func $f2)) (export "m" (memory 0)) (export "t" (table 0)) (export "g" (global 0))
	  (table $own (export "own") 3 10 funcref)
	  (global $one (export "one") (mut f64) (f64.const 1))
	  (start $start)
	  (elem (table $own) (i32.const 0) func $inner $out)
	  (data (i32.const 0) "some bytes"))`)
	got, err := shell(module)
	if err != nil {
		t.Fatal(err)
	}
	want := wat(t, `(module`+sections+`
	  (func $out (export "out") (param i32 i32) (result i64 i32) unreachable)
	  (func $more (export "more") unreachable)
	  (func $twice (export "twice") unreachable)
	  (export "f" (func $f)) (export "f2" (func $f2)) (export "m" (memory 0)) (export "t" (table 0)) (export "g" (global 0))
	  (table $own (export "own") 3 10 funcref)
	  (global $one (export "one") (mut f64) (f64.const 1)))`)
	for _, m := range [][]byte{got, want} {
		if err := engine.wt.ValidateModule(m); err != nil {
			t.Fatal(err)
		}
	}
	typeOf := func(m []byte) (list [][]byte) {
		r := &reader{b: m[len(moduleMagic):]}
		for len(r.b) > 0 {
			if id, body := r.byte(), r.bytes(); id == coreImport || id == coreExport || id == coreTable || id == coreGlobal {
				list = append(list, body)
			}
		}
		return list
	}
	if g, w := typeOf(got), typeOf(want); !slices.EqualFunc(g, w, bytes.Equal) {
		t.Errorf("%q, want %q", g, w)
	}
	g, err := engine.wt.CompileModule(got)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	w, err := engine.wt.CompileModule(want)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if !maps.Equal(g.Exports(), w.Exports()) {
		t.Errorf("exports %v, want %v", g.Exports(), w.Exports())
	}
	if _, err := shell(wat(t, `(module (func $f) (global funcref (ref.func $f)))`)); err == nil {
		t.Error("a constant that names a function is lost")
	}
}

// leb is an unsigned LEB128 number.
func leb(n int) (out []byte) {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// Vet and Compile agree about any bytes.
func FuzzVet(f *testing.F) {
	f.Add(fixture(f, "capsule.wat"))
	f.Add(fixture(f, "tool.wat"))
	f.Add(nested(f, "i32.const 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 8000 {
			t.Skip("long to compile")
		}
		sameVerdict(t, b, wasmhost.Tool)
		sameVerdict(t, b, wasmhost.Capsule)
	})
}
