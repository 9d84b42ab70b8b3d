// Package diag is the one place that knows the codes mur reports problems
// with, the shape of a diagnostic in text and in JSON, and the exit status
// each leads to.
//
// An Error stops the command that meets it; a Warning lets it go on. Both
// carry a code from the table in codes.go, a message that names what was found
// and where, and hints that say what to do. Package diag never decides whether
// something is wrong and never holds the value of a secret.
package diag

import (
	"errors"
	"fmt"
)

// Code is the name programs match a diagnostic by: E-FAMILY-nnn or
// W-FAMILY-nnn (DIA section 0).
type Code string

// SubjectKind says what a Subject names (DIA-17).
type SubjectKind string

// The kinds of a Subject.
const (
	ManifestKey SubjectKind = "manifest_key"
	ConfigKey   SubjectKind = "config_key"
	Artifact    SubjectKind = "artifact"
	LockEntry   SubjectKind = "lock_entry"
	Path        SubjectKind = "path"
	Host        SubjectKind = "host"
	Session     SubjectKind = "session"
	TraceLine   SubjectKind = "trace_line"
)

// Subject is the thing a diagnostic is about. Line and Column count from 1;
// 0 means unknown. Index is nil where there is no list.
type Subject struct {
	Kind   SubjectKind `json:"kind"`
	Name   string      `json:"name"`
	File   string      `json:"file,omitempty"`
	Line   int         `json:"line,omitempty"`
	Column int         `json:"column,omitempty"`
	Index  *int        `json:"index,omitempty"`
}

// Error is a condition that ends a command or one item of it. It may wrap the
// error that caused it.
type Error struct {
	Code    Code
	Message string
	Hints   []string
	Phase   string // parse, check, resolve, layout, launch, session, teardown, or the command's name
	Subject *Subject
	Names   map[string]any // string or number values, keyed by the words of the code's row (DIA-18)
	Err     error
}

// Errorf makes an Error with the given code. A %w verb sets the wrapped error.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Error returns the message without code and hints.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Hint appends a hint and returns e.
func (e *Error) Hint(format string, args ...any) *Error {
	e.Hints = append(e.Hints, fmt.Sprintf(format, args...))
	return e
}

// In sets the phase unless one is set already, and returns e.
func (e *Error) In(phase string) *Error {
	if e.Phase == "" {
		e.Phase = phase
	}
	return e
}

// About sets the subject and returns e.
func (e *Error) About(s Subject) *Error { e.Subject = &s; return e }

// Name records one of the things the code's row demands and returns e.
func (e *Error) Name(key string, value any) *Error {
	if e.Names == nil {
		e.Names = map[string]any{}
	}
	e.Names[key] = value
	return e
}

// Warning is a condition that never changes an exit status. An empty Code
// makes it a plain warning (DIA-3).
type Warning struct {
	Code    Code
	Message string
	Topic   string // the feature it concerns: manifest, artifact, shell, network, ...
	Phase   string
	Subject *Subject
	Names   map[string]any
}

// Warningf makes a Warning with the given code and topic.
func Warningf(code Code, topic, format string, args ...any) Warning {
	return Warning{Code: code, Topic: topic, Message: fmt.Sprintf(format, args...)}
}

// UsageError is a fault of the command line: it has no code and exits 2
// (DIA-29), or 125 in mur-shell (DIA-34).
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// AsError returns the first Error in err's chain.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// CodeOf returns the code of the first Error in err's chain, or "".
func CodeOf(err error) Code {
	if e, ok := AsError(err); ok {
		return e.Code
	}
	return ""
}
