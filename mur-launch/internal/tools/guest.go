package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// GuestCall is one call of an artifact's guest. What it may reach is the
// artifact's grant, whoever calls.
type GuestCall struct {
	Artifact *session.Artifact
	Input    wasmhost.ToolInput
	// HTTP takes the place of the artifact's client; nil keeps that.
	HTTP wasmhost.HTTP
	// Chunk takes what the guest streams; nil drops it.
	Chunk func(wasmhost.ChunkKind, string)
}

// RunTool runs one call of a tool and records nothing of it but a deadline that
// passed.
func (d *Desk) RunTool(ctx context.Context, a *session.Artifact, in wasmhost.ToolInput) (wasmhost.ToolResult, error) {
	return d.Run(ctx, GuestCall{Artifact: a, Input: in})
}

// Run runs one call in an instance of its own. An error is the runtime's own:
// the guest could not be run to its end.
func (d *Desk) Run(ctx context.Context, c GuestCall) (wasmhost.ToolResult, error) {
	a := c.Artifact
	who := a.Name + "@" + a.Version
	grant, err := ToolGrant(d.doc, a, d.environ)
	if err != nil {
		return wasmhost.ToolResult{}, fmt.Errorf("%s: %w", who, err)
	}
	guest, err := d.guests.Artifact(ctx, a)
	if err != nil {
		return wasmhost.ToolResult{}, refusal{Explain(who, kindOf(a), err, grant.Limits)}
	}
	dirs, err := d.folders.Open(grant)
	if err != nil {
		return wasmhost.ToolResult{}, fmt.Errorf("%s: its folder can not be had: %w", who, err)
	}
	defer CloseDirs(dirs)
	log := newGuestLog(d.folders.Records, a.ToolName)
	defer log.Close()
	masked := d.secrets.Writer(log)
	defer masked.Close()
	http := c.HTTP
	if http == nil {
		http = d.HTTP(a, grant)
	}
	result, err := guest.RunTool(ctx, &wasmhost.Instance{
		Name: a.ToolName, Env: d.masked(grant.Env), Dirs: dirs, HTTP: http,
		Stdout: masked, Stderr: masked, Limits: grant.Limits, Imports: wasmhost.Imports{EmitChunk: c.Chunk},
	}, c.Input)
	if err == nil {
		return result, nil
	}
	var f *wasmhost.Fault
	if errors.As(err, &f) && f.Cause == wasmhost.DeadlinePassed {
		line := trace.CallDeadline{Component: a.Name, Role: a.Role, Seconds: int64(grant.Limits.Deadline / time.Second)}
		if d.where != nil {
			line.Turn, line.TaskID = d.where()
		}
		if rerr := d.record(line); rerr != nil {
			return wasmhost.ToolResult{}, rerr
		}
	}
	return wasmhost.ToolResult{}, refusal{Explain(who, kindOf(a), err, grant.Limits)}
}

// masked is an environment without the values of secrets, whatever variable or
// configuration they came in by (AGT-3).
func (d *Desk) masked(env []string) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		out[i] = d.secrets.Text(kv)
	}
	return out
}

// HTTP is the client of an artifact: its rules' and, when it has one, its
// gateway's.
func (d *Desk) HTTP(a *session.Artifact, g Grant) wasmhost.HTTP {
	http := d.Plain(a, g)
	if d.gateway != nil && a.Gateway != nil {
		return d.gateway(a, http)
	}
	return http
}

// Plain is the client of an artifact without its gateway; nil denies everything.
func (d *Desk) Plain(a *session.Artifact, g Grant) wasmhost.HTTP {
	return d.clients.Of(a.Name, g.Network)
}

// kindOf is the part an artifact's guest plays.
func kindOf(a *session.Artifact) wasmhost.Kind {
	if a.Role == "driver" {
		return wasmhost.Driver
	}
	return wasmhost.Tool
}
