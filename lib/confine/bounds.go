package confine

import (
	"fmt"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// NeedsScope tells whether the processes of a session on Linux are bounded as a
// whole: in every contained session, and in an unconfined one that declares such a
// limit (CON-177, SES-110).
func NeedsScope(declared policy.Class, asked policy.DeclaredResources) bool {
	return declared != policy.Unconfined || asked.Cgroup()
}

// Missing says why no scope can be made, nil when the hierarchies for one are there.
func (c Cgroup) Missing() error {
	switch {
	case c.Version != nil:
		return nil
	case c.Blocker == nil:
		return fmt.Errorf("no cgroup hierarchy can be used")
	}
	return fmt.Errorf("no cgroup hierarchy can be used: %s", c.Blocker.String())
}

// ScopeRefusal is E-RUN-012 of a session whose processes can not be bounded. The
// launch raises it; a check predicts it (DIA-11).
func ScopeRefusal(reason error) error {
	const delegation = "the controllers memory, pids and cpu, delegated to this user"
	return diag.Errorf("E-RUN-012", "the session can start processes, and nothing can bound them as a whole: %w", reason).
		Hint("start it in a group of your own: systemd-run --user --scope -p Delegate=yes mur-launch ...").
		Hint("or have %s; mur-doctor shows which are missing", delegation).
		Hint("or stage it with capabilities.containment: unconfined, which neither bounds nor confines commands").
		In("launch").About(diag.Subject{Kind: diag.Host, Name: "cgroup"}).
		Name("reason", reason.Error()).Name("delegation", delegation)
}
