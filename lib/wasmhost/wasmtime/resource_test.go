//go:build cgo

package wasmtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// resourceGuest drives every way a host resource can cross the boundary: made
// by a constructor, taken by a method, a static and lists of borrows, inside
// records, variants, options and results, dropped, leaked, dropped twice and
// forged.
const resourceGuest = `(component
  (import "t:r/x@0.2.0" (instance $x
    (export "thing" (type $thing (sub resource)))
    (type $rec-t (record (field "who" (own $thing)) (field "n" u8)))
    (export "rec" (type $rec (eq $rec-t)))
    (type $var-t (variant (case "none") (case "one" (own $thing)) (case "ch" char)))
    (export "vari" (type $var (eq $var-t)))
    (type $fl-t (flags "a" "b" "c"))
    (export "fl" (type $fl (eq $fl-t)))
    (export "[constructor]thing" (func (param "v" u32) (result (own $thing))))
    (export "[method]thing.get" (func (param "self" (borrow $thing)) (result u32)))
    (export "[static]thing.merge" (func (param "a" (own $thing)) (param "b" (own $thing)) (result (own $thing))))
    (export "sum" (func (param "l" (list (borrow $thing))) (result u32)))
    (export "split" (func (param "t" (own $thing)) (result (list (own $thing)))))
    (export "mk-rec" (func (param "v" u32) (result $rec)))
    (export "eat-var" (func (param "v" $var) (result u32)))
    (export "try" (func (param "v" u32) (result (result (own $thing) (error string)))))
    (export "maybe" (func (param "v" (option (own $thing))) (result u32)))
    (export "nums" (func (param "a" s8) (param "b" s16) (param "c" s64) (param "d" f64) (param "e" f32) (param "f" char) (param "g" $fl) (param "h" u16) (result s64)))
  ))
  (core module $libc
    (memory (export "mem") 1)
    (global $p (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $r i32)
      (if (i32.gt_u (global.get $p) (i32.const 60000)) (then (global.set $p (i32.const 1024))))
      (local.set $r (i32.and (i32.add (global.get $p) (i32.const 7)) (i32.const -8)))
      (global.set $p (i32.add (local.get $r) (local.get 3)))
      (local.get $r)))
  (core instance $libc (instantiate $libc))
  (alias core export $libc "mem" (core memory $mem))
  (alias core export $libc "realloc" (core func $realloc))
  (alias export $x "thing" (type $thing))
  (core func $drop (canon resource.drop $thing))
  (core func $new (canon lower (func $x "[constructor]thing")))
  (core func $get (canon lower (func $x "[method]thing.get")))
  (core func $merge (canon lower (func $x "[static]thing.merge")))
  (core func $sum (canon lower (func $x "sum") (memory $mem) (realloc $realloc)))
  (core func $split (canon lower (func $x "split") (memory $mem) (realloc $realloc)))
  (core func $mkrec (canon lower (func $x "mk-rec") (memory $mem) (realloc $realloc)))
  (core func $eatvar (canon lower (func $x "eat-var")))
  (core func $try (canon lower (func $x "try") (memory $mem) (realloc $realloc)))
  (core func $maybe (canon lower (func $x "maybe")))
  (core func $nums (canon lower (func $x "nums")))
  (core module $m
    (import "l" "mem" (memory 1))
    (import "x" "drop" (func $drop (param i32)))
    (import "x" "new" (func $new (param i32) (result i32)))
    (import "x" "get" (func $get (param i32) (result i32)))
    (import "x" "merge" (func $merge (param i32 i32) (result i32)))
    (import "x" "sum" (func $sum (param i32 i32) (result i32)))
    (import "x" "split" (func $split (param i32 i32)))
    (import "x" "mkrec" (func $mkrec (param i32 i32)))
    (import "x" "eatvar" (func $eatvar (param i32 i32) (result i32)))
    (import "x" "try" (func $try (param i32 i32)))
    (import "x" "maybe" (func $maybe (param i32 i32) (result i32)))
    (import "x" "nums" (func $nums (param i32 i32 i64 f64 f32 i32 i32 i32) (result i64)))
    (func (export "go") (result i32)
      (local $a i32) (local $b i32) (local $acc i32)
      ;; merge(new 1, new 2) -> get = 3, drop
      (local.set $a (call $merge (call $new (i32.const 1)) (call $new (i32.const 2))))
      (local.set $acc (call $get (local.get $a)))
      ;; list<borrow>: [a, new 10, a] -> 3+10+3
      (local.set $b (call $new (i32.const 10)))
      (i32.store (i32.const 0) (local.get $a))
      (i32.store (i32.const 4) (local.get $b))
      (i32.store (i32.const 8) (local.get $a))
      (local.set $acc (i32.add (local.get $acc) (call $sum (i32.const 0) (i32.const 3))))
      (call $drop (local.get $b))
      ;; split(a) -> list<own> of 3, sum them as borrows, drop each
      (call $split (local.get $a) (i32.const 16))
      (local.set $acc (i32.add (local.get $acc) (call $sum (i32.load (i32.const 16)) (i32.load (i32.const 20)))))
      (call $drop (i32.load (i32.load (i32.const 16))))
      (call $drop (i32.load offset=4 (i32.load (i32.const 16))))
      (call $drop (i32.load offset=8 (i32.load (i32.const 16))))
      ;; record{own,u8}
      (call $mkrec (i32.const 7) (i32.const 32))
      (local.set $acc (i32.add (local.get $acc) (call $get (i32.load (i32.const 32)))))
      (local.set $acc (i32.add (local.get $acc) (i32.load8_u (i32.const 36))))
      ;; variant case 1 gives the record's own away, case 2 a char
      (local.set $acc (i32.add (local.get $acc) (call $eatvar (i32.const 1) (i32.load (i32.const 32)))))
      (local.set $acc (i32.add (local.get $acc) (call $eatvar (i32.const 2) (i32.const 233))))
      ;; result ok and err
      (call $try (i32.const 5) (i32.const 48))
      (if (i32.load8_u (i32.const 48)) (then unreachable))
      (local.set $acc (i32.add (local.get $acc) (call $maybe (i32.const 1) (i32.load (i32.const 52)))))
      (local.set $acc (i32.add (local.get $acc) (call $maybe (i32.const 0) (i32.const 0))))
      (call $try (i32.const 0) (i32.const 48))
      (if (i32.eqz (i32.load8_u (i32.const 48))) (then unreachable))
      (local.set $acc (i32.add (local.get $acc) (i32.load (i32.const 56))))
      (if (i64.ne (i64.const -42) (call $nums (i32.const -5) (i32.const -300) (i64.const -9000000000) (f64.const 2.5) (f32.const 1.5) (i32.const 0x1F600) (i32.const 5) (i32.const 65535))) (then unreachable))
      (local.get $acc))
    (func (export "leak") (result i32) (call $new (i32.const 99)))
    (func (export "double-drop") (local $a i32) (local.set $a (call $new (i32.const 1))) (call $drop (local.get $a)) (call $drop (local.get $a)))
    (func (export "forge") (result i32) (call $get (i32.const 12345)))
    (func (export "loop") (param $n i32) (result i32)
      (local $a i32)
      (local.set $a (call $new (i32.const 1)))
      (loop $l
        (drop (call $get (local.get $a)))
        (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (call $drop (local.get $a)) (i32.const 0))
    (func (export "churn") (param $n i32) (result i32)
      (loop $l
        (call $drop (call $new (i32.const 1)))
        (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (i32.const 0))
    (func (export "nloop") (param $n i32) (result i32)
      (loop $l
        (drop (call $maybe (i32.const 0) (i32.const 0)))
        (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (i32.const 0)))
  (core instance $i (instantiate $m
    (with "l" (instance $libc))
    (with "x" (instance
      (export "drop" (func $drop)) (export "new" (func $new)) (export "get" (func $get)) (export "merge" (func $merge))
      (export "sum" (func $sum)) (export "split" (func $split)) (export "mkrec" (func $mkrec)) (export "eatvar" (func $eatvar))
      (export "try" (func $try)) (export "maybe" (func $maybe)) (export "nums" (func $nums))))))
  (func (export "go") (result u32) (canon lift (core func $i "go")))
  (func (export "leak") (result u32) (canon lift (core func $i "leak")))
  (func (export "double-drop") (canon lift (core func $i "double-drop")))
  (func (export "forge") (result u32) (canon lift (core func $i "forge")))
  (func (export "loop") (param "n" u32) (result u32) (canon lift (core func $i "loop")))
  (func (export "churn") (param "n" u32) (result u32) (canon lift (core func $i "churn")))
  (func (export "nloop") (param "n" u32) (result u32) (canon lift (core func $i "nloop")))
)`

type thing struct {
	v      uint32
	closed *int
}

func (t *thing) Close() error { *t.closed++; return nil }

var thingType = NewResourceType()

// things is what resourceGuest imports at 0.2.0, defined at 0.2.3.
func things(closed *int) Interface {
	mk := func(c *Call, v uint32) Resource { return c.Own(thingType, &thing{v, closed}) }
	return Interface{Name: "t:r/x@0.2.3", Resources: map[string]ResourceType{"thing": thingType}, Funcs: map[string]Func{
		"[constructor]thing": func(c *Call, a []Val) (Val, error) { return mk(c, a[0].(uint32)), nil },
		"[method]thing.get":  func(c *Call, a []Val) (Val, error) { return Res[*thing](c, a[0]).v, nil },
		"[static]thing.merge": func(c *Call, a []Val) (Val, error) {
			return mk(c, Res[*thing](c, a[0]).v+Res[*thing](c, a[1]).v), nil
		},
		"sum": func(c *Call, a []Val) (Val, error) {
			n := uint32(0)
			for _, v := range a[0].(List) {
				if v.(Resource).Owned {
					return nil, errors.New("expected a borrow")
				}
				n += Res[*thing](c, v).v
			}
			return n, nil
		},
		"split": func(c *Call, a []Val) (Val, error) {
			t := Res[*thing](c, a[0])
			return List{mk(c, t.v), mk(c, t.v), mk(c, t.v)}, nil
		},
		"mk-rec": func(c *Call, a []Val) (Val, error) {
			return Record{{"who", mk(c, a[0].(uint32))}, {"n", uint8(200)}}, nil
		},
		"eat-var": func(c *Call, a []Val) (Val, error) {
			switch v := a[0].(Variant); v.Name {
			case "one":
				return Res[*thing](c, v.V).v, nil
			case "ch":
				return uint32(v.V.(Char)), nil
			}
			return uint32(0), nil
		},
		"try": func(c *Call, a []Val) (Val, error) {
			if v := a[0].(uint32); v > 0 {
				return Ok(mk(c, v)), nil
			}
			return Err("zero"), nil
		},
		"maybe": func(c *Call, a []Val) (Val, error) {
			if o := a[0].(Option); o.Some {
				return Res[*thing](c, o.V).v, nil
			}
			return uint32(1000), nil
		},
		"nums": func(c *Call, a []Val) (Val, error) {
			if s := fmt.Sprint(a...); s != "-5 -300 -9000000000 2.5 1.5 128512 [a c] 65535" {
				return nil, fmt.Errorf("got %s", s)
			}
			return int64(-42), nil
		},
	}}
}

func TestResources(t *testing.T) {
	closed := 0
	g := start(t, resourceGuest, StoreConfig{}, things(&closed))
	out, err := g.call(context.Background(), "go", 1)
	// 3 + 16 + 9 + 7 + 200 + 7 + 233 + 5 + 1000 + len("zero")
	if err != nil || out[0] != uint32(3+16+9+7+200+7+233+5+1000+4) {
		t.Fatal(out, err)
	}
	if g.s.Live() != 0 || closed != 4 {
		t.Fatalf("%d live, %d closed", g.s.Live(), closed)
	}
	if _, err = g.call(context.Background(), "leak", 1); err != nil || g.s.Live() != 1 {
		t.Fatalf("%v, %d live", err, g.s.Live())
	}
	g.s.Close()
	if closed != 5 {
		t.Fatal("a leaked resource was not closed with its store")
	}
}

func TestBadHandles(t *testing.T) {
	for name, want := range map[string]string{"double-drop": "unknown handle index", "forge": "unknown handle index 12345"} {
		closed := 0
		g := start(t, resourceGuest, StoreConfig{}, things(&closed))
		results := 1
		if name == "double-drop" {
			results = 0
		}
		if _, err := g.call(context.Background(), name, results); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A guest that never drops its handles ends at the cap, and what it held is
// closed.
func TestHandleCap(t *testing.T) {
	closed := 0
	g := start(t, resourceGuest, StoreConfig{Handles: 10}, things(&closed))
	var err error
	n := 0
	for ; n < 20 && err == nil; n++ {
		_, err = g.call(context.Background(), "leak", 1)
	}
	var e *Error
	if n != 11 || !errors.As(err, &e) || e.Kind != LimitHit || e.Limit != Handles {
		t.Fatalf("call %d: %v", n, err)
	}
	g.s.Close()
	if closed != 10 {
		t.Errorf("%d closed", closed)
	}
}

// A destructor that panics ends its guest, not the process.
func TestPanicInDestructor(t *testing.T) {
	it := things(nil) // a nil counter makes Close panic
	g := start(t, resourceGuest, StoreConfig{}, it)
	_, err := g.call(context.Background(), "churn", 1, uint32(3))
	var e *Error
	if !errors.As(err, &e) || e.Kind != HostPanic {
		t.Fatal(err)
	}
}
