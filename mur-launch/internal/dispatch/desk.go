package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Guests runs wasm tools, each call in an instance of its own and under its
// grant. The error is the runtime's own: the tool could not be run to its end.
type Guests interface {
	RunTool(ctx context.Context, a *session.Artifact, in wasmhost.ToolInput) (wasmhost.ToolResult, error)
}

// Processes runs what is no guest: commands of capabilities.shell.allow and
// native tools, confined, in mur-shell (docs/spec/shell.md).
type Processes interface {
	Command(ctx context.Context, tool, data string) (Done, error)
	Native(ctx context.Context, name, data string) (Done, error)
}

// Done is a process that ran, or was refused before it did. An error beside it
// in Processes means that no answer came.
type Done struct {
	Result wasmhost.ToolResult
	// Refusal is the runtime's own words when nothing ran.
	Refusal string
	// Line is the shell line of a command that ran, nil for anything else.
	Line *trace.Shell
	// Note goes behind the fence (TOL-54).
	Note string
	// Fatal ends the session once the call is recorded (AGT-75).
	Fatal error
}

// Options are what a Desk works with.
type Options struct {
	Document  *session.Document
	Inventory Inventory
	Guests    Guests
	Processes Processes    // nil when the session can reach none
	Runtime   *workfs.Root // where skills' texts lie
	// Mask takes the values of secrets out of a text before anybody reads it.
	Mask func(string) string
}

// Desk answers the calls of an agent's loop. It is for one goroutine.
type Desk struct {
	Options
	doc       *session.Document
	inventory Inventory
}

// New makes a Desk.
func New(o Options) *Desk { return &Desk{Options: o, doc: o.Document, inventory: o.Inventory} }

// Answer is what a call came to. Text is what the model reads, fenced under
// Fence when that is not empty.
type Answer struct {
	Text    string
	IsError bool
	Fence   string
	// Own is the runtime's own text when it refused or failed to run the call,
	// else empty (TOL-45).
	Own                     string
	StateEffect, ResourceID string
	Shell                   *trace.Shell
	Skill                   *trace.SkillCall // what a skill_call says of the skill
	Fatal                   error
}

// Refused is the answer to a call the runtime does not run, in its own words.
func Refused(text string) Answer { return Answer{Text: text, IsError: true, Own: text} }

// Dispatch answers a call. What went wrong is in the answer.
func (d *Desk) Dispatch(ctx context.Context, t Target, c Call) Answer {
	input := string(c.Input)
	switch t.Kind {
	case Skill:
		return d.skill(t.Artifact)
	case Guest:
		result, err := d.Guests.RunTool(ctx, t.Artifact, wasmhost.ToolInput{Data: &input})
		if err != nil {
			return d.failed(c.Name, err)
		}
		return d.result(c.Name, result, "")
	case Shell, Native:
		return d.process(ctx, t, c.Name, input)
	}
	return Refused(t.Refusal)
}

func (d *Desk) process(ctx context.Context, t Target, name, input string) Answer {
	if d.Processes == nil {
		return Refused(fmt.Sprintf("%s can not be run: this session starts no process", name))
	}
	run := d.Processes.Command
	if t.Kind == Native {
		run = d.Processes.Native
	}
	done, err := run(ctx, name, input)
	if err != nil {
		return d.failed(name, err)
	}
	answer := Refused(d.Mask(done.Refusal))
	if done.Refusal == "" {
		answer = d.result(name, done.Result, done.Note)
	}
	answer.Shell, answer.Fatal = done.Line, done.Fatal
	return answer
}

// result is the answer of a tool that ran (TOL-42, TOL-43).
func (d *Desk) result(name string, r wasmhost.ToolResult, note string) Answer {
	text := "the tool returned no data"
	switch {
	case r.Data != nil:
		text = *r.Data
	case r.Summary != nil:
		text = *r.Summary
	}
	a := Answer{
		Fence: "tool:" + name, IsError: r.Status != wasmhost.Passed,
		StateEffect: metadata(r, "state_effect"), ResourceID: d.Mask(metadata(r, "resource_id")),
	}
	a.Text = Fence(a.Fence, d.Mask(strings.ToValidUTF8(text, "\ufffd")))
	if a.StateEffect != "read" && a.StateEffect != "mutate" {
		a.StateEffect = ""
	}
	if note != "" {
		a.Text += "\n" + note
	}
	return a
}

// failed is the answer of a tool that could not be run to its end. What the
// guest itself wrote is data and stands in a fence; the rest is the runtime's.
func (d *Desk) failed(name string, err error) Answer {
	var f *wasmhost.Fault
	own, stderr := err.Error(), ""
	if errors.As(err, &f) && f.Stderr != "" {
		stderr = strings.ToValidUTF8(d.Mask(f.Stderr), "\ufffd")
		own = strings.ReplaceAll(own, "\n"+f.Stderr, "")
	}
	own = strings.ToValidUTF8(d.Mask(own), "\ufffd")
	a := Answer{Text: own, IsError: true, Own: own}
	if stderr != "" {
		a.Text += "\n" + Fence("tool:"+name, stderr)
	}
	return a
}

// skill is a skill's text (TOL-40, TOL-41).
func (d *Desk) skill(s *session.Artifact) Answer {
	line := &trace.SkillCall{SkillName: s.ToolName, Origin: s.Origin.Kind, Trust: "trusted", Status: "ok"}
	if s.Origin.Kind != "operator" {
		line.Trust = "untrusted"
	}
	text, err := d.Runtime.ReadFile(session.ToolsDir+"/"+s.ToolName+"/"+session.SkillName, maxSkillText)
	if err != nil {
		line.Status = "error"
		a := Refused(fmt.Sprintf("the skill %s can not be read: %v", s.ToolName, err))
		a.Skill = line
		return a
	}
	a := Answer{Text: d.Mask(strings.ToValidUTF8(string(text), "\ufffd")), Skill: line}
	if line.Trust == "untrusted" {
		a.Fence = "skill:" + s.ToolName
		a.Text = Fence(a.Fence, a.Text)
	}
	return a
}

// metadata returns the first value of a key, "" when there is none.
func metadata(r wasmhost.ToolResult, key string) string {
	for _, kv := range r.Metadata {
		if kv[0] == key {
			return kv[1]
		}
	}
	return ""
}
