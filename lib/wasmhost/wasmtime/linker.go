//go:build cgo

package wasmtime

// #include "capi.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Linker holds what a kind of guest may import. Once defined it is shared by
// any number of concurrent instantiations; it holds no policy.
type Linker struct {
	p *C.wasmtime_component_linker_t
	// funcs are the host functions. C carries an index into it and the calling
	// store tells the linker, so that there is no Go pointer in C and no handle
	// to free.
	funcs []namedFunc
}

type namedFunc struct {
	name string
	f    Func
}

// NewLinker returns an empty linker.
func (e *Engine) NewLinker() *Linker { return &Linker{p: C.wasmtime_component_linker_new(e.p)} }

// Close frees the linker. No store that used it may run any more.
func (l *Linker) Close() error {
	if l.p != nil {
		C.wasmtime_component_linker_delete(l.p)
		l.p = nil
	}
	return nil
}

// Define adds interfaces. It is not safe for concurrent use, and comes before
// the first Instantiate.
func (l *Linker) Define(interfaces ...Interface) error {
	root := C.wasmtime_component_linker_root(l.p)
	defer C.wasmtime_component_linker_instance_delete(root)
	for _, it := range interfaces {
		if err := l.define(root, it); err != nil {
			return fmt.Errorf("%s: %w", it.Name, err)
		}
	}
	return nil
}

func (l *Linker) define(root *C.wasmtime_component_linker_instance_t, it Interface) error {
	var in *C.wasmtime_component_linker_instance_t
	p, n := cstr(it.Name)
	if err := takeErr(C.wasmtime_component_linker_instance_add_instance(root, p, n, &in)); err != nil {
		return err
	}
	defer C.wasmtime_component_linker_instance_delete(in)
	for _, name := range slices.Sorted(maps.Keys(it.Resources)) {
		p, n := cstr(name)
		if err := takeErr(C.wh_add_resource(in, p, n, C.uint32_t(it.Resources[name]))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(it.Funcs)) {
		l.funcs = append(l.funcs, namedFunc{it.Name + "#" + name, it.Funcs[name]})
		p, n := cstr(name)
		if err := takeErr(C.wh_add_func(in, p, n, C.uintptr_t(len(l.funcs)-1))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Instance is a component instantiated in a store.
type Instance struct {
	s *Store
	i C.wasmtime_component_instance_t
}

// Instantiate makes an instance of c in s and runs its start functions, until
// ctx ends. A store takes one linker. The error is an *Error or, before anything
// ran, a plain one.
func (l *Linker) Instantiate(ctx context.Context, s *Store, c *Component) (*Instance, error) {
	if s.linker != nil && s.linker != l {
		return nil, errors.New("a store takes one linker")
	}
	s.linker = l
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	in := &Instance{s: s}
	if err := takeErr(C.wh_instantiate(s.p, l.p, c.p, &in.i)); err != nil {
		return nil, s.classify(err)
	}
	return in, nil
}
