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

// SupervisorGroup is the leaf of its own group that whoever makes a scope on cgroup v2
// moves into, where controllers are handed down from a group without processes alone
// (CON-184). A process in it has the group above for its own (CON-181).
const SupervisorGroup = "murmur-supervisor"

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

// LimitIO bounds the bandwidth of a session's scope by set, and says what became of
// it: the one limit of a scope that a session does without (CON-187, SES-109). Somebody
// who declared it is warned; an unconfined session has no default.
func LimitIO(p policy.Policy, unconfined bool, set func(bytesPerSec uint64) error) (IOMax, []diag.Warning) {
	bytes, declared := p.Resources.CgroupIOBytesPerSec, p.DeclaredResources.CgroupIOBytesPerSec
	io := IOMax{DeclaredBytesPerSec: declared, Status: "not-required"}
	if unconfined && declared == nil {
		return io, nil
	}
	err := set(uint64(bytes))
	switch {
	case declared == nil:
	case err == nil:
		io.Status = "enforced"
	default:
		io.Status, io.Reason = "unavailable", err.Error()
		w := diag.Warningf("W-SEC-021", "resources", "capabilities.resources.cgroup_io_bytes_per_sec = %d does not hold: %v", bytes, err)
		w.Names = map[string]any{"declared": bytes, "reason": err.Error()}
		return io, []diag.Warning{w}
	}
	return io, nil
}
