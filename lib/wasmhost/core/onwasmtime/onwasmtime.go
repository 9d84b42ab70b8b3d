// Package onwasmtime runs core modules on wasmtime: the engine of a build with
// cgo. A compiled form is mapped, so that loading one costs next to nothing and
// its code is shared by all processes that run it; and a guest pays little for
// being stopped at its deadline. See package runner for what it promises.
package onwasmtime

import (
	"context"
	"os"
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// formVersion counts changes of what this package compiles a module to that no
// other part of the fingerprint shows.
const formVersion = "core-2"

// Info identifies the engine of New.
var Info = sync.OnceValue(func() wasmhost.EngineInfo {
	return wasmhost.EngineInfo{Name: "wasmtime", Version: wasmtime.Version, Fingerprint: wasmtime.Fingerprint(formVersion)}
})

// Engine is a runner.Engine.
type Engine struct {
	wt     *wasmtime.Engine
	linker *wasmtime.ModuleLinker
	// running counts the compilations that a context gave up.
	running sync.WaitGroup
}

// New makes an engine whose guests are served funcs.
func New(funcs []runner.Func) (runner.Engine, error) {
	wt, err := wasmtime.NewEngine()
	if err != nil {
		return nil, err
	}
	e := &Engine{wt: wt, linker: wt.NewModuleLinker()}
	for _, f := range funcs {
		if err := e.linker.Define(f.Module, f.Name, wasmtime.Signature(f.Type), hostFunc(f)); err != nil {
			_ = e.Close()
			return nil, err
		}
	}
	return e, nil
}

// hostFunc ends the guest by an error that nobody reads: why is in the host.
func hostFunc(f runner.Func) wasmtime.ModuleFunc {
	return func(s *wasmtime.Store, mem []byte, words []uint64) error {
		if f.Call(s.Data(), mem, words) {
			return errEnded
		}
		return nil
	}
}

// Info identifies wasmtime and the code it generates here.
func (e *Engine) Info() wasmhost.EngineInfo { return Info() }

// Close frees the engine, after every compilation has ended.
func (e *Engine) Close() error {
	e.running.Wait()
	_ = e.linker.Close()
	return e.wt.Close()
}

// Compile compiles on all processors. When ctx ends it returns at once and the
// compilation, which can not be stopped, ends unused.
func (e *Engine) Compile(ctx context.Context, wasm []byte) (runner.Program, error) {
	type compiled struct {
		m   *wasmtime.Module
		err error
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	done := make(chan compiled)
	e.running.Go(func() {
		m, err := e.wt.CompileModule(sections.JoinData(wasm))
		select {
		case done <- compiled{m, err}:
		case <-ctx.Done():
			if err == nil {
				_ = m.Close()
			}
		}
	})
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return e.program(r.m)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Vet validates what Compile compiles. When ctx ends it returns at once.
func (e *Engine) Vet(ctx context.Context, wasm []byte) error {
	done := make(chan error, 1)
	e.running.Go(func() { done <- e.wt.ValidateModule(sections.JoinData(wasm)) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Load maps the form (see runner.Engine).
func (e *Engine) Load(ctx context.Context, form *os.File) (runner.Program, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m, err := e.wt.LoadModule(form)
	if err != nil {
		return nil, err
	}
	return e.program(m)
}

func (e *Engine) program(m *wasmtime.Module) (runner.Program, error) {
	linked, err := e.linker.Link(m)
	if err != nil {
		_ = m.Close()
		return nil, err
	}
	return &program{e: e, module: m, linked: linked}, nil
}

// program is a runner.Program.
type program struct {
	e      *Engine
	module *wasmtime.Module
	linked *wasmtime.LinkedModule
}

func (p *program) Exports() []string {
	var names []string
	for name, ty := range p.module.Exports() {
		if ty != "" {
			names = append(names, name)
		}
	}
	return names
}

func (p *program) Form() ([]byte, error) { return p.module.Serialize() }

func (p *program) Close() error {
	_ = p.linked.Close()
	return p.module.Close()
}
