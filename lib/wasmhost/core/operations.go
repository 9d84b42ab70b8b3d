package core

import (
	"context"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// operation is one `op` of the function `call`. Its input is read into a new
// value, so that one call's input never reaches another.
type operation struct {
	kind wasmhost.Kind
	run  func(ctx context.Context, im wasmhost.Imports, in opInput) (any, error)
}

// opInput has the members of every operation's input; each uses its own.
type opInput struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Query   string           `json:"query"`
	PeerURL string           `json:"peer_url"`
	Message wasmhost.Message `json:"message"`
	Binary  string           `json:"binary"`
	Args    []string         `json:"args"`
	Env     [][2]string      `json:"env"`
}

// operations are those of the table in WIT section 5. One with a nil run is
// known but has nothing behind it in this context, whoever asks.
var operations = map[string]operation{
	"artifacts.list": {wasmhost.Capsule, func(ctx context.Context, im wasmhost.Imports, _ opInput) (any, error) {
		return notNil(im.Artifacts.List(ctx)), nil
	}},
	"artifacts.search": {wasmhost.Capsule, func(ctx context.Context, im wasmhost.Imports, in opInput) (any, error) {
		list, err := im.Artifacts.Search(ctx, in.Query)
		return notNil(list), err
	}},
	"artifacts.describe": {wasmhost.Capsule, func(ctx context.Context, im wasmhost.Imports, in opInput) (any, error) {
		info, err := im.Artifacts.Describe(ctx, in.Name)
		info.Tags = notNil(info.Tags)
		return info, err
	}},
	"artifacts.pull": {wasmhost.Capsule, func(ctx context.Context, im wasmhost.Imports, in opInput) (any, error) {
		return im.Artifacts.Pull(ctx, in.Name, in.Version)
	}},
	"artifacts.remove": {wasmhost.Capsule, func(ctx context.Context, im wasmhost.Imports, in opInput) (any, error) {
		return im.Artifacts.Remove(ctx, in.Name)
	}},
	"artifacts.diagnostics": {wasmhost.Capsule, func(ctx context.Context, im wasmhost.Imports, _ opInput) (any, error) {
		state, err := im.Artifacts.Diagnostics(ctx)
		state.Installed = notNil(state.Installed)
		return state, err
	}},
	"message.send": {wasmhost.Capsule, func(ctx context.Context, im wasmhost.Imports, in opInput) (any, error) {
		return im.Send(ctx, in.PeerURL, in.Message)
	}},
	"shell.run": {wasmhost.Capsule, func(ctx context.Context, im wasmhost.Imports, in opInput) (any, error) {
		return im.Shell(ctx, in.Binary, in.Args, in.Env)
	}},
	"run-inference":              {kind: wasmhost.Hook},
	"count-tokens":               {kind: wasmhost.Hook},
	"task-io.input-len":          {kind: wasmhost.Hook},
	"task-io.read-input":         {kind: wasmhost.Hook},
	"task-io.output-len":         {kind: wasmhost.Hook},
	"task-io.read-output":        {kind: wasmhost.Hook},
	"conversation.read-messages": {kind: wasmhost.Hook},
}

func callOperation(c *call, m memory, a args) int32 {
	name, ok := text(m, a.u32(0), a.u32(1))
	if !ok {
		return c.fail(codeInvalid, "an operation is UTF-8 text inside memory")
	}
	op, known := operations[name]
	if !known {
		return c.fail(codeInvalid, "operation %q is unknown", name)
	}
	missing := c.in.Imports.Artifacts == nil
	switch name {
	case "message.send":
		missing = c.in.Imports.Send == nil
	case "shell.run":
		missing = c.in.Imports.Shell == nil
	}
	if c.kind != op.kind || op.run == nil || missing {
		return c.fail(codeUnavailable, "operation %s is not available to this %s here", name, c.kind)
	}
	var in opInput
	if err := object(m, a.u32(2), a.u32(3), &in); err != nil {
		return c.fail(codeInvalid, "%v", err)
	}
	out, err := op.run(c.ctx, c.in.Imports, in)
	if err != nil {
		return c.failWith(err)
	}
	return c.fill(out)
}

// notNil makes a list that JSON writes as an array (WIT-57).
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
