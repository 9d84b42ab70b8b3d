//go:build cgo

package wasmtime

/*
#include <stdlib.h>
#include "capi.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/cgo"
	"strings"
	"unsafe"
)

// Module is a compiled core module, shared by any number of stores.
type Module struct {
	e *Engine
	p *C.wasmtime_module_t
}

// CompileModule compiles a core module in the binary format, on all processors.
// It can not be interrupted.
func (e *Engine) CompileModule(wasm []byte) (*Module, error) {
	if len(wasm) == 0 {
		return nil, errors.New("empty module")
	}
	m := &Module{e: e}
	if err := takeErr(C.wasmtime_module_new(e.p, (*C.uint8_t)(&wasm[0]), C.size_t(len(wasm)), &m.p)); err != nil {
		return nil, err
	}
	return m, nil
}

// ValidateModule tells whether wasm is a module that follows the rules of the
// format, the code of its functions included, without compiling it: a fraction of
// the time. What passes may still be refused by CompileModule, where the compiler
// has limits of its own.
func (e *Engine) ValidateModule(wasm []byte) error {
	if len(wasm) == 0 {
		return errors.New("empty module")
	}
	return takeErr(C.wasmtime_module_validate(e.p, (*C.uint8_t)(&wasm[0]), C.size_t(len(wasm))))
}

// LoadModule makes a module from a file that holds what Module.Serialize returned
// on an engine of the same version and settings. The file is mapped, not read:
// code and data that are not used are not loaded, what is used is shared with
// every process that maps the same file, and the file may be closed after it. The
// caller has verified the contents, which are native code; see openPath for what
// that is worth when somebody writes to the file later.
func (e *Engine) LoadModule(f *os.File) (*Module, error) {
	path, free := openPath(f)
	defer free()
	m := &Module{e: e}
	if err := takeErr(C.wasmtime_module_deserialize_file(e.p, path, &m.p)); err != nil {
		return nil, err
	}
	return m, nil
}

// openPath is a name for the open file itself, whatever lies at the path it was
// opened by now.
//
// The mapping is private but not a copy: pages that were not touched yet show
// what a later write in place put there. Only who may write to the file can do
// that, so a caller verifies that this is the owner alone; a writer that replaces
// the file by rename(2), as ours do, leaves the mapped one as it was.
func openPath(f *os.File) (path *C.char, free func()) {
	path = C.CString(fmt.Sprintf("/dev/fd/%d", f.Fd()))
	return path, func() { C.free(unsafe.Pointer(path)) }
}

// Serialize returns the module's native code for LoadModule.
func (m *Module) Serialize() ([]byte, error) {
	form, err := m.serialize()
	return trim(form), err
}

func (m *Module) serialize() ([]byte, error) {
	var v C.wasm_byte_vec_t
	if err := takeErr(C.wasmtime_module_serialize(m.p, &v)); err != nil {
		return nil, err
	}
	return takeBytes(&v), nil
}

// Close frees the module; a second call does nothing. Stores it was instantiated
// in and what was linked of it keep what they need.
func (m *Module) Close() error {
	if m.p != nil {
		C.wasmtime_module_delete(m.p)
		m.p = nil
	}
	return nil
}

// Exports holds what the module exports: the types of functions, and "" for
// anything else.
func (m *Module) Exports() map[string]Signature {
	var v C.wasm_exporttype_vec_t
	C.wasmtime_module_exports(m.p, &v)
	defer C.wasm_exporttype_vec_delete(&v)
	out := make(map[string]Signature, v.size)
	for _, p := range unsafe.Slice(v.data, int(v.size)) {
		out[nameText(C.wasm_exporttype_name(p))] = signatureOf(C.wasm_exporttype_type(p))
	}
	return out
}

func nameText(v *C.wasm_byte_vec_t) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(v.data)), int(v.size)))
}

func signatureOf(t *C.wasm_externtype_t) Signature {
	if C.wasm_externtype_kind(t) != C.WH_EXTERN_FUNC {
		return ""
	}
	f := C.wasm_externtype_as_functype_const(t)
	letters := func(v *C.wasm_valtype_vec_t) (s string) {
		for _, p := range unsafe.Slice(v.data, int(v.size)) {
			letter := "r"
			if k := C.wasm_valtype_kind(p); int(k) < len(kindLetters) {
				letter = kindLetters[k : k+1]
			}
			s += letter
		}
		return s
	}
	return Signature(letters(C.wasm_functype_params(f)) + ":" + letters(C.wasm_functype_results(f)))
}

// kindLetters are the letters of a Signature, by wasm_valkind_t.
const kindLetters = "iIfF"

// ModuleLinker holds what core modules may import. Once defined it is shared by
// any number of concurrent instantiations; it holds no policy.
type ModuleLinker struct {
	p *C.wasmtime_linker_t
	// funcs are the host functions; see Linker.
	funcs []namedModuleFunc
}

type namedModuleFunc struct {
	name string
	f    ModuleFunc
}

// NewModuleLinker returns an empty linker.
func (e *Engine) NewModuleLinker() *ModuleLinker {
	return &ModuleLinker{p: C.wasmtime_linker_new(e.p)}
}

// Close frees the linker. No store that used it may run any more.
func (l *ModuleLinker) Close() error {
	if l.p != nil {
		C.wasmtime_linker_delete(l.p)
		l.p = nil
	}
	return nil
}

// Define adds a function of a type without r. It is not safe for concurrent use,
// and comes before the first Link.
func (l *ModuleLinker) Define(module, name string, ty Signature, f ModuleFunc) error {
	params, results, ok := strings.Cut(string(ty), ":")
	if !ok || strings.Trim(params+results, kindLetters) != "" || len(results) > 1 {
		return fmt.Errorf("%s.%s: %q is no type of a host function", module, name, ty)
	}
	ps, rs := kindsOf(params), kindsOf(results)
	t := C.wh_functype(unsafe.SliceData(ps), C.size_t(len(ps)), unsafe.SliceData(rs), C.size_t(len(rs)))
	defer C.wasm_functype_delete(t)
	l.funcs = append(l.funcs, namedModuleFunc{module + "." + name, f})
	mp, mn := cstr(module)
	np, nn := cstr(name)
	if err := takeErr(C.wh_link(l.p, mp, mn, np, nn, t, C.uintptr_t(len(l.funcs)-1))); err != nil {
		return fmt.Errorf("%s.%s: %w", module, name, err)
	}
	return nil
}

func kindsOf(letters string) []C.uint8_t {
	var out []C.uint8_t
	for _, c := range letters {
		out = append(out, C.uint8_t(strings.IndexRune(kindLetters, c)))
	}
	return out
}

// LinkedModule is a module whose imports are found, ready to be instantiated.
type LinkedModule struct {
	l       *ModuleLinker
	p       *C.wasmtime_instance_pre_t
	exports map[string]Signature
}

// Link finds what m imports; what is not defined or has another type is an error.
func (l *ModuleLinker) Link(m *Module) (*LinkedModule, error) {
	lm := &LinkedModule{l: l, exports: m.Exports()}
	if err := takeErr(C.wasmtime_linker_instantiate_pre(l.p, m.p, &lm.p)); err != nil {
		return nil, err
	}
	return lm, nil
}

// Close frees the linked module; a second call does nothing. Instances of it live
// on.
func (lm *LinkedModule) Close() error {
	if lm.p != nil {
		C.wasmtime_instance_pre_delete(lm.p)
		lm.p = nil
	}
	return nil
}

// ModuleInstance is a core module instantiated in a store.
type ModuleInstance struct {
	s  *Store
	lm *LinkedModule
	i  C.wasmtime_instance_t
}

// Instantiate makes an instance in s and runs its start function, until ctx ends.
// A store takes one instance. The error is an *Error or, before anything ran, a
// plain one.
func (lm *LinkedModule) Instantiate(ctx context.Context, s *Store) (*ModuleInstance, error) {
	if s.linker != nil || s.modules != nil {
		return nil, errors.New("the store has an instance already")
	}
	s.modules = lm.l
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	in := &ModuleInstance{s: s, lm: lm}
	var trap *C.wasm_trap_t
	e := C.wh_module_instantiate(s.p, lm.p, &in.i, &trap)
	if err := s.ended(e, trap); err != nil {
		return nil, err
	}
	return in, nil
}

// Call runs an exported function without parameters until it returns, traps or ctx
// ends; result holds the bits of what it returned, 0 when that is nothing. After
// an error the store can only be closed. The error is an *Error or, before
// anything ran, a plain one.
func (in *ModuleInstance) Call(ctx context.Context, name string) (result uint64, err error) {
	s := in.s
	if t := in.lm.exports[name]; !strings.HasPrefix(string(t), ":") || len(t) > 2 {
		return 0, fmt.Errorf("export %q is no function without parameters and with at most one result", name)
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	var trap *C.wasm_trap_t
	var word C.uint64_t
	var found C.bool
	p, n := cstr(name)
	e := C.wh_module_call(s.p, &in.i, p, n, &word, &found, &trap)
	if err := s.ended(e, trap); err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("no exported function %q", name)
	}
	return uint64(word), nil
}

// ended takes what the library says of a call. The text of a report holds the
// guest's stack and is costly, so it is not asked for when the reason is known.
func (s *Store) ended(e *C.wasmtime_error_t, trap *C.wasm_trap_t) error {
	if e == nil && trap == nil {
		return nil
	}
	known := s.fault != nil || s.exit != nil
	report := errors.New("ended by a host function")
	switch {
	case e != nil && known:
		C.wasmtime_error_delete(e)
	case e != nil:
		report = takeErr(e)
	case known:
		C.wasm_trap_delete(trap)
	default:
		var m C.wasm_byte_vec_t
		C.wasm_trap_message(trap, &m)
		C.wasm_trap_delete(trap)
		report = &Error{Kind: Failed, Detail: strings.TrimRight(takeString(&m), "\x00")}
	}
	return s.classify(report)
}

// MemoryRefused tells whether a memory of the store was refused its size because
// of StoreConfig.MemoryBytes, whatever the guest did after it. It stands until
// the store is closed.
func (s *Store) MemoryRefused() bool { return bool(s.p.mem_refused) }

//export whModuleCall
func whModuleCall(store, id C.uintptr_t, mem *C.uint8_t, size C.size_t, words *C.uint64_t, n C.size_t) (trap *C.wasm_trap_t) {
	s := cgo.Handle(store).Value().(*Store)
	f := &s.modules.funcs[id]
	defer func() {
		if p := recover(); p != nil {
			s.recovered(f.name, p)
			trap = newTrap()
		}
	}()
	if s.ctx.Err() != nil {
		return newTrap()
	}
	stack := unsafe.Slice((*uint64)(unsafe.Pointer(words)), int(n))
	if err := f.f(s, unsafe.Slice((*byte)(mem), int(size)), stack); err != nil {
		s.fail(&Error{Kind: HostError, Err: fmt.Errorf("%s: %w", f.name, err)})
		return newTrap()
	}
	return nil
}

func newTrap() *C.wasm_trap_t {
	p, n := cstr("ended by a host function")
	return C.wasmtime_trap_new(p, n)
}
