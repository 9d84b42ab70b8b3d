package core

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Engine compiles core modules. It is safe for concurrent use; Close may come
// before or after the Close of its guests.
type Engine struct{ info wasmhost.EngineInfo }

// New makes an engine.
func New() *Engine { return &Engine{info: engineInfo()} }

// Info identifies wazero and the code it generates here.
func (e *Engine) Info() wasmhost.EngineInfo { return e.info }

// Close releases the engine; guests stay usable until they are closed.
func (e *Engine) Close() error { return nil }

// Compile checks and compiles wasm (see wasmhost.Engine). Where the platform
// can not run generated code, wazero's interpreter runs the guest instead.
func (e *Engine) Compile(ctx context.Context, wasm []byte, kind wasmhost.Kind) (wasmhost.Guest, error) {
	return e.build(ctx, wasm, kind, nil)
}

// Load makes a guest from a form (see wasmhost.Engine). A form of another
// fingerprint, or one that wazero does not take as it is, is refused.
func (e *Engine) Load(ctx context.Context, form []byte, kind wasmhost.Kind) (wasmhost.Guest, error) {
	f, err := unpackForm(form)
	if err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	if f.fingerprint != e.info.Fingerprint {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile,
			Err: fmt.Errorf("the compiled form is for %s, this engine is %s", f.fingerprint, e.info.Fingerprint)}
	}
	return e.build(ctx, f.wasm, kind, f)
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

func (e *Engine) build(ctx context.Context, wasm []byte, kind wasmhost.Kind, f *form) (_ wasmhost.Guest, err error) {
	m, shape, err := inspect(wasm, kind)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	dir, err := openCodeDir(f)
	if err != nil && f != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	defer dir.remove()
	cache, err := dir.cache()
	if err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	g := &Guest{
		kind: kind, shape: shape, module: m,
		cache: cache, runtime: wazero.NewRuntimeWithConfig(ctx, runtimeConfig(cache)),
	}
	defer func() {
		if r := recover(); r != nil { // a defect of the compiler is the module's problem, not ours
			err = &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: fmt.Errorf("the compiler failed: %v", r)}
		}
		if err != nil {
			g.release()
		}
	}()
	if err := instantiateHost(ctx, g.runtime); err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	cctx := experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	if g.compiled, err = g.runtime.CompileModule(cctx, wasm); err != nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
	}
	if f != nil {
		if err := dir.unchanged(); err != nil {
			return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile, Err: err}
		}
		g.formErr = errLoaded
		return g, nil
	}
	g.form, g.formErr = dir.collect(e.info.Fingerprint, wasm)
	return g, nil
}

// Guest is a compiled core module (see wasmhost.Guest). Close waits for the
// calls under way.
type Guest struct {
	kind     wasmhost.Kind
	shape    Shape
	module   *module
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	form     *form
	formErr  error

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

// Interface is the component interface the guest stands for.
func (g *Guest) Interface() string { return interfaceOf(g.kind) }

// Shape tells a command from a reactor.
func (g *Guest) Shape() Shape { return g.shape }

// Form returns the module and its native code as one byte string. It fails when
// the code was never written down (wazero interprets the guest here, or there
// is no temporary directory) and for a guest made by Load, whose caller has the
// form and which does not keep a second copy of it.
func (g *Guest) Form() ([]byte, error) {
	if g.formErr != nil {
		return nil, g.formErr
	}
	return g.form.pack(), nil
}

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
	return g.release()
}

func (g *Guest) release() error {
	ctx := context.Background() // freeing does not wait
	return errors.Join(g.runtime.Close(ctx), g.cache.Close(ctx))
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
