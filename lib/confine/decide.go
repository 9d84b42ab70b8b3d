package confine

import (
	"fmt"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// Decision is the outcome of Decide: the members declared, achieved, tier and
// shortfall of containment and applied_tier and caps of sandbox.
type Decision struct {
	Declared    policy.Class
	Achieved    policy.Class
	HostTier    Tier
	AppliedTier Tier
	Caps        []Cap
	// Shortfall says why Achieved is below Declared; empty when it is not.
	Shortfall string

	blocker *Blocker
}

// Decide computes the achieved class of CON-30 to CON-34. Every cap in caps
// lowers the class to advisory.
func Decide(r Reading, declared policy.Class, caps []Cap) Decision {
	d := Decision{Declared: declared, HostTier: r.Tier(), Caps: caps}
	if declared == policy.Unconfined {
		d.Achieved, d.AppliedTier = policy.Unconfined, TierNone
		return d
	}
	d.Achieved, d.AppliedTier = ceiling(d.HostTier), d.HostTier
	if declared < policy.Sealed && d.HostTier == TierSealed {
		d.Achieved, d.AppliedTier = policy.Scoped, TierScoped
	}
	unableRoot := r.Root != nil && r.Root.RunAs == nil
	if (len(caps) > 0 || unableRoot) && d.Achieved > policy.Advisory {
		d.Achieved = policy.Advisory
	}
	if d.Achieved >= declared {
		return d
	}
	switch {
	case len(caps) > 0:
		d.Shortfall = caps[0].Key + ": " + caps[0].Reason
	case unableRoot:
		d.Shortfall = "the program runs as root and commands can not be given another user: " + r.Root.Blocker.String()
		d.blocker = r.Root.Blocker
	case r.SealedBlocker != nil && (declared == policy.Sealed || !r.tried()):
		d.Shortfall, d.blocker = r.SealedBlocker.String(), r.SealedBlocker
	case r.Landlock.State != LandlockEnforced:
		d.Shortfall = "Landlock is " + r.Landlock.State
		d.blocker = &Blocker{Name: LandlockUnavailable}
	default:
		d.Shortfall = "seccomp filters can not be installed"
	}
	return d
}

// ceiling is the strongest class of a host tier (CON-31).
func ceiling(t Tier) policy.Class {
	switch t {
	case TierSealed:
		return policy.Sealed
	case TierScoped:
		return policy.Scoped
	default:
		return policy.Advisory
	}
}

// Refusal is the E-CAP-003 of a declared class the host can not give, or nil
// when the floor is met. It names both classes, the mechanism, the reason and
// the remedy (CON section 4), and that no weaker class is taken (CON-21).
func (d Decision) Refusal() error {
	if d.Achieved >= d.Declared {
		return nil
	}
	err := diag.Errorf("E-CAP-003", "containment %s is declared and this host gives %s (mechanism: %s): %s; a weaker class is never taken instead",
		d.Declared, d.Achieved, d.HostTier, d.Shortfall).
		In("check").
		Name("declared", d.Declared.String()).Name("achieved", d.Achieved.String()).Name("mechanism", string(d.HostTier)).Name("reason", d.Shortfall).
		About(diag.Subject{Kind: diag.Host, Name: "containment"})
	if d.blocker != nil {
		if remedy := d.blocker.Remedy(); remedy != "" {
			err.Hint("%s", remedy)
		}
	}
	return err.Hint("lower the floor or use another host")
}

// Moved compares what a fresh reading says of the machine and the user with the
// staged one: boot id and uid. A difference is E-STG-104 (CON-5).
func Moved(staged, found Reading) error {
	return firstOf(
		difference("boot id", staged.BootID, found.BootID),
		difference("uid", staged.UID, found.UID),
	)
}

// Changed compares a whole fresh reading with the staged one and returns E-STG-104
// naming the first difference of those CON-5 lists, or nil. The achieved class
// is compared by deciding again with the staged declaration and caps.
func Changed(staged, found Reading, d Decision) error {
	again := Decide(found, d.Declared, d.Caps)
	return firstOf(
		Moved(staged, found),
		difference("host tier", staged.Tier(), found.Tier()),
		difference("achieved class", d.Achieved, again.Achieved),
	)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func difference[T comparable](what string, staged, found T) error {
	if staged == found {
		return nil
	}
	return diag.Errorf("E-STG-104", "the host changed between staging and launch: %s was %v and is %v", what, staged, found).
		In("launch").Name("staged", fmt.Sprint(staged)).Name("found", fmt.Sprint(found)).
		Hint("stage the capsule again")
}
