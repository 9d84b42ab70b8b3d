package component

import (
	"context"
	"errors"
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Vet tells what Compile would say, in a fraction of the time and keeping nothing
// (see wasmhost.Engine). Every core module in the component is validated, the code
// of its functions included, and the component is compiled with shells in their
// place: what is wrong with it as a component shows as it would with the modules.
// Only what is refused here is compiled as it is, for the verdict that Compile gives.
func (e *Engine) Vet(ctx context.Context, wasm []byte, kind wasmhost.Kind) error {
	if e.sound(ctx, wasm, kind) {
		return nil
	}
	g, err := e.Compile(ctx, wasm, kind)
	if err != nil {
		return err
	}
	return g.Close()
}

// sound tells that Compile would take wasm, or that it is not known.
func (e *Engine) sound(ctx context.Context, wasm []byte, kind wasmhost.Kind) bool {
	imports, exports, err := names(wasm)
	if err != nil || check(kind, imports, exports, e.wasi) != nil {
		return false
	}
	hull, modules, err := hollow(wasm)
	if err != nil || e.validate(ctx, modules) != nil {
		return false
	}
	c, err := e.compileWrapped(ctx, hull)
	if err != nil {
		return false
	}
	g, err := e.guest(c, kind)
	if err != nil {
		return false
	}
	return g.Close() == nil
}

// validate validates core modules side by side. When ctx ends it returns at once.
func (e *Engine) validate(ctx context.Context, modules [][]byte) error {
	done := make(chan error, 1)
	e.running.Go(func() {
		faults := make([]error, len(modules))
		var each sync.WaitGroup
		for i, m := range modules {
			each.Go(func() { faults[i] = e.wt.ValidateModule(m) })
		}
		each.Wait()
		done <- errors.Join(faults...)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
