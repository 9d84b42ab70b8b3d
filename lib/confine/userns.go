package confine

import "github.com/mur-capsules/mur/lib/diag"

// OpenNamespaces is W-SEC-013, false where the reading gives no cause: AppArmor is on,
// and user namespaces are open to every program and not by a profile to mur alone.
func (r Reading) OpenNamespaces() (w diag.Warning, open bool) {
	if r.UsernsGrant == nil || *r.UsernsGrant != UsernsHostWide {
		return w, false
	}
	w = diag.Warningf("W-SEC-013", "containment",
		"user namespaces are open to every program of this host (kernel.apparmor_restrict_unprivileged_userns is 0); load the AppArmor profile mur-sealed and set it to 1 to open them to mur alone")
	w.Phase = "check"
	w.Names = map[string]any{"setting": "kernel.apparmor_restrict_unprivileged_userns"}
	return w, true
}
