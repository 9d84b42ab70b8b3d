package wasmtime

import (
	"regexp"
	"strings"
)

// ending is what is known of a guest that ended early.
type ending struct {
	report        string // the library's
	fault         *Error // what a callback ended the guest for
	exit          *Error // of Call.Exit
	memoryRefused bool   // a memory was refused its size at some time
	over          error  // the cause, when the call's context is over
}

// countTooHigh is the library's text for a store with too many of something.
var countTooHigh = regexp.MustCompile(`(instance|table|memory) count too high`)

// classify puts the possible reasons into their order: what a host function
// knows for sure; then CON-263, a refused growth before an interrupt and an
// interrupt before an ordinary trap. An exit with another status than 0 counts
// as a trap there, because that is how a run-time system gives up for lack of
// memory.
func (d *ending) classify() *Error {
	e := &Error{Kind: Failed, Detail: d.report}
	trap, trapped := trapText(d.report)
	hostFailed := d.fault != nil && d.fault.Kind == HostError && d.exit == nil && d.over == nil
	switch {
	case d.fault != nil && d.fault.Kind == HostPanic, hostFailed:
		e = d.fault
	case d.exit != nil && d.exit.Status == 0:
		e = d.exit
	case d.memoryRefused:
		e.Kind, e.Limit = LimitHit, MemoryBytes
	case d.fault != nil && d.fault.Kind == LimitHit:
		e = d.fault
	case d.fault == nil && strings.Contains(d.report, "exceeds table limits"):
		e.Kind, e.Limit = LimitHit, TableElements
	case d.fault == nil && countTooHigh.MatchString(d.report):
		e.Kind, e.Limit = LimitHit, Instances
	case d.exit != nil:
		e = d.exit
	case d.over != nil:
		e.Kind, e.Err = Interrupted, d.over
	case trapped:
		e.Kind, e.Trap = Trapped, trap
	}
	if e.Detail == "" {
		e.Detail = d.report
	}
	return e
}
