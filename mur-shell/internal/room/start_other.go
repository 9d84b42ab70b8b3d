//go:build !linux || !cgo

package room

import (
	"context"
	"fmt"
	"os"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/worker"
	"github.com/mur-capsules/mur/lib/diag"
)

// Init takes the process over if it is one that a room made.
func Init() { worker.Main() }

// Settle has nothing to end here: nothing is begun before main.
func Settle() {}

// prepare refuses a plan that asks for anything but plain commands: whoever made
// it saw another host, and no command may run with less than it says.
func (r *Room) prepare() error {
	p := r.cfg.Plan
	if p.Network || p.Filter || p.Landlock > 0 || p.PrivateMounts || p.PrivateProc || p.ComposedRoot || r.cfg.Network != nil || r.cfg.Scope != nil || r.switches() {
		return diag.Errorf("E-STG-104", "the session was staged for class %s by %s, and this build or system has no way to confine a command", p.Class, confineMeans(p)).
			In("launch").Name("staged", string(p.Tier)).Name("found", string(confine.TierNone)).Hint("stage the capsule on this host, with this mur")
	}
	r.trees = []worker.Tree{{Path: p.Folders.Work}}
	return nil
}

func confineMeans(p confine.Plan) string {
	if p.Tier == confine.TierNone {
		return "a network namespace, a group or another user"
	}
	return fmt.Sprint(p.Tier)
}

// worker starts a worker that starts commands as they are.
func (r *Room) worker(ctx context.Context, _ int, _ []*os.File, started func(pid int)) (*worker.Worker, func() error, error) {
	p, err := worker.Start(ctx, worker.Namespaces{}, worker.Setup{KeepPrivileges: true, Trees: r.trees})
	if err != nil {
		return nil, nil, err
	}
	started(p.PID())
	return p.Worker, p.Stop, nil
}
