//go:build cgo

package wasmtime

// #include "capi.h"
import "C"

import (
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Every block of memory inside a value handed to the library comes from the
// library's allocators, because the library frees it.

// setName writes s, with what is not UTF-8 replaced: the library takes the
// bytes for a Rust string.
func setName(n *C.wasm_byte_vec_t, s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	p, l := cstr(s)
	C.wasm_byte_vec_new(n, l, p)
}

func getName(n *C.wasm_byte_vec_t) string {
	if n.size == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(n.data)), int(n.size)))
}

func at[T any](c *C.wasmtime_component_val_t) *T { return (*T)(unsafe.Pointer(&c.of)) }

func put[T any](c *C.wasmtime_component_val_t, kind C.uint8_t, v T) {
	*at[T](c) = v
	c.kind = kind
}

// setPtr writes a C pointer into C memory as a number. A pointer-typed store
// would run the garbage collector's write barrier over the old contents, which
// in C memory may be stale and look like a Go pointer (cmd/cgo, "Passing
// pointers"): the heap would be corrupted.
func setPtr[T any](dst **T, p *T) { *(*uintptr)(unsafe.Pointer(dst)) = uintptr(unsafe.Pointer(p)) }

// box writes a heap copy of v to dst, or NULL for nil.
func (s *Store) box(v Val, dst **C.wasmtime_component_val_t) error {
	setPtr(dst, nil)
	if v == nil {
		return nil
	}
	var t C.wasmtime_component_val_t
	err := s.toC(v, &t)
	setPtr(dst, C.wasmtime_component_val_new(&t))
	return err
}

// toC writes v to c, which holds zeros or a value without heap memory. Also
// after an error c holds something that can be deleted: the kind is written
// once its payload is valid.
func (s *Store) toC(v Val, c *C.wasmtime_component_val_t) error {
	switch x := v.(type) {
	case bool:
		put(c, C.WH_BOOL, x)
	case int8:
		put(c, C.WH_S8, x)
	case uint8:
		put(c, C.WH_U8, x)
	case int16:
		put(c, C.WH_S16, x)
	case uint16:
		put(c, C.WH_U16, x)
	case int32:
		put(c, C.WH_S32, x)
	case uint32:
		put(c, C.WH_U32, x)
	case int64:
		put(c, C.WH_S64, x)
	case uint64:
		put(c, C.WH_U64, x)
	case float32:
		put(c, C.WH_F32, x)
	case float64:
		put(c, C.WH_F64, x)
	case Char:
		if !utf8.ValidRune(rune(x)) {
			return fmt.Errorf("char %#x is no Unicode scalar value", uint32(x))
		}
		put(c, C.WH_CHAR, uint32(x))
	case string:
		setName(at[C.wasm_byte_vec_t](c), x)
		c.kind = C.WH_STRING
	case Enum:
		setName(at[C.wasm_byte_vec_t](c), string(x))
		c.kind = C.WH_ENUM
	case []byte:
		C.wh_bytes_to_list(at[C.wasmtime_component_vallist_t](c), (*C.uint8_t)(unsafe.SliceData(x)), C.size_t(len(x)))
		c.kind = C.WH_LIST
	case List:
		l := at[C.wasmtime_component_vallist_t](c)
		C.wh_list_new(l, C.size_t(len(x)))
		c.kind = C.WH_LIST
		return s.toAll(x, unsafe.Slice(l.data, len(x)))
	case Tuple:
		l := at[C.wasmtime_component_valtuple_t](c)
		C.wh_tuple_new(l, C.size_t(len(x)))
		c.kind = C.WH_TUPLE
		return s.toAll(x, unsafe.Slice(l.data, len(x)))
	case Record:
		r := at[C.wasmtime_component_valrecord_t](c)
		C.wh_record_new(r, C.size_t(len(x)))
		c.kind = C.WH_RECORD
		for i, e := range x {
			d := &unsafe.Slice(r.data, len(x))[i]
			setName(&d.name, e.Name)
			if err := s.toC(e.V, &d.val); err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
		}
	case Variant:
		r := at[C.wasmtime_component_valvariant_t](c)
		setName(&r.discriminant, x.Name)
		err := s.box(x.V, &r.val)
		c.kind = C.WH_VARIANT
		return err
	case Option:
		p := at[*C.wasmtime_component_val_t](c)
		setPtr(p, nil)
		c.kind = C.WH_OPTION
		if x.Some {
			return s.box(x.V, p)
		}
	case Result:
		r := at[C.wasmtime_component_valresult_t](c)
		r.is_ok = C.bool(x.OK)
		err := s.box(x.V, &r.val)
		c.kind = C.WH_RESULT
		return err
	case Flags:
		f := at[C.wasmtime_component_valflags_t](c)
		C.wh_flags_new(f, C.size_t(len(x)))
		c.kind = C.WH_FLAGS
		for i, n := range x {
			setName(&unsafe.Slice(f.data, len(x))[i], n)
		}
	case Resource:
		return takeErr(C.wh_put_resource(s.c, C.bool(x.Owned), C.uint32_t(x.Rep), C.uint32_t(x.Type), c))
	default:
		return fmt.Errorf("no component value for %T", v)
	}
	return nil
}

func (s *Store) toAll(in []Val, out []C.wasmtime_component_val_t) error {
	for i, v := range in {
		if err := s.toC(v, &out[i]); err != nil {
			return err
		}
	}
	return nil
}

// fromC copies a value out and frees nothing. A resource inside is converted to
// the host's view, which ends its borrow or takes it over from the guest.
func (s *Store) fromC(c *C.wasmtime_component_val_t) (Val, error) {
	switch c.kind {
	case C.WH_BOOL:
		return *at[bool](c), nil
	case C.WH_S8:
		return *at[int8](c), nil
	case C.WH_U8:
		return *at[uint8](c), nil
	case C.WH_S16:
		return *at[int16](c), nil
	case C.WH_U16:
		return *at[uint16](c), nil
	case C.WH_S32:
		return *at[int32](c), nil
	case C.WH_U32:
		return *at[uint32](c), nil
	case C.WH_S64:
		return *at[int64](c), nil
	case C.WH_U64:
		return *at[uint64](c), nil
	case C.WH_F32:
		return *at[float32](c), nil
	case C.WH_F64:
		return *at[float64](c), nil
	case C.WH_CHAR:
		return Char(*at[uint32](c)), nil
	case C.WH_STRING:
		return getName(at[C.wasm_byte_vec_t](c)), nil
	case C.WH_ENUM:
		return Enum(getName(at[C.wasm_byte_vec_t](c))), nil
	case C.WH_LIST:
		return s.fromList(at[C.wasmtime_component_vallist_t](c))
	case C.WH_TUPLE:
		l := at[C.wasmtime_component_valtuple_t](c)
		out := make(Tuple, int(l.size))
		return out, s.fromAll(unsafe.Slice(l.data, len(out)), out)
	case C.WH_RECORD:
		r := at[C.wasmtime_component_valrecord_t](c)
		out := make(Record, int(r.size))
		for i := range out {
			d := &unsafe.Slice(r.data, len(out))[i]
			v, err := s.fromC(&d.val)
			if err != nil {
				return nil, err
			}
			out[i] = Field{getName(&d.name), v}
		}
		return out, nil
	case C.WH_VARIANT:
		r := at[C.wasmtime_component_valvariant_t](c)
		v, err := s.unbox(r.val)
		return Variant{getName(&r.discriminant), v}, err
	case C.WH_OPTION:
		p := *at[*C.wasmtime_component_val_t](c)
		v, err := s.unbox(p)
		return Option{p != nil, v}, err
	case C.WH_RESULT:
		r := at[C.wasmtime_component_valresult_t](c)
		v, err := s.unbox(r.val)
		return Result{bool(r.is_ok), v}, err
	case C.WH_FLAGS:
		f := at[C.wasmtime_component_valflags_t](c)
		out := make(Flags, int(f.size))
		for i := range out {
			out[i] = getName(&unsafe.Slice(f.data, len(out))[i])
		}
		return out, nil
	case C.WH_RESOURCE:
		var rep, ty C.uint32_t
		var owned C.bool
		if err := takeErr(C.wh_take_resource(s.c, *at[*C.wasmtime_component_resource_any_t](c), &rep, &ty, &owned)); err != nil {
			return nil, err
		}
		return Resource{ResourceType(ty), uint32(rep), bool(owned)}, nil
	}
	return nil, fmt.Errorf("component value of unknown kind %d", c.kind)
}

func (s *Store) fromList(l *C.wasmtime_component_vallist_t) (Val, error) {
	n := int(l.size)
	if n == 0 {
		return List(nil), nil // of which type is not known here; see Bytes
	}
	e := unsafe.Slice(l.data, n)
	if e[0].kind == C.WH_U8 {
		b := make([]byte, n)
		if !C.wh_list_to_bytes(l, (*C.uint8_t)(&b[0])) {
			return nil, fmt.Errorf("list of mixed kinds")
		}
		return b, nil
	}
	out := make(List, n)
	return out, s.fromAll(e, out)
}

func (s *Store) fromAll(e []C.wasmtime_component_val_t, out []Val) (err error) {
	for i := range out {
		if out[i], err = s.fromC(&e[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) unbox(p *C.wasmtime_component_val_t) (Val, error) {
	if p == nil {
		return nil, nil
	}
	return s.fromC(p)
}
