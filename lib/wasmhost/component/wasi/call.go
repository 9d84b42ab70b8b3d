package wasi

import (
	"errors"
	"fmt"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// Short names for what every file here writes hundreds of times.
type (
	call      = wasmtime.Call
	val       = wasmtime.Val
	list      = wasmtime.List
	tuple     = wasmtime.Tuple
	record    = wasmtime.Record
	variant   = wasmtime.Variant
	enum      = wasmtime.Enum
	flags     = wasmtime.Flags
	option    = wasmtime.Option
	result    = wasmtime.Result
	funcs     = map[string]wasmtime.Func
	resources = map[string]wasmtime.ResourceType
)

// instance returns the WASI side of the calling store.
func instance(c *call) *Instance {
	h, ok := c.Data().(Holder)
	if !ok {
		panic(fmt.Sprintf("the store's data, a %T, holds no WASI instance", c.Data()))
	}
	return h.WASI()
}

// trap wraps an error that ends the guest instead of being told to it: the
// call's context is over, or the guest broke a rule whose WIT says "trap".
type trap struct{ error }

func trapf(format string, a ...any) error { return trap{fmt.Errorf(format, a...)} }

// isTrap returns the error inside a trap.
func isTrap(err error) (error, bool) {
	var t trap
	if errors.As(err, &t) {
		return t.error, true
	}
	return nil, false
}

// method adapts a function on the resource in the first argument.
func method[T any](f func(c *call, self T, a []val) (val, error)) wasmtime.Func {
	return func(c *call, a []val) (val, error) { return f(c, wasmtime.Res[T](c, a[0]), a[1:]) }
}
