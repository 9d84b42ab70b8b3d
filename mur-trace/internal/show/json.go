// Package show prints one session: for programs as one JSON document of fixed
// keys (TRC-153, TRC-154), for people as sections (TRC-146).
package show

import (
	"io"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

// session is the head of `show --json`. Every key is present.
type session struct {
	SessionID           string        `json:"session_id"`
	CapsuleName         string        `json:"capsule_name"`
	CapsuleVersion      string        `json:"capsule_version"`
	Bundle              *trace.Bundle `json:"bundle"` // null when no bundle was staged
	Model               *string       `json:"model"`
	Kind                string        `json:"kind"`
	ExitStatus          string        `json:"exit_status"`
	Complete            bool          `json:"complete"`
	StartedAtMS         int64         `json:"started_at_ms"`
	DurationMS          int64         `json:"duration_ms"`
	Capabilities        []string      `json:"capabilities"`
	ToolsDeclared       []string      `json:"tools_declared"`
	ContainmentDeclared string        `json:"containment_declared"`
	ContainmentAchieved string        `json:"containment_achieved"`
	WorkdirExec         bool          `json:"workdir_exec"`
	UsernsGrant         *string       `json:"userns_grant"`
	SystemPromptSource  string        `json:"system_prompt_source"`
	SystemPromptSHA256  *string       `json:"system_prompt_sha256"`
	Capture             string        `json:"capture"`
	ContextID           *string       `json:"context_id"`
	ResumedFrom         *string       `json:"resumed_from"`
	SpawnedBy           *string       `json:"spawned_by"`
	DelegationID        *string       `json:"delegation_id"`
	RecordsDir          *string       `json:"records_dir"`
}

// Session is what `show --json` and `diff --json` say of the session itself.
func Session(r *record.Record) any { return sessionOf(r) }

func sessionOf(r *record.Record) session {
	out := session{SessionID: r.ID, Kind: "agent", ExitStatus: r.Metrics.ExitStatus, Complete: r.Complete, StartedAtMS: r.StartedAt,
		DurationMS: r.Metrics.DurationMS, Capabilities: []string{}, ToolsDeclared: []string{}, Capture: string(trace.Meta),
		RecordsDir: orNull(r.Trace.RecordsDir)}
	s := r.Start()
	if s == nil {
		return out
	}
	out.CapsuleName, out.CapsuleVersion, out.Model = s.CapsuleName, s.CapsuleVersion, s.Model
	if s.Kind != "" {
		out.Kind = s.Kind
	}
	out.Bundle = s.Bundle
	out.Capabilities = append(out.Capabilities, s.Capabilities...)
	out.ToolsDeclared = append(out.ToolsDeclared, s.ToolsDeclared...)
	out.ContainmentDeclared, out.ContainmentAchieved = s.ContainmentDeclared, s.ContainmentAchieved
	out.WorkdirExec, out.UsernsGrant = s.WorkdirExec, s.UsernsGrant
	out.SystemPromptSource, out.SystemPromptSHA256 = s.SystemPromptSource, s.SystemPromptSHA256
	out.Capture = string(s.Capture)
	out.ContextID, out.ResumedFrom = s.ContextID, s.ResumedFrom
	out.SpawnedBy, out.DelegationID = orNull(s.SpawnedBy), orNull(s.DelegationID)
	return out
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// A column is one key of a row that stands in the trace as it is printed, and
// what is printed for an event without it.
type column struct{ key, absent string }

// columns reads names; one that ends in [] is a list.
func columns(names string) []column {
	var out []column
	for _, n := range strings.Fields(names) {
		if key, list := strings.CutSuffix(n, "[]"); list {
			out = append(out, column{key, "[]"})
		} else {
			out = append(out, column{n, "null"})
		}
	}
	return out
}

var (
	turnColumns = columns("event_id task_id turn decision stop_reason tool_name input_tokens output_tokens " +
		"input_tokens_actual output_tokens_actual origin system_sha tools_sha response_sha message_shas[]")
	callColumns = columns("event_id task_id turn tool_name status duration_ms input_bytes output_bytes state_effect resource_id input error")
)

// sections are the arrays of whole events, by key, in the order printed
// (TRC-154).
var sections = []struct {
	key   string
	types []trace.Type
}{
	{"skill_calls", []trace.Type{"skill_call"}},
	{"compactions", []trace.Type{"compaction", "compaction_declined"}},
	{"failures", []trace.Type{"task_failed"}},
	{"canceled", []trace.Type{"task_canceled"}},
	{"rejected", []trace.Type{"task_rejected"}},
	{"reopens", []trace.Type{"task_reopened", "task_continued"}},
	{"denied_calls", []trace.Type{"call_denied", "protected_path_denied", "tool_input_refused", "spend_ceiling_reached", "call_deadline"}},
	{"control", []trace.Type{"control_change", "control_refused", "control_applied", "tools_refreshed"}},
	{"pulled", []trace.Type{"artifact_pulled"}},
	{"context_seeds", []trace.Type{"context_seed"}},
	{"plans", []trace.Type{"plan_start", "plan_step_start", "plan_step", "plan_end"}},
	{"delegations", []trace.Type{"delegation_start", "delegation", "spawner_ended", "formation_ended", "member_call_busy", "member_call_start", "member_call"}},
	{"resource", []trace.Type{"resource_list", "resource_read"}},
	{"peer", []trace.Type{"peer_handle_mint", "peer_handle_redeem", "peer_file_fetch"}},
	{"a2a", []trace.Type{"a2a_task_received", "a2a_send"}},
	{"harness", []trace.Type{"harness_start", "harness_session", "harness_warning", "harness_note", "harness_retry", "harness_failed",
		"harness_interrupt", "harness_exit", "harness_session_forgotten"}},
	{"credentials", []trace.Type{"inference_credential", "gateway_credential"}},
	{"hook_failures", []trace.Type{"hook_dispatch_error"}},
	{"retention", []trace.Type{"retention"}},
}

// JSON prints the document of `show --json`.
func JSON(w io.Writer, r *record.Record) error {
	j := render.NewJSON(w)
	j.Open("{")
	j.Member("schema", "murmur.trace-show/1")
	j.Member("session", sessionOf(r))
	j.Member("metrics", r.Metrics)
	rows(j, r, "turns", turnColumns, "inference")
	rows(j, r, "tool_calls", callColumns, "tool_call")
	j.Key("redundant_calls")
	j.Open("[")
	for _, x := range r.Redundant {
		j.Value(x)
	}
	j.Shut("]")
	j.Key("shell_calls")
	j.Open("[")
	for c := range shellCalls(r) {
		j.Value(c)
	}
	j.Shut("]")
	j.Key("tasks")
	j.Open("[")
	for _, t := range tasks(r) {
		j.Value(t)
	}
	j.Shut("]")
	for _, s := range sections {
		j.Key(s.key)
		j.Open("[")
		for _, l := range r.Events(s.types...) {
			payload(j, l)
		}
		j.Shut("]")
	}
	j.Member("notes", notes(r))
	j.Shut("}")
	return j.Close()
}

func rows(j *render.JSON, r *record.Record, key string, cols []column, typ trace.Type) {
	j.Key(key)
	j.Open("[")
	for _, l := range r.Events(typ) {
		j.Open("{")
		for _, c := range cols {
			j.Key(c.key)
			j.Raw(l.Get(c.key), c.absent)
		}
		j.Shut("}")
	}
	j.Shut("]")
}

// payload prints an event without what it shares with every other of the
// session.
func payload(j *render.JSON, l *trace.Line) {
	j.Open("{")
	for name, v := range l.All() {
		if name == "session_id" || name == "prev_hash" {
			continue
		}
		j.Key(name)
		j.Raw(v, "")
	}
	j.Shut("}")
}

func notes(r *record.Record) record.Notes {
	n := r.Notes
	if n.MalformedLines == nil {
		n.MalformedLines = []int64{}
	}
	if n.OtherSessions == nil {
		n.OtherSessions = []string{}
	}
	return n
}
