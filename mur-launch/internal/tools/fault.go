package tools

import (
	"errors"
	"fmt"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Explain words what ended a guest's call or kept it from being loaded, as the
// diagnostic a person and a program read: which guest, which of the reasons,
// and for a limit the manifest key with its value (DIA-79, TOL-29). Who is the
// guest's name@version.
func Explain(who string, kind wasmhost.Kind, err error, l wasmhost.Limits) *diag.Error {
	var coded *diag.Error
	if errors.As(err, &coded) {
		return coded
	}
	if errors.As(wasmhost.Refusal(who, kind, err), &coded) {
		return coded
	}
	e := diag.Errorf("E-RUN-001", "%s: %w", who, err).Name("guest", who)
	var f *wasmhost.Fault
	if !errors.As(err, &f) {
		return e
	}
	e.Name("cause", string(f.Cause))
	switch f.Cause {
	case wasmhost.DeadlinePassed:
		e.Message = fmt.Sprintf("%s: the call passed its deadline of %s (capabilities.limits.deadline_seconds)", who, l.Deadline)
		e.Name("seconds", l.Deadline.Seconds())
	case wasmhost.LimitReached:
		e.Message = fmt.Sprintf("%s: the guest reached capabilities.%s%s", who, f.Limit, limitValue(f.Limit, l))
		e.Name("limit", f.Limit)
	}
	return e
}

// limitValue is the value of a limit in its unit, in parentheses.
func limitValue(key string, l wasmhost.Limits) string {
	switch key {
	case "limits.memory_bytes":
		return fmt.Sprintf(" (%d bytes)", l.MemoryBytes)
	case "limits.table_elements":
		return fmt.Sprintf(" (%d elements)", l.TableElements)
	case "limits.instances":
		return fmt.Sprintf(" (%d instances)", l.Instances)
	}
	return ""
}

// refusal is a diagnostic as a guest and a line of the trace read it: one text
// that begins with the code.
type refusal struct{ reason *diag.Error }

func (e refusal) Error() string { return string(e.reason.Code) + ": " + e.reason.Message }
func (e refusal) Unwrap() error { return e.reason }
