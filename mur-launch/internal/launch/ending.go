package launch

import (
	"errors"
	"fmt"

	"github.com/mur-capsules/mur/lib/diag"
)

// The session statuses a script capsule can end with (SES-194).
const (
	ok       = "ok"
	failed   = "failed"
	canceled = "canceled"
)

// ending is a session's status with its reason, nil for ok.
type ending struct {
	status string
	why    *diag.Error
}

// judge decides how a session ended. Run is what the capsule's run returned,
// cause why its context ended, if it did: a coded error is the session's own
// failure, anything else a signal. Latch is a refusal of its file access
// (SES-46). What the session needs comes before what the capsule did: a trace
// that can not be written has ended the capsule, and not the other way round.
func judge(run, cause, latch error) ending {
	var own *diag.Error
	switch {
	case errors.As(cause, &own):
		return ending{failed, own}
	case errors.As(latch, &own):
		return ending{failed, own}
	case cause != nil && run != nil:
		return ending{canceled, diag.Errorf("E-RUN-040", "a signal ended it")}
	case errors.As(run, &own):
		return ending{failed, own}
	case run != nil:
		return ending{failed, diag.Errorf("E-RUN-007", "%w", run)}
	}
	return ending{status: ok}
}

// report is the error mur-launch ends with, nil for ok and for a deadline that was
// reached (SES-195): E-RUN-040
// naming status, reason and the specific code, or the session's own failure.
func (e ending) report(session, records string) *diag.Error {
	if e.status == ok || e.status == deadlineReached {
		return nil
	}
	if e.why.Code == "E-RUN-007" {
		return e.why.In("session")
	}
	reason := e.why.Message
	if e.why.Code != "E-RUN-040" {
		reason = fmt.Sprintf("%s: %s", e.why.Code, reason)
	}
	r := diag.Errorf("E-RUN-040", "session %s ended %s: %s", session, e.status, reason).In("session").
		About(diag.Subject{Kind: diag.Session, Name: session}).
		Name("status", e.status).Name("reason", e.why.Message).Name("code", string(e.why.Code)).Name("records", records)
	for _, h := range e.why.Hints {
		r.Hint("%s", h)
	}
	return r.Hint("its records are in %s", records)
}
