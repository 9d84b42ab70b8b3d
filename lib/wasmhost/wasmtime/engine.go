//go:build cgo

package wasmtime

/*
#cgo CFLAGS: -O2 -Wall -Wno-unused-parameter
#include <stdlib.h>
#include "capi.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"unsafe"

	_ "github.com/bytecodealliance/wasmtime-go/v44" // brings libwasmtime.a and its link flags
)

// Available tells whether this build has an engine: NewEngine can succeed.
const Available = true

// settings is the text of what wh_engine_new sets and compiled code depends on;
// whoever stores compiled forms puts it into their name.
const settings = "component-model epoch memory-creator no-cow -threads -memory64"

// The stack of a guest: as much as a thread has for a capsule's guest, that of a
// tool it invokes, and the host between and around them, but no more than
// maxStack. Programs made by the Go compiler need much of it: it runs its tests on
// 8 MiB (lib/wasm/go_wasip1_wasm_exec), and every call of Go code is one of
// WebAssembly.
const (
	maxStack  = 3 << 20
	hostStack = 1 << 20
	needStack = 2*(512<<10) + hostStack
	// unlimitedStack is what the C library gives threads without a limit (glibc,
	// ARCH_STACK_DEFAULT_SIZE).
	unlimitedStack = 2 << 20
)

// guestStack is the stack of one guest on threads of this process. It refuses
// threads that a guest could exhaust before the library stops it: that would end
// the process. The C library gives new threads the soft limit of the process's
// start.
func guestStack() (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &l); err != nil || l.Cur > 1<<40 {
		l.Cur = unlimitedStack
	}
	if l.Cur < needStack {
		return 0, fmt.Errorf("the stack limit is %d KiB and guests need %d KiB: raise it with ulimit -s", l.Cur>>10, needStack>>10)
	}
	return min((l.Cur-hostStack)/2, maxStack), nil
}

// Settings describes, for a fingerprint, every setting of NewEngine that is not
// the library's default.
func Settings() string { return settings }

// cstr gives C the bytes of s for the duration of one call.
func cstr(s string) (*C.char, C.size_t) {
	if s == "" {
		return nil, 0
	}
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

// takeErr turns a C error into a Go one and frees it.
func takeErr(e *C.wasmtime_error_t) error {
	if e == nil {
		return nil
	}
	var m C.wasm_byte_vec_t
	C.wasmtime_error_message(e, &m)
	s := takeString(&m)
	C.wasmtime_error_delete(e)
	return &Error{Kind: Failed, Detail: s}
}

func newErr(s string) *C.wasmtime_error_t {
	cs := C.CString(s)
	defer C.free(unsafe.Pointer(cs))
	return C.wasmtime_error_new(cs)
}

func takeString(v *C.wasm_byte_vec_t) string {
	defer C.wasm_byte_vec_delete(v)
	if v.size == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(v.data)), int(v.size)))
}

func takeBytes(v *C.wasm_byte_vec_t) []byte { return []byte(takeString(v)) }

// shared is the library's engine, one for all users in the process: code, settings
// and the epoch are common to components and core modules.
var shared struct {
	mu    sync.Mutex
	p     *C.wasm_engine_t
	users int
}

// Engine compiles guests and interrupts them. It is safe for concurrent use.
type Engine struct {
	p      *C.wasm_engine_t
	mu     sync.RWMutex // held for reading while an interrupt uses p
	closed bool
}

// NewEngine returns an engine. Close it after all that was made from it.
func NewEngine() (*Engine, error) {
	stack, err := guestStack()
	if err != nil {
		return nil, err
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		if shared.p = C.wh_engine_new(C.size_t(stack)); shared.p == nil {
			return nil, errors.New("the engine does not start")
		}
	}
	shared.users++
	return &Engine{p: shared.p}, nil
}

// Close frees the engine; a second call does nothing.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users--; shared.users == 0 {
		C.wasm_engine_delete(shared.p)
	}
	return nil
}

// interrupt makes every running guest ask whether its context is over.
func (e *Engine) interrupt() {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if !e.closed {
		C.wasmtime_engine_increment_epoch(e.p)
	}
}

// Component is compiled code, shared by any number of stores.
type Component struct {
	e *Engine
	p *C.wasmtime_component_t
}

// Compile compiles a component in the binary format, on all processors. It can
// not be interrupted.
func (e *Engine) Compile(wasm []byte) (*Component, error) {
	if len(wasm) == 0 {
		return nil, errors.New("empty component")
	}
	c := &Component{e: e}
	if err := takeErr(C.wasmtime_component_new(e.p, (*C.uint8_t)(&wasm[0]), C.size_t(len(wasm)), &c.p)); err != nil {
		return nil, err
	}
	return c, nil
}

// Load makes a component from a file that holds what Component.Serialize returned
// on an engine of the same version and settings; other contents, truncated ones
// included, are an error as far as the library notices. It is native code and is
// trusted and mapped, as that of LoadModule.
func (e *Engine) Load(f *os.File) (*Component, error) {
	path, free := openPath(f)
	defer free()
	c := &Component{e: e}
	if err := takeErr(C.wasmtime_component_deserialize_file(e.p, path, &c.p)); err != nil {
		return nil, err
	}
	return c, nil
}

// Serialize returns the component's native code for Load.
func (c *Component) Serialize() ([]byte, error) {
	var v C.wasm_byte_vec_t
	if err := takeErr(C.wasmtime_component_serialize(c.p, &v)); err != nil {
		return nil, err
	}
	return trim(takeBytes(&v)), nil
}

// Close frees the component; a second call does nothing. Stores it was
// instantiated in keep what they need of it.
func (c *Component) Close() error {
	if c.p != nil {
		C.wasmtime_component_delete(c.p)
		c.p = nil
	}
	return nil
}

// Wat translates WebAssembly text, of a module or a component, to the binary
// format.
func Wat(text string) ([]byte, error) {
	var v C.wasm_byte_vec_t
	p, n := cstr(text)
	if n == 0 {
		return nil, errors.New("empty text")
	}
	if err := takeErr(C.wasmtime_wat2wasm(p, n, &v)); err != nil {
		var we *Error
		if errors.As(err, &we) { // the report points into the text
			return nil, fmt.Errorf("%s", we.Detail)
		}
		return nil, err
	}
	return takeBytes(&v), nil
}
