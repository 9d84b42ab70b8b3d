// Package wasmtime binds the part of wasmtime's C API that running WebAssembly
// components and core modules needs: compile, serialize, link host functions and
// host resources, instantiate in a store, call, stop. Both formats share one
// engine of the library in a process, and the same stores, limits and errors.
//
// It promises that a guest can not take the process down or outlive its
// context while it runs: traps, panics of host functions, refused growth and a
// context that ends all come back as an *Error. It knows nothing of WASI, of
// Murmur or of policy: what a host function needs of its call lies in the
// store's Data. It never uses the library's own WASI.
//
// A build without cgo compiles; NewEngine then returns ErrNoEngine.
//
// On an upgrade of the library run TestHeader, TestRefusedFeatures and
// TestLimits first: what they compare is not otherwise promised.
//
// Sources: the C headers of wasmtime v44.0.0, repeated as far as they are used
// in capi.h and compared with the originals by TestHeader.
package wasmtime

import (
	"context"
	"errors"
)

// Version is the version of the library this package is written for.
const Version = "44.0.0"

// ErrNoEngine is returned by NewEngine in a build without cgo.
var ErrNoEngine = errors.New("this build has no component engine (it was built without cgo)")

// Func is a host function, called on the goroutine that called the guest. Its
// arguments are in the order of the WIT signature; they and the result have the
// Go types listed at Val. A function without result returns nil.
//
// An error ends the guest: Export.Call returns an *Error of kind HostError that
// wraps it (or Interrupted when the call's context is over). A panic ends the
// guest too, with kind HostPanic. A function that can block watches
// Call.Context and returns its error.
type Func func(c *Call, args []Val) (Val, error)

// Interface is one imported interface: its versioned name such as
// "wasi:io/poll@0.2.12", its functions by WIT name ("now",
// "[constructor]thing", "[method]thing.get", "[static]thing.merge") and its
// resource types by name. An interface at 0.2.x also serves imports of any
// other 0.2.x: the library resolves versions that semver calls compatible
// (0.1.0 and 0.1.3 are, too; who wants an exact match checks Component.Imports).
type Interface struct {
	Name      string
	Resources map[string]ResourceType
	Funcs     map[string]Func
}

// Call is what a host function sees of the guest that called it. It is valid
// until the function returns.
type Call struct {
	s    *Store
	name string
}

// Context ends when the guest's time is over or its caller gave up.
func (c *Call) Context() context.Context { return c.s.ctx }

// Data is StoreConfig.Data of the calling store.
func (c *Call) Data() any { return c.s.data }

// Name is the function's full name, "interface#function".
func (c *Call) Name() string { return c.name }

// Exit returns the error by which a host function ends the guest with an exit
// status. Export.Call returns an *Error of kind Exited with that status, also
// for status 0.
func (c *Call) Exit(status int) error {
	c.s.exit = &Error{Kind: Exited, Status: status}
	return c.s.exit
}

// ModuleFunc is a host function of core modules, called on the goroutine that
// called the guest. mem is the guest's memory, nil when it has none or several;
// it and stack are valid until the function returns. stack holds the arguments in
// order, one a word, and its first word takes the result; of a 32-bit value only
// the lower half counts. An error or a panic ends the guest as those of a Func do.
type ModuleFunc func(s *Store, mem []byte, stack []uint64) error

// Signature spells a type of core functions: one letter for each parameter, a
// colon, one for each result. i and I are 32 and 64 bit integers, f and F floats,
// r is anything else.
type Signature string

// StoreConfig is what a store is given. Zero means no limit, except Handles.
type StoreConfig struct {
	// Data is handed to host functions as it is.
	Data any
	// MemoryBytes bounds the linear memories of the store together.
	MemoryBytes uint64
	// TableElements bounds each table.
	TableElements uint32
	// Instances bounds the core instances, and the tables and the memories to
	// the same number: without that an instance could have any number of either.
	Instances uint32
	// Handles bounds the live host resources; 0 means 65,536. Guests with a
	// garbage collector drop handles late or never.
	Handles int
}

const defaultHandles = 65536
