package wasmhost

import (
	"errors"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// exports are the versioned exports by kind (WIT-24).
var exports = map[Kind]string{
	Tool:    "murmur:tool/run@0.1.0",
	Driver:  "murmur:tool/run@0.1.0",
	Capsule: "murmur:capsule/run@0.1.0",
	Hook:    "murmur:hook/lifecycle@0.9.0",
}

// Export is the versioned name of the interface a guest of this kind exports.
func Export(k Kind) string { return exports[k] }

// Refusal gives a *LoadError its code (WIT-2, ART-114): E-RUN-105 for a missing
// engine, E-RUN-029 for a driver at another version or with another import,
// E-RUN-002 for an import, E-RUN-001 for everything else. What is the guest's
// name@version or path. Another error is returned as it is.
func Refusal(what string, kind Kind, err error) error {
	var le *LoadError
	if !errors.As(err, &le) {
		return err
	}
	e := diag.Errorf(refusalCode(kind, le), "%s: %w", what, le).
		About(diag.Subject{Kind: diag.Artifact, Name: what}).
		Name("artifact", what).Name("reason", string(le.Reason))
	if le.Name != "" {
		e.Name("interface", le.Name)
	}
	switch le.Reason {
	case NoEngine:
		if le.Err != nil {
			break // it says what is missing
		}
		e.Hint("use a build with cgo on linux or darwin, or build the guest as a core module; core modules still run")
	case BadVersion:
		e.Name("served", le.Served).Hint("rebuild the guest against %s", le.Served)
	}
	return e
}

func refusalCode(kind Kind, le *LoadError) diag.Code {
	version := le.Reason == BadVersion
	switch {
	case le.Reason == NoEngine:
		return "E-RUN-105"
	case kind == Driver && (version || le.Reason == BadImport):
		return "E-RUN-029"
	case le.Reason == BadImport, version && !sameInterface(le.Name, Export(kind)):
		return "E-RUN-002"
	}
	return "E-RUN-001"
}

func sameInterface(a, b string) bool {
	a, _, _ = strings.Cut(a, "@")
	b, _, _ = strings.Cut(b, "@")
	return a == b
}
