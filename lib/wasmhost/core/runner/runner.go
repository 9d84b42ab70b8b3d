// Package runner says what the host of core modules asks of an engine, so that
// everything a guest can notice is written once, whatever engine runs it (WIT-65).
//
// An engine compiles a module, keeps and loads its compiled form, and runs
// instances of it with the host functions it was given. It knows nothing of WASI,
// of Murmur, of kinds of guests or of calls.
package runner

import (
	"context"
	"os"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
)

// Manifest keys a LimitReached fault names (MAN-130, MAN-131).
const (
	Memory = "limits.memory_bytes"
	Table  = "limits.table_elements"
)

// Func is a host function. It is called on the goroutine that called the guest
// and never panics.
type Func struct {
	Module, Name string
	Type         sections.Signature // without r, with at most one result
	// Call is given the host of the instance, the guest's memory, and the
	// arguments, one a word, of which the first takes the result; of a 32-bit value
	// only the lower half counts. Memory and words are valid until it returns. When
	// it returns true the guest is ended and Start or Call return an error.
	Call func(host any, mem []byte, words []uint64) (end bool)
}

// Engine compiles core modules. It is safe for concurrent use.
type Engine interface {
	Info() wasmhost.EngineInfo
	// Compile compiles a module that passed the checks.
	Compile(ctx context.Context, wasm []byte) (Program, error)
	// Vet validates a module that passed the checks, the code of its functions
	// included, without compiling it. What passes is compiled by Compile; what does
	// not may be all the same.
	Vet(ctx context.Context, wasm []byte) error
	// Load makes a program from a file that holds what Program.Form returned on an
	// engine of the same fingerprint; the caller has verified its contents and may
	// close it afterwards. Any other contents are an error, as far as the engine
	// notices.
	Load(ctx context.Context, form *os.File) (Program, error)
	// Close comes after the Close of every program.
	Close() error
}

// Program is compiled code. It is safe for concurrent use.
type Program interface {
	// Exports are the names of the exported functions.
	Exports() []string
	// Form returns the compiled form, or an error that says why there is none.
	Form() ([]byte, error)
	// New prepares an instance that runs nothing yet; host is handed to its host
	// functions.
	New(limits wasmhost.Limits, host any) (Instance, error)
	// Close comes after the Close of every instance.
	Close() error
}

// Instance is one run of a program, for one goroutine at a time.
//
// Start and Call return nil when the guest returned. A *wasmhost.Fault says
// Trapped with a line that names the trap, LimitReached for an instance that
// starts beyond its limits, or HostPanic for a defect of the engine. Any other
// error is the end of ctx or of a host function.
type Instance interface {
	// Start makes memory and tables and runs the start function.
	Start(ctx context.Context) error
	// Call calls an exported function without parameters and with at most one
	// result, whose bits it returns.
	Call(ctx context.Context, name string) (uint64, error)
	// Refused tells whether the memory was refused its size because of
	// limits.memory_bytes, whatever the guest did after it.
	Refused() bool
	Close()
}
