package terms

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// Within puts the session into a scope that somebody else made, or into none.
func (t *Terms) Within(s *cgroup.Scope) { t.scope, t.given = s, true }

// makeScope makes the session's group. Outside of a session a host that delegates
// none is a warning, unless a limit that only a group holds was asked for on Linux
// (MAN-304).
func (t *Terms) makeScope() error {
	d := t.Policy.DeclaredResources
	unconfined := t.Decision.Declared == policy.Unconfined
	if t.given {
		// Its maker removes it, unless that is killed together with this process.
		if t.scope == nil {
			return nil
		}
		return t.bequeath(slices.Collect(maps.Values(t.scope.Dirs())))
	}
	if unconfined && !d.Cgroup() {
		return nil
	}
	name := cgroup.Name(t.ID, os.Getpid())
	// Before it is there: whenever this process is killed, somebody removes it.
	if err := t.bequeath(cgroup.Dirs(t.Reading.Cgroup, name)); err != nil {
		return err
	}
	scope, err := cgroup.New(t.Reading.Cgroup, name, cgroup.LimitsOf(t.Policy, unconfined))
	if err == nil {
		t.scope, t.ownScope = scope, true
		_, warnings := confine.LimitIO(t.Policy, unconfined, t.limitIO)
		t.Warnings = append(t.Warnings, warnings...)
		return nil
	}
	if d.Cgroup() && t.Reading.Linux() {
		return diag.Errorf("E-RUN-012", "the cgroup_* limits can not be held: %w", err).In("launch").
			About(diag.Subject{Kind: diag.Host, Name: "cgroup"}).Name("step", err.Error()).Name("reason", err.Error()).
			Hint("delegate the memory, pids and cpu controllers to this user, or drop the cgroup_* limits; mur-doctor says what is missing")
	}
	t.Warnings = append(t.Warnings, diag.Warningf("W-SEC-010", "resources",
		"no cgroup can be made here (%s): limits hold for each process and for the number of processes, not for memory and CPU of all together", err))
	return nil
}

// bequeath leaves a scope to the holder, where there is one (CON-133).
func (t *Terms) bequeath(dirs []string) error {
	if t.Network == nil {
		return nil
	}
	if err := t.Network.Bequeath(dirs); err != nil {
		return fmt.Errorf("leave the scope to the holder: %w", err)
	}
	return nil
}

// limitIO bounds what the scope reads and writes on the device of the work folder.
func (t *Terms) limitIO(bytesPerSec uint64) error {
	var st unix.Stat_t
	if err := unix.Stat(t.Plan.Folders.Work, &st); err != nil {
		return err
	}
	return t.scope.LimitIO(uint64(st.Dev), bytesPerSec)
}
