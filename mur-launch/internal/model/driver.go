package model

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/agent"
	"github.com/mur-capsules/mur/mur-launch/internal/tools"
)

// Driver asks a model through the guest of a driver artifact, a new instance for
// each call. It is for one goroutine.
type Driver struct {
	desk    *tools.Desk
	art     *session.Artifact
	grant   tools.Grant
	gateway *Gateway
}

// NewDriver makes a Driver. Gateway is the inference gateway.
func NewDriver(d *session.Document, a *session.Artifact, desk *tools.Desk, environ []string, g *Gateway) (*Driver, error) {
	grant, err := tools.ToolGrant(d, a, environ)
	if err != nil {
		return nil, err
	}
	return &Driver{desk: desk, art: a, grant: grant, gateway: g}, nil
}

// Ask makes one call. The gateway sends for it alone, and only while it runs
// (AGT-136). An error is an *agent.CallError.
func (d *Driver) Ask(ctx context.Context, request string, chunk func(wasmhost.ChunkKind, string)) (agent.Reply, error) {
	var running atomic.Bool
	var status atomic.Int64
	running.Store(true)
	defer running.Store(false)
	base := d.desk.Plain(d.art, d.grant)
	result, err := d.desk.Run(ctx, tools.GuestCall{
		Artifact: d.art, Input: wasmhost.ToolInput{Data: &request},
		HTTP:  d.gateway.Before(base, running.Load, func(s int) { status.Store(int64(s)) }),
		Chunk: d.masked(chunk),
	})
	seen := int(status.Load())
	if r := d.gateway.rejection(); r != nil {
		return agent.Reply{}, &agent.CallError{
			Code: "credential_rejected", Reason: string(r.Code) + ": " + r.Message, Status: seen, Coded: r,
		}
	}
	if err != nil {
		return agent.Reply{}, &agent.CallError{Code: "driver_failed", Reason: err.Error(), Status: seen}
	}
	body := result.Data
	if body == nil {
		body = result.Summary
	}
	switch {
	case result.Status != wasmhost.Passed:
		reason := fmt.Sprintf("the driver ended with status %s and said nothing", result.Status)
		if body != nil && *body != "" {
			reason = *body
		}
		return agent.Reply{}, &agent.CallError{Code: "driver_error", Reason: reason, Status: seen}
	case body == nil || *body == "":
		return agent.Reply{}, &agent.CallError{Code: "malformed_response", Reason: "the driver passed and answered nothing", Status: seen}
	}
	return agent.Reply{Body: *body, Continuation: continuation(result), Status: seen}, nil
}

// masked takes secrets out of a stream, each of its kinds by itself.
func (d *Driver) masked(chunk func(wasmhost.ChunkKind, string)) func(wasmhost.ChunkKind, string) {
	return func(kind wasmhost.ChunkKind, text string) { chunk(kind, d.gateway.secrets.Text(text)) }
}

// rejection is the pending rejection of the gateway's credential.
func (g *Gateway) rejection() *diag.Error {
	if g.credential == nil {
		return nil
	}
	return g.credential.Rejection()
}

// continuation is the first continuation_id of a result (AGT-57).
func continuation(r wasmhost.ToolResult) string {
	for _, kv := range r.Metadata {
		if kv[0] == "continuation_id" {
			return kv[1]
		}
	}
	return ""
}
