package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
)

// Engine compiles core modules. It is safe for concurrent use; Close comes after
// the Close of its guests.
type Engine struct{ runner runner.Engine }

// NewOn makes an engine of start's, which is given the host functions to serve.
func NewOn(start func([]runner.Func) (runner.Engine, error)) (*Engine, error) {
	r, err := start(funcs())
	if err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoEngine, Err: err}
	}
	return &Engine{r}, nil
}

// Info identifies the engine below and the code it generates here.
func (e *Engine) Info() wasmhost.EngineInfo { return e.runner.Info() }

// Close releases the engine.
func (e *Engine) Close() error { return e.runner.Close() }

// Compile checks and compiles wasm (see wasmhost.Engine).
func (e *Engine) Compile(ctx context.Context, wasm []byte, kind wasmhost.Kind) (wasmhost.Guest, error) {
	shape, err := Check(wasm, kind)
	if err != nil {
		return nil, err
	}
	p, err := e.runner.Compile(ctx, wasm)
	if err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	return &Guest{kind: kind, shape: shape, program: p}, nil
}

// Vet tells what Compile would say (see wasmhost.Engine). What does not validate is
// compiled, for the words of Compile.
func (e *Engine) Vet(ctx context.Context, wasm []byte, kind wasmhost.Kind) error {
	if _, err := Check(wasm, kind); err != nil {
		return err
	}
	if e.runner.Vet(ctx, wasm) == nil {
		return nil
	}
	g, err := e.Compile(ctx, wasm, kind)
	if err != nil {
		return err
	}
	return g.Close()
}

// Load makes a guest from a form (see wasmhost.Engine). Only what passed the
// checks has a form, so no more is looked at than what tells how to run it.
func (e *Engine) Load(ctx context.Context, form *os.File, kind wasmhost.Kind) (wasmhost.Guest, error) {
	if wasmhost.Export(kind) == "" {
		return nil, unknownKind(kind)
	}
	p, err := e.runner.Load(ctx, form)
	if err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	g := &Guest{kind: kind, program: p}
	exports := p.Exports()
	switch {
	case slices.Contains(exports, exportStart):
		g.shape = Command
	case slices.Contains(exports, exportHandle):
		g.shape = Reactor
	default:
		_ = p.Close()
		return nil, &wasmhost.LoadError{Reason: wasmhost.BadFormat, Err: errors.New("it is the compiled form of something else")}
	}
	return g, nil
}

func unknownKind(kind wasmhost.Kind) error {
	return &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: "what its kind asks for", Err: fmt.Errorf("kind %q is unknown", kind)}
}

// Guest is a compiled core module (see wasmhost.Guest). Close waits for the
// calls under way.
type Guest struct {
	kind    wasmhost.Kind
	shape   Shape
	program runner.Program

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

// Interface is the component interface the guest stands for.
func (g *Guest) Interface() string { return wasmhost.Export(g.kind) }

// Form returns the compiled form.
func (g *Guest) Form() ([]byte, error) { return g.program.Form() }

// Close frees the code once no call uses it.
func (g *Guest) Close() error {
	g.mu.Lock()
	was := g.closed
	g.closed = true
	g.mu.Unlock()
	g.calls.Wait()
	if was {
		return nil
	}
	return g.program.Close()
}

var errClosed = errors.New("the guest is closed")

// begin holds the code for one call; done gives it back.
func (g *Guest) begin() (done func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errClosed
	}
	g.calls.Add(1)
	return g.calls.Done, nil
}

var (
	_ wasmhost.Engine = (*Engine)(nil)
	_ wasmhost.Guest  = (*Guest)(nil)
)
