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
	"runtime/cgo"
	"unsafe"
)

type cstore struct {
	e      *Engine
	p      *C.wh_store_t
	c      *C.wasmtime_context_t
	handle cgo.Handle
}

// NewStore returns a store, which must be closed.
func (e *Engine) NewStore(cfg StoreConfig) *Store {
	if cfg.Handles <= 0 {
		cfg.Handles = defaultHandles
	}
	s := &Store{data: cfg.Data, limits: cfg, ctx: context.Background()}
	s.table.max = cfg.Handles
	s.e = e
	s.handle = cgo.NewHandle(s)
	s.p = C.wh_store_new(e.p, C.uintptr_t(s.handle), C.uint64_t(cfg.MemoryBytes), orNone(cfg.TableElements), orNone(cfg.Instances))
	s.c = s.p.ctx
	return s
}

// orNone is a limit as the library takes it: negative for none.
func orNone(n uint32) C.int64_t {
	if n == 0 {
		return -1
	}
	return C.int64_t(n)
}

// Close frees the store and closes every resource the guest left behind: the
// library runs no destructor for those. A second call does nothing.
func (s *Store) Close() error {
	if s.p == nil {
		return nil
	}
	C.wh_store_delete(s.p)
	s.p, s.c = nil, nil
	s.handle.Delete()
	s.table.closeAll()
	return nil
}

// enter makes ctx the one that host functions and the epoch callback watch. The
// deadline is set before the context is watched, so that no interrupt is lost.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	switch {
	case s.p == nil:
		return nil, errors.New("the store is closed")
	case s.failed:
		return nil, errors.New("the store's guest has failed")
	case s.running:
		return nil, errors.New("the store's guest is running")
	}
	if ctx.Err() != nil {
		return nil, &Error{Kind: Interrupted, Err: context.Cause(ctx)}
	}
	old := s.ctx
	s.ctx, s.running = ctx, true
	C.wasmtime_context_set_epoch_deadline(s.c, 1)
	stop := context.AfterFunc(ctx, s.e.interrupt)
	return func() {
		stop()
		s.ctx, s.running = old, false
	}, nil
}

// classify says why the guest of the store ended, which it can do once.
func (s *Store) classify(err error) error {
	s.failed = true
	e := ending{report: err.Error(), fault: s.fault, exit: s.exit, memoryRefused: bool(s.p.mem_refused)}
	var lib *Error
	if errors.As(err, &lib) {
		e.report = lib.Detail
	}
	if s.ctx.Err() != nil {
		e.over = context.Cause(s.ctx)
	}
	return e.classify()
}

// Index is an exported function of a component, looked up once for all its
// instances.
type Index struct {
	p    *C.wasmtime_component_export_index_t
	name string
}

// Index finds the function name in the exported instance iface, or at the top
// when iface is "". Close it when the component is closed.
func (c *Component) Index(iface, name string) (*Index, error) {
	var parent *C.wasmtime_component_export_index_t
	if iface != "" {
		p, n := cstr(iface)
		if parent = C.wasmtime_component_get_export_index(c.p, nil, p, n); parent == nil {
			return nil, fmt.Errorf("no exported interface %q", iface)
		}
		defer C.wasmtime_component_export_index_delete(parent)
	}
	p, n := cstr(name)
	ix := C.wasmtime_component_get_export_index(c.p, parent, p, n)
	if ix == nil {
		return nil, fmt.Errorf("no export %q in %q", name, iface)
	}
	return &Index{ix, name}, nil
}

// Close frees the index; a second call does nothing.
func (ix *Index) Close() error {
	if ix.p != nil {
		C.wasmtime_component_export_index_delete(ix.p)
		ix.p = nil
	}
	return nil
}

// Export is an exported function of an instance.
type Export struct {
	s *Store
	f C.wasmtime_component_func_t
}

// Func returns the function that ix names. The instance must be one of the
// component ix comes from.
func (in *Instance) Func(ix *Index) (*Export, error) {
	f := &Export{s: in.s}
	if !C.wasmtime_component_instance_get_func(&in.i, in.s.c, ix.p, &f.f) {
		return nil, fmt.Errorf("export %q is no function", ix.name)
	}
	return f, nil
}

// Call runs the function until it returns, traps, exits or ctx ends; results is
// the number of its results, 0 or 1. After an error the store can only be
// closed. The error is an *Error or, before anything ran, a plain one.
func (f *Export) Call(ctx context.Context, results int, args ...Val) ([]Val, error) {
	s := f.s
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	vals := newScratch(len(args) + results)
	defer vals.free()
	for i, a := range args {
		if err := s.toC(a, vals.at(i)); err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
	}
	err = takeErr(C.wh_call(s.p, &f.f, vals.p, C.size_t(len(args)), vals.at(len(args)), C.size_t(results)))
	if err != nil {
		return nil, s.classify(err)
	}
	out := make([]Val, results)
	for i := range out {
		if out[i], err = s.fromC(vals.at(len(args) + i)); err != nil {
			return nil, s.classify(err)
		}
	}
	return out, nil
}

// scratch holds C values for one call, in C memory: false until they are set.
type scratch struct {
	p *C.wasmtime_component_val_t
	n int
}

func newScratch(n int) scratch {
	return scratch{(*C.wasmtime_component_val_t)(C.calloc(C.size_t(n+1), C.sizeof_wasmtime_component_val_t)), n}
}

func (s scratch) at(i int) *C.wasmtime_component_val_t {
	return &unsafe.Slice(s.p, s.n+1)[i]
}

func (s scratch) free() {
	for i := range s.n {
		C.wasmtime_component_val_delete(s.at(i))
	}
	C.free(unsafe.Pointer(s.p))
}
