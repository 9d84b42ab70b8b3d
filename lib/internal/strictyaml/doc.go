// Package strictyaml reads YAML the way mur's own files want it: one document of
// bounded size, no key twice, no custom tag, every value of exactly the expected
// type, every unknown key reported with the nearest known one.
//
// Read gives the checked tree; a Decoder opens its mappings as Blocks, whose
// methods read one key each and record faults and warnings with file, line,
// column and dotted path. The first fault recorded decides. Reading is a pure
// function of the bytes and never panics.
//
// Package manifest and package config are written on top of it; a Dialect says
// which codes each of them uses.
package strictyaml

import "github.com/mur-capsules/mur/lib/diag"

// Dialect says how faults of one kind of file are reported.
type Dialect struct {
	Syntax  diag.Code        // the YAML itself
	Value   diag.Code        // a value of the wrong type, or refused
	Unknown diag.Code        // an unknown key; empty for a plain warning
	Kind    diag.SubjectKind // what a dotted path is
	Topic   string           // of warnings
	Phase   string
}

// Options say how strict a pass is.
type Options struct {
	Strict bool // unknown keys are faults
	All    bool // Err joins every fault, not only the deciding one
}
