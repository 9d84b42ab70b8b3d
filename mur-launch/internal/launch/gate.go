package launch

import (
	"context"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/mur-launch/internal/agent"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
	"github.com/mur-capsules/mur/mur-launch/internal/gate"
)

// readOnly is the gate of an agent's calls: the read-only check (TOL-87).
type readOnly struct {
	gate  *gate.Gate
	procs *processes
}

// gates are what an agent's calls pass, nil when there is nothing to ask.
func (l *launching) gates() agent.Gate {
	g := gate.New(l.doc)
	if g == nil {
		return nil
	}
	return readOnly{g, l.procs}
}

// Check implements agent.Gate. A command is looked at by mur-shell, whose answer
// it resolves to; one that is refused otherwise is refused when it is run.
func (r readOnly) Check(ctx context.Context, t dispatch.Target, c dispatch.Call) *agent.Denial {
	var d *gate.Denied
	switch t.Kind {
	case dispatch.Guest, dispatch.Native:
		d = r.gate.Tool(c.Name, string(c.Input))
	case dispatch.Shell:
		if r.procs == nil {
			return nil
		}
		call, err := r.procs.runner.Resolve(ctx, c.Name, string(c.Input))
		if err != nil || call.Protected == nil {
			return nil
		}
		d = r.gate.Command(call.Binary, call.Protected.Path, call.Protected.Entry, call.Protected.Via)
	}
	if d == nil {
		return nil
	}
	return &agent.Denial{Text: d.Text, Line: func(turn int64) trace.Payload {
		line := d.Line
		line.Turn = turn
		if c.ID != "" {
			line.ToolCallID = &c.ID
		}
		return line
	}}
}
