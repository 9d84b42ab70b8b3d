package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/toolschema"
)

// Call is a tool call as the model made it. Input is its exact JSON text.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// Kind says who answers a call.
type Kind int

// The kinds of targets, in the order of TOL-25.
const (
	Nobody Kind = iota // Target.Refusal says why
	Native
	Shell
	Skill
	Guest
)

// Target is what a call stands for, resolved once before it is gated (TOL-24).
type Target struct {
	Kind     Kind
	Artifact *session.Artifact // nil for a shell program and for nobody
	Refusal  string            // the runtime's own words when nobody answers
	// Missing are the required names the input lacks, in the order of the schema.
	Missing []string
	// Unread says why the schema's list of required names can not be read, which
	// leaves the call unchecked.
	Unread error
}

// Resolve finds who answers a call, and starts, decides and changes nothing
// (TOL-25, TOL-122).
func (d *Desk) Resolve(c Call) Target {
	t := d.whose(c.Name)
	if t.Kind == Nobody || t.Kind == Skill {
		return t
	}
	schema, ok := d.inventory.schemas[c.Name]
	if !ok {
		return t
	}
	required, err := toolschema.Required(schema)
	if err != nil {
		t.Unread = err
		return t
	}
	t.Missing = toolschema.Missing(required, string(c.Input))
	if !isObject(c.Input) {
		t.Refusal = "its input is not a JSON object"
	}
	return t
}

func isObject(input json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(input, &m) == nil && m != nil
}

func (d *Desk) whose(name string) Target {
	a := artifactOf(d.doc, name)
	allowed := slices.Contains(d.doc.AllowlistedTools, name)
	shell := slices.Contains(d.doc.Policy.ShellAllow, name)
	switch {
	case slices.Contains(d.doc.ReservedToolNames, name):
		return Target{Refusal: fmt.Sprintf("the tool %s is not available: %s", name, reservedWhy(name))}
	case a != nil && a.Implementation == session.ImplNative && allowed:
		return Target{Kind: Native, Artifact: a}
	case shell:
		return Target{Kind: Shell}
	case a != nil && a.Role == "skill":
		return Target{Kind: Skill, Artifact: a}
	case a != nil && allowed && (a.Implementation == session.ImplComponent || a.Implementation == session.ImplCore):
		return Target{Kind: Guest, Artifact: a}
	case a != nil && a.Implementation == session.ImplProvider:
		return Target{Refusal: fmt.Sprintf("%s is run by the model's provider and can not be called here", name)}
	}
	have := "no tool is declared"
	if len(d.inventory.Names) > 0 {
		have = "available are " + strings.Join(d.inventory.Names, ", ")
	}
	return Target{Refusal: fmt.Sprintf("there is no tool %s: %s", quoted(name), have)}
}

// reservedWhy names the declaration without which a runtime-provided tool is not
// there (TOL-55).
func reservedWhy(name string) string {
	switch name {
	case "submit-plan":
		return "the capsule does not declare capabilities.plan.submit"
	case "pull-artifact", "remove-artifact":
		return "the capsule does not declare capabilities.install"
	case "switch-driver":
		return "the capsule does not list inference.driver in control.agent_settings"
	case "share-file":
		return "the capsule does not declare exports.peer_files"
	case "fetch-peer-file":
		return "the capsule does not declare capabilities.peer_fetch"
	case "delegate-task":
		return "the capsule does not declare capabilities.spawn"
	case "call-member", "end-without-answer":
		return "the capsule is not a member of a formation that lets it call another"
	}
	return "this session does not provide it"
}

// quoted keeps a name the model made up from flooding an answer.
func quoted(name string) string {
	if len(name) > 200 {
		return fmt.Sprintf("%.200q... (%d bytes)", name, len(name))
	}
	return fmt.Sprintf("%q", name)
}
