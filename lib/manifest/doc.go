// Package manifest reads murmur.yaml: the capsule manifest a session is staged
// from (Parse) and the artifact manifest at the root of a packed artifact
// (ParseArtifact).
//
// It promises that what it returns obeys every parse-time rule of
// docs/spec/manifest.md: types, ranges, words, and the checks between keys, in
// the order of MAN-32; that a refusal is a *diag.Error with a code, the file, the
// line and the dotted path; and that the same bytes always give the same answer.
// It is pure: it looks at no file system, network, environment or kernel
// (MAN-8), and a refused parse leaves nothing behind (MAN-35). It never prints
// the value of a key; a literal credential is a Secret, which shows itself only
// to Secret.Reveal.
//
// mur-stage, mur-lock and mur-doctor import it. mur-launch reads one literal
// credential with Literal; mur-shell never reads a manifest.
package manifest

import "github.com/mur-capsules/mur/lib/internal/strictyaml"

// FileName is the one name a manifest has in a project directory and inside an
// archive (MAN-1).
const FileName = "murmur.yaml"

// MaxBytes is the largest manifest that is read (MAN-17). A caller reading from
// disk needs no more than MaxBytes+1 bytes.
const MaxBytes = strictyaml.MaxBytes

// Options say how strict a parse is.
type Options struct {
	// Strict makes every unknown key E-MAN-003 instead of W-SEC-019 (MAN-30).
	Strict bool
	// Running is the version of the running program, for MAN-29; empty skips that
	// check.
	Running string
	// All reports every fault found in the pass, joined, the deciding one first
	// (MAN-34); otherwise only the deciding one is returned.
	All bool
}

// Position is a place in the manifest file; both count from 1.
type Position = strictyaml.Position

// Positions knows where the value of a dotted path stands: Pos and Subject give
// the place of the nearest written block when the path itself was not.
type Positions = strictyaml.Positions
