// Package escape is the suite of escape probes (CON section 18): a table of what
// is tried inside a confined command, with the answer that each class owes, and
// the code that really tries it through "mur-shell run" on this host.
//
// Every target is made by the suite outside of the work folder and is shown to be
// within the reach of the same user without confinement (CON-274); every refused
// attempt has a control, the same operation inside the grants, that must succeed
// (CON-275). What can not be tried says so and is never counted as held. The
// suite leaves nothing behind; it reads no file of the user's but what a row names.
//
// Tests of mur-shell and mur-doctor --escape run the same rows.
package escape

import (
	"errors"
	"syscall"

	"github.com/mur-capsules/mur/lib/policy"
)

// Kind is what a row is about: a boundary, or a limit on resources (CON-273).
type Kind string

// The kinds of rows.
const (
	Boundary Kind = "boundary"
	Resource Kind = "resource"
)

// Options are what a suite is run with.
type Options struct {
	Shell string   // absolute path of mur-shell
	Probe []string // absolute path of a program that calls attempt.Main, and the words before its arguments
	Base  string   // where its folders go; "": /var/tmp, or the system's temporary folder
	Class policy.Class
	// User is whom mur-shell runs as; nil: the caller. Only root can choose.
	User *syscall.Credential
	// Only are the ids to run; nil: all.
	Only []string
}

// ErrNotReached says that the host or mur-shell does not give the class: nothing
// was probed.
var ErrNotReached = errors.New("the class is not reached")

// Status is what became of one attempt.
type Status string

// The statuses of a Finding.
const (
	Held    Status = "held"     // the answer was one that is owed
	Differs Status = "differs"  // it was another one
	NotRun  Status = "not run"  // it can not be tried here; Detail says why
	NoClaim Status = "no claim" // the class owes nothing
)

// Finding is the outcome of one attempt.
type Finding struct {
	ID     string `json:"id"`
	Kind   Kind   `json:"kind"`
	What   string `json:"what"`
	Status Status `json:"status"`
	Owed   string `json:"owed,omitempty"`
	Answer string `json:"answer,omitempty"`
	Detail string `json:"detail,omitempty"`
}
