package wasmhost

import (
	"errors"
	"fmt"
)

// ErrDenied is wrapped by every refusal of policy.
var ErrDenied = errors.New("denied by policy")

// LoadReason says why a guest can not be loaded.
type LoadReason string

// The reasons of a LoadError.
const (
	BadFormat  LoadReason = "format"  // neither core module nor component, or damaged (E-RUN-001)
	BadExport  LoadReason = "export"  // lacks the export of its kind, or another version (E-RUN-001)
	BadImport  LoadReason = "import"  // imports what its kind is not served (E-RUN-002)
	NoCompile  LoadReason = "compile" // the engine refuses it (E-RUN-001)
	NoEngine   LoadReason = "engine"  // this build has no engine for the format, or it does not start (E-RUN-105)
	BadVersion LoadReason = "version" // imports or exports a murmur interface at a version not served (WIT-2)
)

// LoadError is a guest that can not be compiled or loaded. Names holds the
// interface or import asked for, Served the one this host serves, if any.
type LoadError struct {
	Reason LoadReason
	Name   string
	Served string
	Err    error
}

func (e *LoadError) Error() string {
	s := "guest can not be loaded"
	switch e.Reason {
	case BadFormat:
		s = "not a WebAssembly module or component"
	case BadExport:
		s = fmt.Sprintf("does not export %s", e.Name)
	case BadImport:
		s = fmt.Sprintf("imports %s, which is not served to it", e.Name)
	case BadVersion:
		s = fmt.Sprintf("asks for %s; this host serves %s: rebuild it", e.Name, e.Served)
	case NoCompile:
		s = "does not compile"
	case NoEngine:
		s = "is a component, and this build has no component engine; core modules still run"
		if e.Err != nil {
			s = "can not run here"
		}
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *LoadError) Unwrap() error { return e.Err }

// Cause tells apart how a call ended early (WIT-32).
type Cause string

// The causes of a Fault.
const (
	DeadlinePassed Cause = "deadline" // the call's own time is over
	Canceled       Cause = "canceled" // the caller gave up
	LimitReached   Cause = "limit"    // Limit names the key, such as limits.memory_bytes
	Exited         Cause = "exit"     // the guest ended itself with Status
	Trapped        Cause = "trap"     // unreachable, out of bounds, stack overflow, ...
	BadOutput      Cause = "output"   // a command's result is not what WIT-46 asks for
	HostPanic      Cause = "host"     // a defect of a host function; the guest is ended
)

// Fault is a call that did not return a result.
type Fault struct {
	Cause  Cause
	Limit  string // for LimitReached: the manifest key
	Status int    // for Exited
	Stderr string // for Exited: the last 4 KiB of standard error (WIT-48)
	Err    error
}

func (f *Fault) Error() string {
	var s string
	switch f.Cause {
	case DeadlinePassed:
		s = "the call passed its deadline"
	case Canceled:
		s = "the call was cancelled"
	case LimitReached:
		s = "the guest reached " + f.Limit
	case Exited:
		s = fmt.Sprintf("the guest exited with status %d", f.Status)
	case Trapped:
		s = "the guest trapped"
	case BadOutput:
		s = "the guest's output is not a result"
	case HostPanic:
		s = "a host function failed"
	default:
		s = "the call failed"
	}
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	if f.Stderr != "" {
		s += "\n" + f.Stderr
	}
	return s
}

func (f *Fault) Unwrap() error { return f.Err }
