package onwasmtime

import (
	"context"
	"errors"
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// instance is a runner.Instance.
type instance struct {
	p       *program
	store   *wasmtime.Store
	in      *wasmtime.ModuleInstance
	refused bool
}

// New prepares an instance (see runner.Program).
func (p *program) New(limits wasmhost.Limits, host any) (runner.Instance, error) {
	return &instance{p: p, store: p.e.wt.NewStore(wasmtime.StoreConfig{
		Data:          host,
		MemoryBytes:   limits.MemoryBytes,
		TableElements: limits.TableElements,
	})}, nil
}

func (i *instance) Start(ctx context.Context) (err error) {
	i.in, err = i.p.linked.Instantiate(ctx, i.store)
	return i.ended(err)
}

func (i *instance) Call(ctx context.Context, name string) (uint64, error) {
	v, err := i.in.Call(ctx, name)
	return v, i.ended(err)
}

func (i *instance) Refused() bool { return i.refused }

func (i *instance) Close() { _ = i.store.Close() }

// errEnded is the error of a host function that ends its guest.
var errEnded = errors.New("ended by the host")

// ended says what an error of the library is (see runner.Instance).
func (i *instance) ended(err error) error {
	i.refused = i.store.MemoryRefused()
	var e *wasmtime.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case wasmtime.LimitHit:
		if e.Limit == wasmtime.TableElements {
			return &wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: runner.Table}
		}
		return &wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: runner.Memory}
	case wasmtime.Trapped:
		return &wasmhost.Fault{Cause: wasmhost.Trapped, Err: errors.New(trapText(e.Trap))}
	case wasmtime.HostPanic, wasmtime.Failed:
		return &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: e}
	}
	return err // the end of a context or of a host function
}

// trapWords name traps as the other engine does where the two differ.
var trapWords = map[string]string{
	"wasm `unreachable` instruction executed":       "unreachable",
	"call stack exhausted":                          "stack overflow",
	"uninitialized element":                         "invalid table access",
	"undefined element: out of bounds table access": "invalid table access",
}

func trapText(trap string) string {
	text := strings.TrimPrefix(trap, "wasm trap: ")
	if word, ok := trapWords[text]; ok {
		return word
	}
	return text
}
