// Package why tells how an event came to be: the chain of events above it, and
// for a refusal which rule, hook or limit decided and where it was declared.
package why

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

// Answer is what `why` prints.
type Answer struct {
	Schema    string    `json:"schema"`
	SessionID string    `json:"session_id"`
	Event     trace.Raw `json:"event"`
	Chain     []Link    `json:"chain"`    // from session_start down to the event itself
	Decision  *Decision `json:"decision"` // nil unless the event refuses something
	Line      int64     `json:"line"`
}

// Link is one event of the chain.
type Link struct {
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	Line      int64  `json:"line"`
	Timestamp int64  `json:"timestamp"`
	Summary   string `json:"summary"`
}

// Decision is who refused what, by which rule, and what the session had been
// granted in that matter.
type Decision struct {
	By       string    `json:"by"`       // hook guard, read_only, spend ceiling, ...
	Target   string    `json:"target"`   // what was asked for
	Rule     *string   `json:"rule"`     // as declared, nil when the event names none
	Reason   string    `json:"reason"`   // the words recorded
	Declared *string   `json:"declared"` // the manifest key that decides, nil when there is none
	Granted  trace.Raw `json:"granted"`  // that key's part of the scope report, null without one
}

// Explain finds the event whose id, or end of it, is given, or the one on line
// ":n". An event of an unknown type is found by its line too.
func Explain(r *record.Record, event string) (Answer, error) {
	a := Answer{Schema: "murmur.trace-why/1", SessionID: r.ID}
	at, err := locate(r, event)
	if err != nil {
		return a, err
	}
	l := r.At(at)
	if l == nil {
		return a, noEvent(event, "the trace no longer holds it")
	}
	a.Line = r.Number(at)
	a.Event = trace.Raw(strings.Clone(string(l.Raw())))
	parents := map[string]int{}
	for i := range at + 1 {
		if x := r.At(i); x != nil {
			parents[strings.Clone(x.Get("event_id").Str())] = i
		}
	}
	seen := map[int]bool{}
	for i := at; !seen[i]; {
		seen[i] = true
		x := r.At(i)
		if x == nil {
			break
		}
		ts, _ := x.Get("timestamp").Int()
		a.Chain = append(a.Chain, Link{EventID: strings.Clone(x.Get("event_id").Str()), EventType: strings.Clone(string(x.Type())),
			Line: r.Number(i), Timestamp: ts, Summary: summary(x)})
		up, ok := parents[x.Get("parent_id").Str()]
		if !ok || x.Get("parent_id").Kind() != '"' {
			break
		}
		i = up
	}
	slices.Reverse(a.Chain)
	if l := r.At(at); l != nil {
		a.Decision = decision(l)
	}
	if d := a.Decision; d != nil {
		d.Granted = granted(r.Start(), d.Declared)
	}
	return a, nil
}

// locate returns the place of the one event that is meant.
func locate(r *record.Record, event string) (int, error) {
	line := int64(-1)
	if n, ok := strings.CutPrefix(event, ":"); ok {
		var err error
		if line, err = strconv.ParseInt(n, 10, 64); err != nil {
			return 0, diag.Usagef("%s is no line number", diag.Quote(event))
		}
	} else if len(event) < 4 {
		return 0, noEvent(event, "an event is named by at least the last 4 characters of its id")
	}
	found := -1
	for i := range r.Len() {
		if line >= 0 {
			if r.Number(i) == line {
				return i, nil
			}
			continue
		}
		l := r.At(i)
		if l == nil {
			break
		}
		id := l.Get("event_id").Str()
		if len(id) < len(event) || !strings.EqualFold(id[len(id)-len(event):], event) {
			continue
		}
		if found >= 0 {
			return 0, noEvent(event, "several events end so")
		}
		found = i
	}
	if found < 0 {
		return 0, noEvent(event, "the session has no such event")
	}
	return found, nil
}

func noEvent(event, reason string) error {
	return diag.Errorf("E-TRC-002", "no event at %s: %s", diag.Quote(event), reason).
		Hint("mur-trace filter -r '[.event_id, .event_type] | @tsv' lists them; :n names the one on line n").
		Name("selector", event).Name("reason", reason)
}

// decision reads a refusal, nil for any other event.
func decision(l *trace.Line) *Decision {
	s := func(name string) string { return strings.Clone(l.Get(name).Str()) }
	ptr := func(name string) *string {
		if v := s(name); v != "" {
			return &v
		}
		return nil
	}
	key := func(k string) *string { return &k }
	switch l.Type() {
	case "call_denied":
		return &Decision{By: "hook " + s("hook_name") + " (" + s("event") + ")", Target: s("target"), Reason: s("reason"), Declared: key("hooks")}
	case "protected_path_denied":
		return &Decision{By: "protected path, " + s("call") + " call marked as a write by " + s("signal"), Target: s("target") + " on " + s("path"),
			Rule: ptr("rule"), Reason: s("reason"), Declared: key("capabilities.filesystem.read_only")}
	case "tool_input_refused":
		return &Decision{By: "the tool's input schema", Target: s("tool_name"), Rule: new("required: " + strings.Clone(string(l.Get("missing")))), Reason: s("reason")}
	case "spend_ceiling_reached":
		n := func(name string) string { v, _ := l.Get(name).Int(); return render.Count(v) }
		return &Decision{By: "spend ceiling (" + s("limit") + ")", Target: "a driver call of " + n("requested") + " tokens",
			Rule: new(n("ceiling") + " tokens"), Reason: n("used") + " tokens had been used", Declared: spendKey(s("limit"))}
	case "call_deadline":
		n, _ := l.Get("seconds").Int()
		return &Decision{By: "wall-clock bound", Target: s("component") + " (" + s("role") + ")", Rule: new(strconv.FormatInt(n, 10) + " s"), Reason: "the call outran its bound"}
	case "control_refused":
		return &Decision{By: "control surface", Target: strings.TrimSpace(s("kind") + " " + s("name")), Reason: s("reason"), Declared: key("control")}
	case "task_rejected":
		return &Decision{By: "the session", Target: s("task_id"), Rule: ptr("cause"), Reason: s("reason")}
	case "delegation":
		if o := s("outcome"); o == "refused" {
			return &Decision{By: "delegation", Target: s("capsule") + " " + s("version"), Reason: s("reason"), Declared: key("capabilities.spawn.allow")}
		}
	case "resource_list", "resource_read", "peer_handle_mint", "peer_handle_redeem", "peer_file_fetch":
		if o := s("outcome"); o != "ok" {
			k := map[trace.Type]string{"peer_file_fetch": "capabilities.peer_fetch.allow", "peer_handle_mint": "exports.peer_files", "peer_handle_redeem": "exports.peer_files"}[l.Type()]
			if k == "" {
				k = "exports.files"
			}
			return &Decision{By: strings.ReplaceAll(string(l.Type()), "_", " "), Target: s("path") + s("peer"), Rule: &o, Reason: s("reason"), Declared: &k}
		}
	case "context_seed":
		if s("outcome") == "rejected" {
			return &Decision{By: "context budget", Target: "the seed of hook " + s("hook_name"), Rule: ptr("reason"), Reason: s("reason")}
		}
	}
	return nil
}

// spendKey is where a spend ceiling is declared; a tree's is its first
// session's.
func spendKey(limit string) *string {
	switch limit {
	case "machine":
		return new("spend.machine_tokens_per_day in config.yaml")
	case "session", "tree":
		return new("inference.max_session_tokens")
	}
	return nil
}

// reportKeys are the keys of the scope report that answer for manifest keys.
var reportKeys = map[string]string{
	"capabilities.filesystem.read_only": "read_only_paths", "capabilities.spawn.allow": "spawn_allow", "capabilities.peer_fetch.allow": "peer_fetch_allow",
	"exports.peer_files": "peer_files", "exports.files": "exports_files",
}

func granted(s *trace.SessionStart, declared *string) trace.Raw {
	if s == nil || declared == nil {
		return nil
	}
	switch *declared {
	case "inference.max_session_tokens":
		text, _ := json.Marshal(s.MaxSessionTokens)
		return text
	case "control":
		text, _ := json.Marshal(s.Control)
		return text
	}
	var report map[string]trace.Raw
	if json.Unmarshal(s.EffectiveGrants, &report) != nil {
		return nil
	}
	return report[reportKeys[*declared]]
}

// mainFields are what a summary says of an event, in this order.
var mainFields = strings.Fields("capsule_name capsule_version task_id source origin turn decision tool_name skill_name binary command " +
	"target path rule hook_name outcome cause status exit_code exit_status reason")

func summary(l *trace.Line) string {
	var parts []string
	for _, f := range mainFields {
		v := l.Get(f)
		if k := v.Kind(); k == 0 || k == 'n' {
			continue
		}
		s := v.Str()
		if v.Kind() != '"' {
			s = string(v)
		}
		parts = append(parts, f+"="+render.Cut(s, 100))
	}
	return strings.Join(parts, " ")
}

// JSON prints the answer for programs.
func JSON(w io.Writer, a Answer) error {
	j := render.NewJSON(w)
	j.Value(a)
	return j.Close()
}

// Text prints the answer for people.
func Text(t *render.Text, a Answer) error {
	t.Section("How it came")
	for depth, l := range a.Chain {
		t.Printf("  %s%s %s %s\n", strings.Repeat("  ", depth), t.Dim(render.Clock(l.Timestamp)), render.Clean(l.EventType), render.Clean(l.Summary))
	}
	if d := a.Decision; d != nil {
		t.Section("What decided")
		t.Field("refused by", render.Clean(d.By))
		t.Field("asked for", render.Clean(d.Target))
		if d.Rule != nil {
			t.Field("rule", render.Clean(*d.Rule))
		}
		t.Field("reason", render.Clean(d.Reason))
		if d.Declared != nil {
			t.Field("declared in", render.Clean(*d.Declared))
		}
		if d.Granted != nil {
			t.Field("which said", render.Clean(string(d.Granted)))
		}
	}
	return t.Close()
}
