// Package checks looks at a host and a project and says what a launch would
// meet. Gathering touches the system; every check is a function over what was
// gathered. It creates and downloads
// nothing, and repairs only what --fix lets it (DIA section 12).
package checks

import (
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Status is the outcome of a check.
type Status string

// The outcomes of DIA-200. A condition that is only predicted is a Warning even
// where its code begins with E (DIA-36).
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Failed  Status = "error"
)

// Check is one row of the report. Name is one of Names and never changes its
// meaning; Subject is which of several things it is about, "" where there is but
// one. Code is empty when all is well, and for what has none. Fixed says what
// --fix did about it; such a row is no warning and no failure any more.
type Check struct {
	Name    string    `json:"name"`
	Subject string    `json:"subject,omitempty"`
	Status  Status    `json:"status"`
	Code    diag.Code `json:"code"`
	Message string    `json:"message"`
	Remedy  string    `json:"remedy,omitempty"`
	Fixed   string    `json:"fixed,omitempty"`

	fix func() (done string, err error) // nil for what is not safe to put right
}

// Report is what mur-doctor prints with --json: murmur.doctor/1.
type Report struct {
	Schema  string   `json:"schema"`
	Host    Host     `json:"host"`
	Project *Project `json:"project"`
	Checks  []Check  `json:"checks"`
}

// Host is what was found on the host.
type Host struct {
	Version    string            `json:"version"` // of mur-doctor
	Probe      confine.Reading   `json:"probe"`
	Facts      Facts             `json:"facts"`
	Tier       confine.Tier      `json:"tier"`
	Ceiling    string            `json:"ceiling"` // the strongest class this host gives
	Engines    map[string]Engine `json:"engines"` // component and core
	Interfaces []string          `json:"interfaces"`
	MurmurHome string            `json:"murmur_home"` // "" when none is usable
}

// Engine is one WebAssembly engine of this build; Info is nil when it has none.
type Engine struct {
	Info *wasmhost.EngineInfo `json:"info"`
}

// Project is what was found of a project.
type Project struct {
	Manifest string `json:"manifest"`
	Name     string `json:"name"` // "" when the manifest does not parse
	Version  string `json:"version"`
	Locked   bool   `json:"locked"`
}

// Failed reports whether any check failed.
func (r *Report) Failed() bool {
	for _, c := range r.Checks {
		if c.Status == Failed {
			return true
		}
	}
	return false
}

// about sets what a row is about.
func (c Check) about(subject string) Check { c.Subject = subject; return c }

func ok(name, message string) Check { return Check{Name: name, Status: OK, Message: message} }

// fault turns an error into a row; hints become the remedy.
func fault(name string, status Status, err error) Check {
	c := Check{Name: name, Status: status, Code: diag.CodeOf(err), Message: err.Error()}
	if e, is := diag.AsError(err); is {
		for i, h := range e.Hints {
			if i > 0 {
				c.Remedy += "; "
			}
			c.Remedy += h
		}
	}
	if c.Code == "" {
		c.Code = "E-IO-003"
	}
	return c
}
