// Package murmur holds the functions of murmur:core@0.1.0 for packages guest and
// guesthttp: thin wrappers that pass the address and length of Go values.
package murmur

import (
	"errors"
	"strings"
)

// Reasons the runtime refuses for.
var (
	ErrInvalid     = errors.New("invalid argument")
	ErrDenied      = errors.New("denied by policy")
	ErrUnavailable = errors.New("not available in this context")
	ErrNotFound    = errors.New("not found")
	ErrTransport   = errors.New("transport failure")
	ErrTooLarge    = errors.New("too large")
	ErrTimeout     = errors.New("timed out")
	ErrCancelled   = errors.New("cancelled")
	ErrInternal    = errors.New("internal failure")
)

// reasons are the result codes -1 to -9 of murmur:core.
var reasons = []error{nil, ErrInvalid, ErrDenied, ErrUnavailable, ErrNotFound,
	ErrTransport, ErrTooLarge, ErrTimeout, ErrCancelled, ErrInternal}

// Check turns a result code into an error with the line the runtime left in the
// slot.
func Check(code int32) error {
	if code >= 0 {
		return nil
	}
	reason := ErrInternal
	if int(-code) < len(reasons) {
		reason = reasons[-code]
	}
	if line := string(Slot()); line != "" {
		return refusal{reason, line}
	}
	return reason
}

// refusal is a reason with the runtime's line, which may say the reason already.
type refusal struct {
	reason error
	line   string
}

func (r refusal) Error() string {
	if strings.Contains(r.line, r.reason.Error()) {
		return r.line
	}
	return r.reason.Error() + ": " + r.line
}

func (r refusal) Unwrap() error { return r.reason }

// Slot fetches what the last call left for this program.
func Slot() []byte {
	b := make([]byte, slotLen())
	for n := 0; n < len(b); {
		k := slotRead(b[n:])
		if k <= 0 {
			return b[:n]
		}
		n += int(k)
	}
	return b
}
