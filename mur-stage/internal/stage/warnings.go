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

// openNamespaces is W-SEC-013.
func openNamespaces(d confine.Decision, r confine.Reading) []diag.Warning {
	if r.UsernsGrant == nil || *r.UsernsGrant != confine.UsernsHostWide || d.Declared != policy.Sealed {
		return nil
	}
	w := diag.Warningf("W-SEC-013", "containment",
		"user namespaces are open to every program of this host (kernel.apparmor_restrict_unprivileged_userns is 0); load the AppArmor profile mur-sealed and set it to 1 to open them to mur alone")
	w.Phase = "check"
	w.Names = map[string]any{"setting": "kernel.apparmor_restrict_unprivileged_userns"}
	return []diag.Warning{w}
}
