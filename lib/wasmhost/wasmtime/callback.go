//go:build cgo

package wasmtime

// #include "capi.h"
import "C"

import (
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"unsafe"
)

// fail remembers why a callback ends the guest; the first reason stands.
func (s *Store) fail(e *Error) {
	if s.fault == nil {
		s.fault = e
	}
}

// end is fail, and returns the C error that ends the guest. The text only serves
// to fill the library's report.
func (s *Store) end(e *Error) *C.wasmtime_error_t {
	s.fail(e)
	return newErr(e.Error())
}

// recovered makes a panic the reason for the end of the guest: it must not unwind
// through C.
func (s *Store) recovered(name string, p any) *Error {
	e := &Error{Kind: HostPanic, Err: fmt.Errorf("%s: panic: %v", name, p), Detail: string(debug.Stack())}
	if g, ok := p.(guestFault); ok {
		e = &Error{Kind: LimitHit, Limit: g.limit}
	}
	s.fail(e)
	return e
}

//export whHostCall
func whHostCall(store, id C.uintptr_t, a *C.wasmtime_component_val_t, na C.size_t, r *C.wasmtime_component_val_t, nr C.size_t) (ret *C.wasmtime_error_t) {
	s := cgo.Handle(store).Value().(*Store)
	f := &s.linker.funcs[id]
	defer func() {
		if p := recover(); p != nil {
			ret = s.end(s.recovered(f.name, p))
		}
	}()
	if err := s.ctx.Err(); err != nil {
		return newErr(err.Error())
	}
	var buf [8]Val
	args := buf[:0]
	ca := unsafe.Slice(a, int(na))
	for i := range ca {
		v, err := s.fromC(&ca[i])
		if err != nil {
			return s.end(&Error{Kind: HostError, Err: fmt.Errorf("%s: argument %d: %w", f.name, i, err)})
		}
		args = append(args, v)
	}
	v, err := f.f(&Call{s, f.name}, args)
	if err != nil {
		return s.end(&Error{Kind: HostError, Err: fmt.Errorf("%s: %w", f.name, err)})
	}
	if nr == 1 {
		if err := s.toC(v, r); err != nil {
			return s.end(&Error{Kind: HostPanic, Err: fmt.Errorf("%s: result: %w", f.name, err)})
		}
	}
	return nil
}

//export whResourceDrop
func whResourceDrop(store C.uintptr_t, ty, rep C.uint32_t) (ret *C.wasmtime_error_t) {
	s := cgo.Handle(store).Value().(*Store)
	defer func() {
		if p := recover(); p != nil {
			ret = s.end(s.recovered("drop of a resource", p))
		}
	}()
	closeValue(s.table.take(ResourceType(ty), uint32(rep)))
	return nil
}

//export whEpoch
func whEpoch(store C.uintptr_t) *C.wasmtime_error_t {
	if err := cgo.Handle(store).Value().(*Store).ctx.Err(); err != nil {
		return newErr(err.Error())
	}
	return nil
}
