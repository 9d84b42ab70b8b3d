package stage

import (
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// warnCapsule raises the warnings about the whole capsule (step 22).
func (s *staging) warnCapsule() error {
	s.warn(s.capsule.Warnings(s.lifecycle, s.decision.Declared)...)
	s.warn(openNamespaces(s.decision, s.reading)...)
	s.warn(s.helpers...)
	return nil
}

// openNamespaces is W-SEC-013, which matters to a capsule that asks for sealed.
func openNamespaces(d confine.Decision, r confine.Reading) []diag.Warning {
	w, open := r.OpenNamespaces()
	if !open || d.Declared != policy.Sealed {
		return nil
	}
	return []diag.Warning{w}
}
