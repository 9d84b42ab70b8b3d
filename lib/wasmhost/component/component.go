// Package component runs guests in the component format: it implements
// wasmhost.Engine on wasmtime, with WASI 0.2 and the Murmur interfaces served
// from Go.
//
// It promises that a guest is loaded only when it exports what its kind must
// and imports nothing its kind is not served; that each call runs in a store of
// its own and is given what its wasmhost.Instance holds and nothing else; that
// a call ends, host calls included, soon after its deadline or its context; and
// that every failure comes back as a *wasmhost.LoadError or *wasmhost.Fault.
// It decides no policy and keeps nothing on disk.
//
// In a build without cgo New refuses (WIT-69).
package component

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component/wasi"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// Engine is a wasmhost.Engine for components. Making one is cheap; what it
// compiles belongs to it.
type Engine struct {
	wt      *wasmtime.Engine
	linkers map[wasmhost.Kind]func() (*wasmtime.Linker, error)
	wasi    map[string]bool // the served WASI interfaces, without versions

	mu     sync.Mutex
	made   []*wasmtime.Linker // to be closed
	closed bool
	// running counts the compilations that a context gave up.
	running sync.WaitGroup
}

var _ wasmhost.Engine = (*Engine)(nil)

// New returns an engine. In a build without a component engine the error is a
// *wasmhost.LoadError with reason NoEngine.
func New() (*Engine, error) {
	wt, err := wasmtime.NewEngine()
	if err != nil {
		e := &wasmhost.LoadError{Reason: wasmhost.NoEngine}
		if !errors.Is(err, wasmtime.ErrNoEngine) {
			e.Err = err
		}
		return nil, e
	}
	e := &Engine{wt: wt, wasi: servedWASI()}
	tools := sync.OnceValues(func() (*wasmtime.Linker, error) { return e.link(toolInterfaces()) })
	e.linkers = map[wasmhost.Kind]func() (*wasmtime.Linker, error){
		wasmhost.Tool:    tools,
		wasmhost.Driver:  tools,
		wasmhost.Capsule: sync.OnceValues(func() (*wasmtime.Linker, error) { return e.link(capsuleInterfaces()) }),
	}
	return e, nil
}

// link makes the linker that all stores of some kinds share.
func (e *Engine) link(own []wasmtime.Interface) (*wasmtime.Linker, error) {
	l := e.wt.NewLinker()
	if err := l.Define(append(wasi.Interfaces(), own...)...); err != nil {
		l.Close()
		return nil, fmt.Errorf("define host functions: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.made = append(e.made, l)
	return l, nil
}

// Info identifies the engine.
func (e *Engine) Info() wasmhost.EngineInfo { return info() }

// Close frees the engine, after every compilation has ended. All guests must be
// closed before.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.running.Wait()
	for _, l := range e.made {
		l.Close()
	}
	return e.wt.Close()
}

// Compile checks and compiles a component on all processors. When ctx ends it
// returns at once and the compilation, which can not be stopped, ends unused.
func (e *Engine) Compile(ctx context.Context, wasm []byte, kind wasmhost.Kind) (wasmhost.Guest, error) {
	imports, exports, err := names(wasm)
	if err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.BadFormat, Err: err}
	}
	if err := check(kind, imports, exports, e.wasi); err != nil {
		return nil, err
	}
	c, err := e.compileWrapped(ctx, wasm)
	if err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	return e.guest(c, kind)
}

// compileWrapped compiles the component with the fast byte path around it. Where
// that is refused the component itself is compiled: either it is broken, and
// the report is about the author's own bytes, or it is built in a way the
// wrapping does not know, and it works, only slower.
func (e *Engine) compileWrapped(ctx context.Context, wasm []byte) (*wasmtime.Component, error) {
	wrapped, err := wasi.Wrap(wasm)
	if err == nil && !bytes.Equal(wrapped, wasm) {
		c, err := e.compile(ctx, wrapped)
		if err == nil || ctx.Err() != nil {
			return c, err
		}
	}
	return e.compile(ctx, wasm)
}

func (e *Engine) compile(ctx context.Context, wasm []byte) (*wasmtime.Component, error) {
	type compiled struct {
		c   *wasmtime.Component
		err error
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	done := make(chan compiled)
	e.running.Go(func() {
		c, err := e.wt.Compile(wasm)
		select {
		case done <- compiled{c, err}:
		case <-ctx.Done():
			if err == nil {
				c.Close()
			}
		}
	})
	select {
	case r := <-done:
		return r.c, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Load makes a guest from a file with a form of Guest.Form, which the caller has
// verified: it is native code, and is mapped.
func (e *Engine) Load(ctx context.Context, form *os.File, kind wasmhost.Kind) (wasmhost.Guest, error) {
	if ctx.Err() != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: context.Cause(ctx)}
	}
	c, err := e.wt.Load(form)
	if err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.BadFormat, Err: err}
	}
	if err := check(kind, c.Imports(), c.Exports(), e.wasi); err != nil {
		c.Close()
		return nil, err
	}
	return e.guest(c, kind)
}

// guest checks the types of what c imports from murmur packages and exports,
// and takes c over.
func (e *Engine) guest(c *wasmtime.Component, kind wasmhost.Kind) (wasmhost.Guest, error) {
	g := &guest{e: e, c: c, kind: kind}
	if err := g.prepare(); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Wat translates component text to the binary format, for fixtures and for
// authors who write text.
func Wat(text string) ([]byte, error) { return wasmtime.Wat(text) }
