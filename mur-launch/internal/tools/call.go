package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/gate"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
)

// Recorder takes the lines of the session's trace.
type Recorder interface {
	Record(trace.Payload) error
}

// Desk answers the calls a script capsule makes. It is safe for concurrent use.
type Desk struct {
	doc     *session.Document
	inv     Inventory
	guests  *Guests
	folders Folders
	environ []string
	trace   Recorder
	fail    func(error) // ends the session: its trace can not be written
	clients Clients
	gateway func(*session.Artifact, wasmhost.HTTP) wasmhost.HTTP
	secrets *mask.Set
	where   func() (turn *int64, task *string)
	procs   Processes
	gate    *gate.Gate
}

// Options are what a Desk works with. Environ is the host's environment, of
// which guests get what the document allows. Fail is told when a line of the
// trace can not be written, which a session does not survive (TRC-82).
type Options struct {
	Document *session.Document
	Guests   *Guests
	Folders  Folders
	Environ  []string
	Trace    Recorder
	Fail     func(error)
	// Gateway puts an artifact's gateway before its ordinary client; nil has none.
	Gateway func(*session.Artifact, wasmhost.HTTP) wasmhost.HTTP
	// Secrets are masked in what guests log; nil masks nothing.
	Secrets *mask.Set
	// Where says in which turn and task a call is made; nil is neither.
	Where func() (turn *int64, task *string)
	// Processes runs native tools and commands; nil when the session can start none.
	Processes Processes
}

// NewDesk makes a Desk. Close it when no call is under way.
func NewDesk(o Options) *Desk {
	return &Desk{
		doc: o.Document, inv: NewInventory(o.Document), guests: o.Guests, folders: o.Folders,
		environ: o.Environ, trace: o.Trace, fail: o.Fail, gateway: o.Gateway, secrets: o.Secrets, where: o.Where, procs: o.Processes,
		gate: gate.New(o.Document),
	}
}

// Close ends connections that were kept for a next call.
func (d *Desk) Close() { d.clients.Close() }

// Inventory lists what can be called.
func (d *Desk) Inventory() Inventory { return d.inv }

// Invoke answers murmur:tool-registry/invoke (TOL-26). A tool that ran and says
// that it failed is a result; an error is the runtime's own: the name is not
// declared (wasmhost.ErrDenied), or the tool could not be run to its end.
func (d *Desk) Invoke(ctx context.Context, name string, in wasmhost.ToolInput) (wasmhost.ToolResult, error) {
	begin := time.Now()
	a, err := d.inv.Resolve(name)
	if err == nil && a.Implementation == session.ImplSkill {
		return d.readSkill(a, begin)
	}
	if err == nil && in.Data != nil {
		if refused := d.gate.Tool(name, *in.Data); refused != nil {
			return wasmhost.ToolResult{}, d.deny(refused)
		}
	}
	var result wasmhost.ToolResult
	if err == nil {
		result, err = d.runTool(ctx, a, in)
	}
	line := toolLine(name, in, result, err)
	line.DurationMS = time.Since(begin).Milliseconds()
	if rerr := d.record(line); rerr != nil {
		return wasmhost.ToolResult{}, rerr
	}
	return result, err
}

// readSkill answers with a skill's text (TOL-40).
func (d *Desk) readSkill(a *session.Artifact, begin time.Time) (wasmhost.ToolResult, error) {
	text, err := d.folders.Runtime.ReadFile(session.ToolsDir+"/"+a.ToolName+"/"+session.SkillName, maxSkill)
	line := trace.SkillCall{SkillName: a.ToolName, Origin: a.Origin.Kind, Trust: trust(a.Origin), Status: "ok"}
	result := wasmhost.ToolResult{}
	if err != nil {
		line.Status = "error"
		err = fmt.Errorf("the skill %s can not be read: %w", a.ToolName, err)
	} else {
		s := string(text)
		line.OutputBytes = int64(len(s))
		result = wasmhost.ToolResult{Status: wasmhost.Passed, Data: &s}
	}
	line.DurationMS = time.Since(begin).Milliseconds()
	if rerr := d.record(line); rerr != nil {
		return wasmhost.ToolResult{}, rerr
	}
	return result, err
}

// maxSkill bounds a skill's text.
const maxSkill = 16 << 20

// trust is the class of an artifact's text by who pinned it (ART-120).
func trust(o session.Origin) string {
	if o.Kind == "operator" {
		return "trusted"
	}
	return "untrusted"
}

// runTool runs one call of a tool.
func (d *Desk) runTool(ctx context.Context, a *session.Artifact, in wasmhost.ToolInput) (wasmhost.ToolResult, error) {
	if isNative(a) && d.procs != nil {
		return d.procs.NativeTool(ctx, a.ToolName, in)
	}
	return d.Run(ctx, GuestCall{Artifact: a, Input: in})
}

// record writes a line; a line that can not be written ends the session.
func (d *Desk) record(p trace.Payload) error {
	err := d.trace.Record(p)
	if err != nil {
		d.fail(err)
	}
	return err
}

// toolLine is the tool_call of a call as it ended (TRC-34).
func toolLine(name string, in wasmhost.ToolInput, result wasmhost.ToolResult, err error) trace.ToolCall {
	input := ""
	if in.Data != nil {
		input = *in.Data
	}
	line := trace.ToolCall{ToolName: cut(name, 200), InputBytes: int64(len(input)), Status: "ok"}
	switch {
	case in.Data == nil:
		line.Input = trace.Raw("null")
	case json.Valid([]byte(input)):
		line.Input = trace.Raw(input)
	default: // not JSON: kept as the text it is
		line.Input, _ = json.Marshal(input)
	}
	text := resultText(result)
	if err != nil {
		text = err.Error()
		line.Error = text
	}
	line.Output, line.OutputBytes = &text, int64(len(text))
	if err != nil || result.Status != wasmhost.Passed {
		line.Status = "error"
	}
	line.StateEffect = metadata(result, "state_effect")
	line.ResourceID = metadata(result, "resource_id")
	return line
}

// resultText is the one text a result comes down to (TOL-42).
func resultText(r wasmhost.ToolResult) string {
	switch {
	case r.Data != nil:
		return *r.Data
	case r.Summary != nil:
		return *r.Summary
	}
	return "the tool returned no data"
}

// metadata returns the first value of a key, "" when there is none (TOL-43).
func metadata(r wasmhost.ToolResult, key string) string {
	for _, kv := range r.Metadata {
		if kv[0] == key {
			return kv[1]
		}
	}
	return ""
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}
