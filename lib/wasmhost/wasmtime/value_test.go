//go:build cgo

package wasmtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// echoText is a component whose function f hands its one argument of the given
// type to the host's echo and returns what that returned. flat are the core
// types of the value, defs the type definitions it needs.
func echoText(defs, wit, flat string) string {
	var params, pass strings.Builder
	for i := range strings.Fields(flat) {
		fmt.Fprintf(&pass, "(local.get %d) ", i)
	}
	fmt.Fprintf(&params, "(param %s)", flat)
	body := fmt.Sprintf("(func (export \"f\") %s (result %s) (call $e %s))", params.String(), flat, pass.String())
	imp := fmt.Sprintf("(func $e %s (result %s))", params.String(), flat)
	if len(strings.Fields(flat)) > 1 {
		body = fmt.Sprintf("(func (export \"f\") %s (result i32) (call $e %s (i32.const 8)) (i32.const 8))", params.String(), pass.String())
		imp = fmt.Sprintf("(func $e (param %s i32))", flat)
	}
	return fmt.Sprintf(`(component
  (import "t:e/e@0.1.0" (instance $x %[1]s (export "echo" (func (param "v" %[2]s) (result %[2]s)))))
  %[6]s
  (core module $libc (memory (export "mem") 2) (global $p (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (local $r i32)
      (local.set $r (i32.and (i32.add (global.get $p) (i32.const 7)) (i32.const -8)))
      (global.set $p (i32.add (local.get $r) (local.get 3)))
      (local.get $r)))
  (core instance $libc (instantiate $libc))
  (alias core export $libc "mem" (core memory $mem))
  (alias core export $libc "realloc" (core func $realloc))
  (core func $e (canon lower (func $x "echo") (memory $mem) (realloc $realloc)))
  (core module $m (import "x" "e" %[5]s) %[4]s)
  (core instance $i (instantiate $m (with "x" (instance (export "e" (func $e))))))
  (func $f (param "v" %[3]s) (result %[3]s) (canon lift (core func $i "f") (memory $mem) (realloc $realloc)))
  (export "f" (func $f)))`, defs, wit, outer(wit), body, imp, aliases(defs))
}

// aliases and outer name the instance's type $t outside of it.
func aliases(defs string) string {
	if defs == "" {
		return ""
	}
	return `(alias export $x "t" (type $o))`
}

func outer(wit string) string { return strings.ReplaceAll(wit, "$t", "$o") }

func def(body string) string {
	return fmt.Sprintf(`(type $d %s) (export "t" (type $t (eq $d)))`, body)
}

// TestValues passes each kind of value from Go to a guest, on to a host
// function, back to the guest and back to Go.
func TestValues(t *testing.T) {
	for _, tc := range []struct {
		defs, wit, flat string
		vals            []Val
	}{
		{"", "bool", "i32", []Val{true, false}},
		{"", "s8", "i32", []Val{int8(-128), int8(127)}},
		{"", "u8", "i32", []Val{uint8(0), uint8(255)}},
		{"", "s16", "i32", []Val{int16(math.MinInt16), int16(math.MaxInt16)}},
		{"", "u16", "i32", []Val{uint16(math.MaxUint16)}},
		{"", "s32", "i32", []Val{int32(math.MinInt32), int32(math.MaxInt32)}},
		{"", "u32", "i32", []Val{uint32(math.MaxUint32)}},
		{"", "s64", "i64", []Val{int64(math.MinInt64), int64(math.MaxInt64)}},
		{"", "u64", "i64", []Val{uint64(math.MaxUint64)}},
		{"", "f32", "f32", []Val{float32(1.5), float32(math.Inf(-1))}},
		{"", "f64", "f64", []Val{2.25, math.MaxFloat64}},
		{"", "char", "i32", []Val{Char('a'), Char(0x1F600)}},
		{"", "string", "i32 i32", []Val{"", "héllo\x00", strings.Repeat("x", 5000)}},
		{"", "(list u8)", "i32 i32", []Val{[]byte{0, 1, 255}, make([]byte, 5000)}},
		{"", "(list string)", "i32 i32", []Val{List{"a", "", "c"}, List(nil)}},
		{"", "(list (list u8))", "i32 i32", []Val{List{[]byte("ab"), List(nil)}}},
		{"", "(tuple string u8 f64)", "i32 i32 i32 f64", []Val{Tuple{"a", uint8(1), 2.5}}},
		{"", "(option string)", "i32 i32 i32", []Val{None, Some("x"), Some("")}},
		{"", "(option (option u8))", "i32 i32 i32", []Val{None, Some(None), Some(Some(uint8(7)))}},
		{"", "(result string (error u32))", "i32 i32 i32", []Val{Ok("x"), Err(uint32(9))}},
		{"", "(result)", "i32", []Val{Ok(nil), Err(nil)}},
		{"", "(result u8)", "i32 i32", []Val{Ok(uint8(4)), Err(nil)}},
		{def(`(record (field "a" u8) (field "b-c" (list u16)))`), "$t", "i32 i32 i32", []Val{Record{{"a", uint8(3)}, {"b-c", List{uint16(1), uint16(2)}}}}},
		{def(`(variant (case "none") (case "n" u32) (case "s" string))`), "$t", "i32 i32 i32", []Val{Variant{"none", nil}, Variant{"n", uint32(8)}, Variant{"s", "text"}}},
		{def(`(enum "a" "b" "c")`), "$t", "i32", []Val{Enum("a"), Enum("c")}},
		{def(`(flags "a" "b" "c")`), "$t", "i32", []Val{Flags{}, Flags{"a", "c"}}},
	} {
		t.Run(tc.wit+tc.defs, func(t *testing.T) {
			var seen Val
			g := start(t, echoText(tc.defs, tc.wit, tc.flat), StoreConfig{}, Interface{Name: "t:e/e@0.1.0", Funcs: map[string]Func{
				"echo": func(_ *Call, a []Val) (Val, error) { seen = a[0]; return a[0], nil },
			}})
			for _, v := range tc.vals {
				out, err := g.call(context.Background(), "f", 1, v)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(seen, v) || !reflect.DeepEqual(out[0], v) {
					t.Errorf("sent %#v, host got %#v, came back %#v", v, seen, out[0])
				}
			}
		})
	}
}

// TestWrongResults: a host function that returns something of another type ends
// the guest, not the process.
func TestWrongResults(t *testing.T) {
	odd := []Val{nil, true, uint8(1), int32(1), "x", "\xff\xfe", Char(-1), Char(0xD800), Char(0x110000), []byte{1}, List{"a", uint8(1)}, List{struct{}{}}, Tuple{}, Tuple{"a", 7},
		Record{}, Record{{"zz", uint8(1)}}, Record{{"a", List{1}}}, Variant{"zz", nil}, Variant{"n", nil}, Variant{"n", 1}, Enum("zz"), Enum(""), Flags{"zz"}, Flags{"a", "a"},
		Some(nil), Some(3), Ok(nil), Ok(1), Err("x"), Resource{1, 5, true}, Resource{1, 5, false}, 3, struct{}{}}
	for _, tc := range []struct{ defs, wit, flat string }{
		{"", "u32", "i32"}, {"", "char", "i32"}, {"", "string", "i32 i32"}, {"", "(list string)", "i32 i32"},
		{"", "(option string)", "i32 i32 i32"}, {"", "(result u8)", "i32 i32"},
		{def(`(record (field "a" u8) (field "b" u16))`), "$t", "i32 i32"},
		{def(`(variant (case "none") (case "n" u32))`), "$t", "i32 i32"},
		{def(`(enum "a" "b")`), "$t", "i32"},
		{def(`(flags "a" "b")`), "$t", "i32"},
	} {
		good := map[string]Val{"u32": uint32(1), "char": Char('x'), "string": "", "(list string)": List{}, "(option string)": None, "(result u8)": Err(nil)}[tc.wit]
		switch {
		case strings.Contains(tc.defs, "record"):
			good = Record{{"a", uint8(1)}, {"b", uint16(2)}}
		case strings.Contains(tc.defs, "variant"):
			good = Variant{"none", nil}
		case strings.Contains(tc.defs, "enum"):
			good = Enum("a")
		case strings.Contains(tc.defs, "flags"):
			good = Flags{}
		}
		text := echoText(tc.defs, tc.wit, tc.flat)
		passed := 0
		for _, v := range odd {
			g := start(t, text, StoreConfig{}, Interface{Name: "t:e/e@0.1.0", Funcs: map[string]Func{
				"echo": func(_ *Call, a []Val) (Val, error) { return v, nil },
			}})
			_, err := g.call(context.Background(), "f", 1, good)
			if err == nil {
				passed++
			}
			// The same values as arguments of the guest.
			h := start(t, text, StoreConfig{}, Interface{Name: "t:e/e@0.1.0", Funcs: map[string]Func{
				"echo": func(_ *Call, a []Val) (Val, error) { return good, nil },
			}})
			if _, argErr := h.call(context.Background(), "f", 1, v); (argErr == nil) != (err == nil) {
				t.Errorf("%s: %#v as argument: %v; as result: %v", tc.wit+tc.defs, v, argErr, err)
			}
		}
		if passed > 4 {
			t.Errorf("%s%s: %d of %d odd values passed", tc.wit, tc.defs, passed, len(odd))
		}
	}
}

// A missing import is an error that names it, and leaves the process whole.
func TestMissingImport(t *testing.T) {
	c := compile(t, echoText("", "u32", "i32"))
	l := engine.NewLinker()
	defer l.Close()
	s := engine.NewStore(StoreConfig{})
	defer s.Close()
	_, err := l.Instantiate(context.Background(), s, c)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Failed || !strings.Contains(err.Error(), "t:e/e@0.1.0") {
		t.Fatal(err)
	}
}

// TestHugeList: what a guest can make the library copy in one call is bounded;
// more than that ends the guest, not the process.
func TestHugeList(t *testing.T) {
	g := start(t, `(component (import "t:e/e@0.1.0" (instance $x (export "f" (func (param "v" (list u8))))))
	  (core module $libc (memory (export "mem") 256))
	  (core instance $libc (instantiate $libc))
	  (core func $e (canon lower (func $x "f") (memory $libc "mem")))
	  (core module $m (import "x" "e" (func $e (param i32 i32))) (func (export "f") (call $e (i32.const 0) (i32.const 0x1000000))))
	  (core instance $i (instantiate $m (with "x" (instance (export "e" (func $e))))))
	  (func (export "f") (canon lift (core func $i "f"))))`, StoreConfig{}, Interface{Name: "t:e/e@0.1.0", Funcs: map[string]Func{
		"f": func(_ *Call, a []Val) (Val, error) { return nil, nil },
	}})
	_, err := g.call(context.Background(), "f", 0)
	if err == nil || !strings.HasPrefix(err.Error(), "too much data") {
		t.Error(err)
	}
}
