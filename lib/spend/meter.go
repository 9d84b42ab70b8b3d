// Package spend bounds how many tokens a session, a machine's day and a tree of
// sessions may use (docs/spec/agent.md section 18, delegation.md section 18).
//
// It promises that a call is admitted before it is sent and for the most it may
// use; that what is admitted in any process of the machine counts in every other
// at once, under a lock; and that an admission whose process died stays counted
// for the whole of it. Tokens are the runtime's own measure, never a provider's.
// Only mur-launch admits; mur-stage proves that the ledger can be used.
package spend

import (
	"context"
	"fmt"
	"sync"
)

// The ceilings a Refusal names.
const (
	Session = "session"
	Machine = "machine"
	Tree    = "tree"
)

// Refusal is a call that would go over a ceiling (AGT-156). Asking again does
// not help; for the machine's ceiling, not before 00:00 UTC.
type Refusal struct {
	Limit                    string
	Ceiling, Used, Requested int64 // tokens
}

func (r *Refusal) Error() string {
	what, again := "this session's", "asking again does not help"
	switch r.Limit {
	case Machine:
		what, again = "this machine's daily", "asking again does not help before 00:00 UTC"
	case Tree:
		what = "this tree of sessions'"
	}
	return fmt.Sprintf("%s ceiling of %d tokens does not admit the call: %d are used and it may need %d; %s",
		what, r.Ceiling, r.Used, r.Requested, again)
}

// Meter admits the calls of one session. It is safe for concurrent use.
type Meter struct {
	ceiling *int64 // of the session, nil for none
	ledger  *Ledger
	warn    func(error)

	mu       sync.Mutex
	settled  int64
	reserved int64
	calls    int64
	latched  *Refusal
}

// NewMeter makes a session's meter. Ceiling nil is no ceiling of its own, ledger
// nil none shared with others. Warn is told that the ledger could not be read or
// written, which ends nothing (DEL-1805).
func NewMeter(ceiling *int64, ledger *Ledger, warn func(error)) *Meter {
	return &Meter{ceiling: ceiling, ledger: ledger, warn: warn}
}

// Admission is leave to make one call. Settle or Release it once.
type Admission struct {
	meter         *Meter
	number        int64
	input, output int64
	shared        bool // the ledger holds it
	day           string
}

// Bounded tells whether there is a ceiling that a call could go over.
func (m *Meter) Bounded() bool { return m.ceiling != nil || m.ledger != nil }

// Admit asks for leave to use input tokens and at most output tokens more; what is
// not Bounded admits every call, whatever its input is said to be. The error is a
// *Refusal, or the context's.
func (m *Meter) Admit(ctx context.Context, input, output int64) (*Admission, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	requested := input + output
	if m.latched == nil && m.ceiling != nil && m.settled+m.reserved+requested > *m.ceiling {
		m.latched = &Refusal{Limit: Session, Ceiling: *m.ceiling, Used: m.settled + m.reserved, Requested: requested}
	}
	if m.latched != nil {
		return nil, m.latched
	}
	a := &Admission{meter: m, number: m.calls + 1, input: input, output: output}
	if m.ledger != nil {
		day, refusal, err := m.ledger.reserve(ctx, a.number, input, output)
		switch {
		case refusal != nil:
			return nil, refusal
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			m.warn(err)
		default:
			a.shared, a.day = true, day
		}
	}
	m.calls++
	m.reserved += requested
	return a, nil
}

// Settle charges what the call used (AGT-152).
func (a *Admission) Settle(input, output int64) { a.close(input, output) }

// Release ends an admission whose call gave nothing that could be measured: its
// input alone is charged.
func (a *Admission) Release(input int64) { a.close(input, 0) }

func (a *Admission) close(input, output int64) {
	m := a.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	// The line is written before the reservation goes, so that others never see
	// neither (DEL-1804).
	if a.shared {
		if err := m.ledger.settle(a.day, a.number, input, output); err != nil {
			m.warn(err)
		}
	}
	m.reserved -= a.input + a.output
	m.settled += input + output
}

// Used is what the session has been charged.
func (m *Meter) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settled
}
