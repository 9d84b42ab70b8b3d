package stage

import (
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/grants"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// staging is one staging under way: what it was asked for and what its steps
// have found out so far.
type staging struct {
	in      Input
	host    Host
	opts    Options
	explain bool
	check   bool // nothing is kept

	warnings []diag.Warning

	pkg    *capsulePackage // nil for a project
	bundle *opened         // nil for a project
	trust  *provenance.Trust

	// Step 2.
	file         string // of the manifest, absolute
	dir          string // its directory
	manifestData []byte
	capsule      *manifest.Capsule
	lifecycle    manifest.Lifecycle
	overrides    []string

	places
	lock      lockfile.Lock
	lockFound bool
	component *ownGuest // of a script capsule
	policy    policy.Policy
	votes     []policy.Vote
	reading   confine.Reading
	decision  confine.Decision
	grants    []grant // one for each entry
	found     grants.Found
	helpers   []diag.Warning // about compilers that can not start theirs
	report    confine.ScopeReport

	artifacts []staged // one for each entry
	id        string
	gateways  []session.Gateway
	inference *session.Inference
	spend     session.Spend

	annotations  map[string]session.ToolAnnotations
	instructions *session.InstructionFiles
	listed       []session.StagedFile // files written in the runtime directory
	manifestCopy *string
	held         held
}

func (s *staging) warn(w ...diag.Warning) { s.warnings = append(s.warnings, w...) }

func (s *staging) agent() bool { return s.capsule.Agent() }

// entries are the declared artifacts in manifest order.
func (s *staging) entries() []manifest.Entry { return s.capsule.Artifacts }

// options of the roots held for the session: one latch for all of them.
func (h *held) private() workfs.Options {
	return workfs.Options{Latch: &h.latch, Ephemeral: true}
}

func (h *held) public() workfs.Options {
	return workfs.Options{Latch: &h.latch, Ephemeral: true, FileMode: workfs.PublicFile, DirMode: workfs.PublicDir}
}

func ptr[T any](v T) *T { return &v }

// optional is nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
