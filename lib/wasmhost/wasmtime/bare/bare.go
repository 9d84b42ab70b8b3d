//go:build cgo

// Package bare is the yardstick of the component engine: the same work done by
// a loop in C over the library's C API, with the library's own WASI and without
// any Go in between. Benchmarks compare with it; nothing else uses it.
package bare

/*
#cgo CFLAGS: -O2 -Wall
#include <stdlib.h>
#include "bare.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	_ "github.com/bytecodealliance/wasmtime-go/v44" // brings libwasmtime.a
)

// Loop holds an engine, a linker with the library's WASI and a compiled tool.
type Loop struct{ p *C.bare_t }

// New compiles a component that exports murmur:tool/run@0.1.0 and imports at
// most WASI.
func New(wasm []byte) (*Loop, error) {
	if len(wasm) == 0 {
		return nil, errors.New("empty component")
	}
	l := &Loop{}
	if msg := C.bare_new((*C.uint8_t)(&wasm[0]), C.size_t(len(wasm)), &l.p); msg != nil {
		defer C.free(unsafe.Pointer(msg))
		return nil, errors.New(C.GoString(msg))
	}
	return l, nil
}

// Call makes n stores, instantiates in each, calls the tool once with the data
// "hello" and deletes the store; it returns the mean time of one in
// nanoseconds.
func (l *Loop) Call(n int) (float64, error) {
	var ns C.double
	if msg := C.bare_run(l.p, C.int(n), &ns); msg != nil {
		defer C.free(unsafe.Pointer(msg))
		return 0, errors.New(C.GoString(msg))
	}
	return float64(ns), nil
}

// Close frees everything.
func (l *Loop) Close() { C.bare_delete(l.p) }
