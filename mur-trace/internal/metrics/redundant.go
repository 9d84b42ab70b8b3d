package metrics

import (
	"strings"

	"github.com/mur-capsules/mur/lib/trace"
)

// Redundant is a call that only observed a resource which had been observed
// before, with nothing since that changed it or may have (TRC-183, TRC-191).
type Redundant struct {
	EventID      string  `json:"event_id"`
	Kind         string  `json:"kind"` // tool or plan_step
	Turn         *int64  `json:"turn"`
	StepID       *string `json:"step_id"`
	ToolName     *string `json:"tool_name"`
	ResourceID   string  `json:"resource_id"`
	IdentityFrom string  `json:"identity_from"` // declared or input
	PriorEventID string  `json:"prior_event_id"`
	PriorKind    string  `json:"prior_kind"`
	PriorTurn    *int64  `json:"prior_turn"`
	PriorStepID  *string `json:"prior_step_id"`
}

type callKind byte

const (
	toolCall callKind = iota
	planStep
)

func (k callKind) String() string {
	if k == planStep {
		return "plan_step"
	}
	return "tool"
}

// observed is the call that last observed a resource.
type observed struct {
	eventID, stepID string
	turn            int64
	kind            callKind
}

// history holds what was observed and not changed since, by identity; one for a
// whole session, across tasks and compactions (TRC-190).
type history struct {
	seen  map[string]*observed
	input trace.Line
}

// identityKeys are the keys of an input that name what a call addresses, in the
// order they are tried (TRC-185). No tool is recognised by name (TRC-189).
var identityKeys = []string{"path", "file", "file_path", "filepath", "filename"}

// identity returns what a call addressed, "" for nothing known.
func (h *history) identity(l *trace.Line) (id, from string) {
	if id := l.Get("resource_id").Str(); id != "" {
		return id, "declared"
	}
	in := l.Get("input")
	if in.Kind() != '{' || !h.input.Parse(in) {
		return "", ""
	}
	for _, want := range identityKeys {
		for key, v := range h.input.All() {
			if len(key) == len(want) && strings.EqualFold(key, want) && v.Kind() == '"' {
				return v.Str(), "input"
			}
		}
	}
	return "", ""
}

// observe applies one call to the history (TRC-184 to TRC-189).
func (c *Collector) observe(l *trace.Line, kind callKind) {
	h := &c.history
	id, from := h.identity(l)
	if id == "" {
		return
	}
	if l.Get("state_effect").Str() != "read" {
		delete(h.seen, id)
		return
	}
	prior, again := h.seen[id]
	now := observed{kind: kind, eventID: strings.Clone(l.Get("event_id").Str())}
	if kind == planStep {
		now.stepID = strings.Clone(l.Get("step_id").Str())
	} else {
		now.turn = intOf(l, "turn")
	}
	if !again {
		if h.seen == nil {
			h.seen = map[string]*observed{}
		}
		h.seen[strings.Clone(id)] = &now
		return
	}
	c.m.RedundantCalls++
	if c.Redundant != nil {
		c.Redundant(redundant(l, now, *prior, strings.Clone(id), from))
	}
	*prior = now
}

func redundant(l *trace.Line, now, prior observed, id, from string) Redundant {
	r := Redundant{EventID: now.eventID, Kind: now.kind.String(), ResourceID: id, IdentityFrom: from,
		PriorEventID: prior.eventID, PriorKind: prior.kind.String()}
	r.Turn, r.StepID = now.where()
	r.PriorTurn, r.PriorStepID = prior.where()
	if now.kind == toolCall {
		r.ToolName = new(strings.Clone(l.Get("tool_name").Str()))
	}
	return r
}

func (o observed) where() (turn *int64, step *string) {
	if o.kind == planStep {
		return nil, &o.stepID
	}
	return &o.turn, nil
}
