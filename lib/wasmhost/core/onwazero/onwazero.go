// Package onwazero runs core modules on wazero, which needs no cgo: the engine of
// a build without it. See package runner for what it promises.
package onwazero

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
)

// Engine is a runner.Engine. Where the platform can not run generated code,
// wazero's interpreter runs the guests instead.
type Engine struct {
	info  wasmhost.EngineInfo
	funcs []runner.Func
}

// New makes an engine whose guests are served funcs.
func New(funcs []runner.Func) (runner.Engine, error) {
	return &Engine{info: Info(), funcs: funcs}, nil
}

// Info identifies wazero and the code it generates here.
func (e *Engine) Info() wasmhost.EngineInfo { return e.info }

// Close does nothing: every program has a runtime of its own.
func (e *Engine) Close() error { return nil }

// Compile compiles a module (see runner.Engine).
func (e *Engine) Compile(ctx context.Context, wasm []byte) (runner.Program, error) {
	return e.build(ctx, wasm, nil)
}

// Vet hands the module to wazero's interpreter, which validates it as the compiler
// does and costs a part of what compiling does (see runner.Engine).
func (e *Engine) Vet(ctx context.Context, wasm []byte) (err error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the interpreter failed: %v", p)
		}
		err = errors.Join(err, r.Close(context.Background())) // freeing does not wait
	}()
	_, err = r.CompileModule(ctx, wasm)
	return err
}

// Load makes a program from a form (see runner.Engine). A form that wazero does
// not take as it is, is refused.
func (e *Engine) Load(ctx context.Context, file *os.File) (runner.Program, error) {
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	f, err := unpackForm(data)
	if err != nil {
		return nil, err
	}
	if f.fingerprint != e.info.Fingerprint {
		return nil, fmt.Errorf("the compiled form is for %s, this engine is %s", f.fingerprint, e.info.Fingerprint)
	}
	return e.build(ctx, f.wasm, f)
}

// runtimeConfig holds every setting that changes generated code; it is part of
// the fingerprint through configText.
func runtimeConfig(cache wazero.CompilationCache) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCloseOnContextDone(true). // checks in every loop and function
		WithDebugInfoEnabled(false).
		WithCompilationCache(cache)
}

const configText = "features=v2 close-on-context-done=1 debug-info=0"

func (e *Engine) build(ctx context.Context, wasm []byte, f *form) (_ runner.Program, err error) {
	module, err := sections.Read(wasm)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := openCodeDir(f)
	if err != nil && f != nil {
		return nil, err
	}
	defer dir.remove()
	cache, err := dir.cache()
	if err != nil {
		return nil, err
	}
	p := &program{engine: e, module: module, cache: cache, runtime: wazero.NewRuntimeWithConfig(ctx, runtimeConfig(cache))}
	defer func() {
		if r := recover(); r != nil { // a defect of the compiler is the module's problem, not ours
			err = fmt.Errorf("the compiler failed: %v", r)
		}
		if err != nil {
			_ = p.Close()
		}
	}()
	if err := define(ctx, p.runtime, e.funcs); err != nil {
		return nil, err
	}
	cctx := experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	if p.compiled, err = p.runtime.CompileModule(cctx, wasm); err != nil {
		return nil, err
	}
	if f != nil {
		p.formErr = errLoaded
		return p, dir.unchanged()
	}
	p.form, p.formErr = dir.collect(e.info.Fingerprint, wasm)
	return p, nil
}

// define provides the host functions in one runtime. They find the host of their
// instance in the context the guest is called with.
func define(ctx context.Context, r wazero.Runtime, funcs []runner.Func) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for _, f := range funcs {
		b := builders[f.Module]
		if b == nil {
			b = r.NewHostModuleBuilder(f.Module)
			builders[f.Module] = b
		}
		params, results := values(f.Type)
		b.NewFunctionBuilder().WithGoModuleFunction(hostFunc(f), params, results).Export(f.Name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// values spells a signature for wazero.
func values(s sections.Signature) (params, results []api.ValueType) {
	into := &params
	for _, c := range s {
		switch c {
		case ':':
			into = &results
		case 'i':
			*into = append(*into, api.ValueTypeI32)
		case 'I':
			*into = append(*into, api.ValueTypeI64)
		case 'f':
			*into = append(*into, api.ValueTypeF32)
		case 'F':
			*into = append(*into, api.ValueTypeF64)
		}
	}
	return params, results
}

type hostKey struct{}

func hostFunc(f runner.Func) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		in := ctx.Value(hostKey{}).(*instance)
		if f.Call(in.host, in.memory.used, stack) {
			panic(errEnded)
		}
	}
}

// errEnded unwinds a guest that a host function ends. wazero hands on an error of
// this type as it is; of another one it would write down the guest's stack.
var errEnded = sys.NewExitError(0)

// program is a runner.Program.
type program struct {
	engine   *Engine
	module   *sections.Module
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	form     *form
	formErr  error
}

// Exports are the names of the exported functions.
func (p *program) Exports() []string {
	var names []string
	for name := range p.compiled.ExportedFunctions() {
		names = append(names, name)
	}
	return names
}

// Form puts the form together anew each time: it is asked for once, by who stores
// it. A program made by Load has none.
func (p *program) Form() ([]byte, error) {
	if p.formErr != nil {
		return nil, p.formErr
	}
	return p.form.pack(), nil
}

func (p *program) Close() error {
	ctx := context.Background() // freeing does not wait
	return errors.Join(p.runtime.Close(ctx), p.cache.Close(ctx))
}
