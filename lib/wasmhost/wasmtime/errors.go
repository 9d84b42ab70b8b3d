package wasmtime

import (
	"fmt"
	"strings"
)

// Kind tells apart why a call or an instantiation failed.
type Kind string

// The kinds of an Error.
const (
	Trapped     Kind = "trap"        // the guest's own fault; Trap is wasmtime's text
	LimitHit    Kind = "limit"       // a growth or an instance was refused; Limit says which
	Interrupted Kind = "interrupted" // the context ended; Err is its cause
	Exited      Kind = "exit"        // a host function called Call.Exit
	HostError   Kind = "host-error"  // a host function returned an error
	HostPanic   Kind = "host-panic"  // a host function panicked
	Failed      Kind = "failed"      // anything else, such as a missing import or a wrong argument type
)

// Limit names what a store ran out of.
type Limit string

// The limits of StoreConfig that a guest can run into.
const (
	MemoryBytes   Limit = "memory_bytes"
	TableElements Limit = "table_elements"
	Instances     Limit = "instances"
	Handles       Limit = "handles"
)

// Error is a failed call or instantiation. The store it happened in can only be
// closed.
type Error struct {
	Kind   Kind
	Limit  Limit  // for LimitHit
	Status int    // for Exited
	Trap   string // for Trapped: one line, such as "wasm trap: out of bounds memory access"
	Detail string // the library's full text with the guest's stack, many lines
	Err    error  // for Interrupted, HostError and HostPanic
}

func (e *Error) Error() string {
	switch e.Kind {
	case Trapped:
		return e.Trap
	case LimitHit:
		return fmt.Sprintf("limit reached: %s", e.Limit)
	case Exited:
		return fmt.Sprintf("exit status %d", e.Status)
	case Interrupted, HostError, HostPanic:
		return e.Err.Error()
	}
	return firstLine(e.Detail)
}

// Unwrap returns the context's cause or the host function's error.
func (e *Error) Unwrap() error { return e.Err }

// firstLine returns the head line of the library's report together with its
// innermost cause, which is what a reader needs of it.
func firstLine(detail string) string {
	lines := strings.Split(strings.TrimSpace(detail), "\n")
	head, last := strings.TrimSpace(lines[0]), ""
	if i := strings.Index(detail, "Caused by:"); i >= 0 {
		for _, l := range strings.Split(detail[i:], "\n")[1:] {
			if l = causeText(l); l != "" {
				last = l
			}
		}
	}
	switch {
	case last == "" || strings.Contains(head, last):
		return head
	case strings.HasPrefix(head, "error while executing"): // which says nothing by itself
		return last
	}
	return head + ": " + last
}

// causeText strips the number "3: " that starts a cause.
func causeText(line string) string {
	line = strings.TrimSpace(line)
	if n, rest, ok := strings.Cut(line, ": "); ok && strings.Trim(n, "0123456789") == "" {
		return rest
	}
	return line
}

// trapText finds wasmtime's trap line in a report.
func trapText(detail string) (string, bool) {
	i := strings.Index(detail, "wasm trap: ")
	if i < 0 {
		return "", false
	}
	line, _, _ := strings.Cut(detail[i:], "\n")
	return strings.TrimSpace(line), true
}
