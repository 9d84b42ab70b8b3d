package component

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Vet tells what Compile would say, in a fraction of the time and keeping nothing
// (see wasmhost.Engine). Every core module in the component is validated, the code
// of its functions included, and the component is compiled with that code left
// out: what is wrong with it as a component shows as it would with the code. Only
// what is refused here is compiled as it is, for the verdict that Compile gives.
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
	hull, modules, err := peel(wasm)
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

// Sections that hold a module or a component, of a component, and the code of
// functions, of a module; and how deep components may lie in one another here.
const (
	moduleSection    = 1
	componentSection = 4
	codeSection      = 10
	maxNesting       = 32
)

// trapBody is the code of a function of any type: no locals, unreachable.
var trapBody = []byte{3, 0, 0x00, 0x0b}

// peel returns the component with the code of every function replaced by a trap,
// and the core modules in it as they are. Whatever refers to a function finds it.
func peel(wasm []byte) (hull []byte, modules [][]byte, err error) {
	hull, err = peelInto(&modules, wasm, 0)
	return hull, modules, err
}

func peelInto(modules *[][]byte, wasm []byte, depth int) ([]byte, error) {
	if len(wasm) < len(magic) || depth > maxNesting {
		return nil, errDamaged
	}
	module := wasm[6] == 0 // the layer (WIT-5)
	if module {
		*modules = append(*modules, wasm)
	}
	out := append([]byte(nil), wasm[:len(magic)]...)
	r := &reader{b: wasm[len(magic):]}
	for len(r.b) > 0 {
		id, body := r.byte(), r.bytes()
		if r.err != nil {
			return nil, r.err
		}
		var err error
		switch {
		case module && id == codeSection:
			body, err = trapCode(body)
		case !module && (id == moduleSection || id == componentSection):
			body, err = peelInto(modules, body, depth+1)
		}
		if err != nil {
			return nil, err
		}
		out = binary.AppendUvarint(append(out, id), uint64(len(body)))
		out = append(out, body...)
	}
	return out, nil
}

// trapCode returns a code section of as many functions.
func trapCode(section []byte) ([]byte, error) {
	r := &reader{b: section}
	n := r.count()
	out := binary.AppendUvarint(nil, uint64(n))
	for range n {
		r.bytes()
		out = append(out, trapBody...)
	}
	if r.err == nil && len(r.b) > 0 {
		r.fail()
	}
	return out, r.err
}
