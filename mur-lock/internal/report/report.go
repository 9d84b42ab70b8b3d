// Package report is the shape in which every mur-lock command tells what it did:
// one row for each artifact, for people and for programs (ART-186).
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
)

// Outcome is what happened to an artifact.
type Outcome string

// The outcomes.
const (
	Packed    Outcome = "packed"
	Published Outcome = "published"
	Installed Outcome = "installed"
	Unchanged Outcome = "unchanged" // it was stored, or pinned, already
	Pinned    Outcome = "pinned"
	Unpinned  Outcome = "unpinned"
	Verified  Outcome = "verified"
	Listed    Outcome = "listed"

	Compiled      Outcome = "compiled"
	AlreadyStored Outcome = "already_stored"
	NotWASM       Outcome = "not_wasm"

	Bundled Outcome = "bundled"
	Signed  Outcome = "signed"

	Pruned     Outcome = "pruned"
	WouldPrune Outcome = "would_prune"
	InUse      Outcome = "in_use"

	// What diff says an install would do.
	Add     Outcome = "add"
	Update  Outcome = "update"
	Adopt   Outcome = "adopt"
	Fetch   Outcome = "fetch"
	Restore Outcome = "restore"
	Unused  Outcome = "unused"

	Failed Outcome = "failed"
)

// Row is one artifact. Extra members depend on the command.
type Row struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	SHA256  string  `json:"sha256"`
	Origin  *string `json:"origin"`
	Outcome Outcome `json:"outcome"`
	Fault   *Fault  `json:"error"`

	Path        string   `json:"path,omitempty"`   // of the archive
	Store       string   `json:"store,omitempty"`  // project or global
	Source      string   `json:"source,omitempty"` // where it was fetched from, or published to
	Digest      string   `json:"digest,omitempty"` // of a bundle
	Platform    string   `json:"platform,omitempty"`
	Files       []string `json:"files,omitempty"` // packed entries
	AdoptedFrom string   `json:"adopted_from,omitempty"`
	SignedBy    []string `json:"signed_by,omitempty"` // ids of trusted keys
	Reason      string   `json:"reason,omitempty"`
	Pinned      string   `json:"pinned_version,omitempty"`
	Bytes       int64    `json:"bytes,omitempty"`
	Pin         *bool    `json:"pinned,omitempty"`
	Details     *Details `json:"details,omitempty"`
	More        []*Fault `json:"more_errors,omitempty"` // what Fault has no room for
	Text        string   `json:"-"`                     // the line for people, "" for none
	Errors      []error  `json:"-"`                     // every failure of this artifact
}

// Details are what list adds.
type Details struct {
	Runtime     string   `json:"runtime"`
	Role        string   `json:"artifact_runtime"`
	Platforms   []string `json:"platforms"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Exports     []string `json:"exports"`
	Imports     []string `json:"imports"`
}

// Fault is an error in a row.
type Fault struct {
	Code    diag.Code `json:"code"`
	Message string    `json:"message"`
}

// Fail makes a row of a failure.
func (r Row) Fail(errs ...error) Row {
	r.Outcome, r.Errors, r.Text = Failed, errs, ""
	for i, err := range errs {
		f := &Fault{Code: diag.CodeOf(err), Message: err.Error()}
		if f.Code == "" {
			f.Code = "E-IO-003"
		}
		if i == 0 {
			r.Fault = f
		} else {
			r.More = append(r.More, f)
		}
	}
	return r
}

// From sets the row's origin.
func (r Row) From(o lockfile.Origin) Row {
	word := o.Word()
	r.Origin = &word
	return r
}

// Report is what a command did.
type Report struct {
	Rows []Row
	Note string // a last line for people, "" for none
	Also error  // failures that are no row's
}

// Err joins the failures of all rows and those of none, or is nil.
func (r Report) Err() error {
	var all []error
	for _, row := range r.Rows {
		all = append(all, row.Errors...)
	}
	if joined, ok := r.Also.(interface{ Unwrap() []error }); ok {
		return errors.Join(append(all, joined.Unwrap()...)...)
	}
	return errors.Join(append(all, r.Also)...)
}

// Write prints the report: one JSON object, or the rows' lines.
func (r Report) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		rows := r.Rows
		if rows == nil {
			rows = []Row{}
		}
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(struct {
			Artifacts []Row `json:"artifacts"`
		}{rows})
	}
	for _, row := range r.Rows {
		if row.Text == "" {
			continue
		}
		if _, err := fmt.Fprintln(w, row.Text); err != nil {
			return err
		}
	}
	if r.Note != "" {
		_, err := fmt.Fprintln(w, r.Note)
		return err
	}
	return nil
}
