package show

import (
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

// Text prints a session for people: the sections of TRC-146 in its order, those
// without content left out unless they are always there.
func Text(t *render.Text, r *record.Record) error {
	head(t, r)
	events(t, r, "Hook failures", []trace.Type{"hook_dispatch_error"}, "hook_name", "event", "arm")
	events(t, r, "Retention", []trace.Type{"retention"}, "store", "reason", "removed", "messages_dropped")
	events(t, r, "Context", []trace.Type{"context_seed"}, "hook_name", "outcome", "reason", "tokens", "proposed_tokens", "budget_tokens")
	counts(t, r)
	toolCalls(t, r, wire(t, r))
	redundantCalls(t, r)
	skillCalls(t, r)
	events(t, r, "Pulled at runtime", []trace.Type{"artifact_pulled"}, "name", "version", "runtime", "origin", "trust")
	shellSection(t, r)
	compaction(t, r)
	events(t, r, "Cancelled", []trace.Type{"task_canceled"}, "task_id", "phase", "turn")
	events(t, r, "Rejected", []trace.Type{"task_rejected"}, "task_id", "source", "cause", "reason")
	events(t, r, "Failed", []trace.Type{"task_failed"}, "task_id", "turn", "cause", "reason")
	events(t, r, "Reopens", []trace.Type{"task_reopened", "task_continued"}, "task_id", "reopen_number", "continuation_number", "hook_name", "reason")
	events(t, r, "Denied calls", []trace.Type{"call_denied", "protected_path_denied", "tool_input_refused", "spend_ceiling_reached", "call_deadline"},
		"event_type", "turn", "target", "tool_name", "component", "limit", "hook_name", "path", "rule", "missing", "reason")
	events(t, r, "Control", []trace.Type{"control_change", "control_refused", "control_applied"}, "event_type", "principal", "action", "kind", "name", "value", "status", "reason")
	events(t, r, "Resource plane", []trace.Type{"resource_list", "resource_read"}, "event_type", "root", "path", "outcome", "entry_count", "bytes", "reason")
	events(t, r, "Peer files", []trace.Type{"peer_handle_mint", "peer_handle_redeem", "peer_file_fetch"}, "event_type", "handle_id", "path", "peer", "audience", "outcome", "bytes", "reason")
	events(t, r, "Delegations", []trace.Type{"delegation_start", "delegation"}, "event_type", "capsule", "version", "child_session_id", "outcome", "duration_ms", "reason")
	events(t, r, "Plan", []trace.Type{"plan_start", "plan_step", "plan_end"}, "event_type", "plan_id", "step_id", "kind", "status", "outcome", "duration_ms", "error", "reason")
	events(t, r, "A2A", []trace.Type{"a2a_task_received", "a2a_send"}, "event_type", "peer_url", "message_id", "task_id", "credential")
	events(t, r, "Harness", []trace.Type{"harness_start", "harness_session", "harness_warning", "harness_note", "harness_retry", "harness_failed",
		"harness_interrupt", "harness_exit", "harness_session_forgotten"}, "event_type", "harness", "harness_version", "auth", "code", "cause", "kind", "attempt", "message", "text", "reason")
	taskSection(t, r)
	return t.Close()
}

func head(t *render.Text, r *record.Record) {
	s := sessionOf(r)
	t.Section("Session")
	t.Field("id", s.SessionID)
	t.Field("capsule", render.Clean(s.CapsuleName+" "+s.CapsuleVersion))
	if s.Bundle != nil {
		t.Field("bundle", render.Clean(s.Bundle.Digest)+" "+render.Or(s.Bundle.Ref))
	}
	t.Field("kind", render.Clean(s.Kind))
	t.Field("model", render.Or(s.Model))
	status := render.Clean(s.ExitStatus)
	if s.ExitStatus == "ok" {
		status = t.Good(status)
	} else {
		status = t.Bad(status)
	}
	t.Field("status", status)
	t.Field("duration", render.Millis(s.DurationMS))
	t.Field("capabilities", list(s.Capabilities))
	t.Field("tools declared", list(s.ToolsDeclared))
	t.Field("containment:", render.Clean(s.ContainmentDeclared+" → "+s.ContainmentAchieved))
	t.Field("workdir exec", strconv.FormatBool(s.WorkdirExec))
	t.Field("userns grant", render.Or(s.UsernsGrant))
	prompt := render.Clean(s.SystemPromptSource)
	if s.SystemPromptSHA256 != nil {
		prompt += " " + short(*s.SystemPromptSHA256)
	}
	t.Field("system prompt", prompt)
	if s.ResumedFrom != nil {
		t.Field("resumed from", render.Or(s.ResumedFrom))
	}
	if s.SpawnedBy != nil {
		t.Field("spawned by", render.Or(s.SpawnedBy))
	}
	if s.RecordsDir != nil {
		t.Field("records", render.Or(s.RecordsDir))
	}
}

func counts(t *render.Text, r *record.Record) {
	m := r.Metrics
	t.Section("Turns")
	line := render.Count(m.Turns) + " turns"
	if m.MaxTurns != nil && *m.MaxTurns > 0 {
		line += ", at most " + render.Count(*m.MaxTurns) + " a task"
	}
	if hooks := m.Turns - m.AgentTurns; r.Complete && hooks > 0 {
		line += ", " + render.Count(hooks) + " of them hooks' own"
	}
	if m.FailedCalls > 0 {
		line += ", " + render.Count(m.FailedCalls) + " calls failed"
	}
	t.Printf("  %s\n", line)
	t.Section("Tokens")
	t.Field("input", render.Count(m.InputTokens)+"  ("+render.DecimalOf(m.InputPerTurn)+" a turn)")
	t.Field("output", render.Count(m.OutputTokens)+"  ("+render.DecimalOf(m.OutputPerTurn)+" a turn)")
	if p := m.Provider; p.TurnsReporting > 0 {
		t.Field("provider", "input "+render.CountOf(p.Input)+", output "+render.CountOf(p.Output)+", cached "+render.CountOf(p.Cached)+
			", cache written "+render.CountOf(p.CacheWrite)+", thinking "+render.CountOf(p.Thinking)+" over "+render.Count(p.TurnsReporting)+" turns")
		t.Field("cache read rate", render.Percent(m.CacheReadRate))
	}
}

// idleTurn is an inference that asked for no call, as toolCalls prints it.
type idleTurn struct {
	turn     int64
	decision string
	agent    bool
}

// wire prints what each turn sent, and returns every inference's turn and
// decision, so that its long line is not read again.
func wire(t *render.Text, r *record.Record) []idleTurn {
	begun := false
	var turns []idleTurn
	decisions := map[string]string{} // few, kept once
	for _, l := range r.Events("inference") {
		d := l.Get("decision").Str()
		if _, ok := decisions[d]; !ok {
			d = strings.Clone(d)
			decisions[d] = render.Clean(d)
		}
		turn := deref(number(l, "turn"))
		turns = append(turns, idleTurn{turn, decisions[d], l.Get("origin") == nil})
		if l.Get("system_sha") == nil {
			continue
		}
		if !begun {
			t.Section("Wire")
			begun = true
		}
		t.Printf("  turn %-4d system %s  tools %s  response %s  %d messages\n", turn,
			short(l.Get("system_sha").Str()), short(l.Get("tools_sha").Str()), orNone(short(l.Get("response_sha").Str())), count(l.Get("message_shas")))
	}
	return turns
}

// toolCalls prints one row a call, and one a turn that called nothing (TRC-148).
func toolCalls(t *render.Text, r *record.Record, turns []idleTurn) {
	m := r.Metrics
	t.Section("Tool calls")
	t.Printf("  %s calls, %s succeeded, %s on average\n", render.Count(m.ToolCalls), render.Percent(m.ToolSuccessRate), render.MillisOf(m.ToolLatencyMSAvg))
	var idle *idleTurn // the turn that has not called yet
	flush := func() {
		if idle != nil {
			t.Printf("  turn %-4d %s\n", idle.turn, t.Dim("("+idle.decision+")"))
		}
		idle = nil
	}
	inputs := r.Count("tool_call") == 0
	for _, at := range r.Index("inference", "tool_call") {
		if r.TypeAt(at) == "inference" {
			flush()
			if len(turns) > 0 && turns[0].agent {
				idle = &turns[0]
			}
			turns = turns[min(1, len(turns)):]
			continue
		}
		idle = nil
		l := r.At(at)
		if l == nil {
			break
		}
		inputs = inputs || l.Get("input") != nil
		status := t.Good("ok   ")
		if l.Get("status").Str() != "ok" {
			status = t.Bad("error")
		}
		t.Printf("  turn %-4d %s %8s %s %s\n", deref(number(l, "turn")), render.Pad(render.Clean(l.Get("tool_name").Str()), 20),
			render.Millis(deref(number(l, "duration_ms"))), status, render.Excerpt(string(l.Get("input")), 120))
	}
	flush()
	if !inputs {
		t.Printf("  inputs were not recorded (capture none)\n")
	}
}

func redundantCalls(t *render.Text, r *record.Record) {
	t.Section("Redundant calls")
	t.Printf("  %s\n", render.Count(r.Metrics.RedundantCalls))
	if s := r.Start(); s != nil && s.Capture == trace.None {
		t.Printf("  inputs were not recorded (capture none): only resources that tools declare are known\n")
	}
	place := func(kind string, turn *int64, step *string) string {
		if kind == "plan_step" {
			return "step " + render.Or(step)
		}
		return "turn " + render.CountOf(turn)
	}
	for _, x := range r.Redundant {
		t.Printf("  %s  %s  %s  (%s; seen at %s)\n", place(x.Kind, x.Turn, x.StepID), render.Or(x.ToolName), render.Clean(x.ResourceID),
			x.IdentityFrom, place(x.PriorKind, x.PriorTurn, x.PriorStepID))
	}
}

func skillCalls(t *render.Text, r *record.Record) {
	m := r.Metrics
	t.Section("Skill calls")
	t.Printf("  %s calls, %s succeeded, %s on average\n", render.Count(m.SkillCalls), render.Percent(m.SkillSuccessRate), render.MillisOf(m.SkillLatencyMSAvg))
	for _, l := range r.Events("skill_call") {
		t.Printf("  turn %-4d %s %8s %s  %s, %s\n", deref(number(l, "turn")), render.Pad(render.Clean(l.Get("skill_name").Str()), 20),
			render.Millis(deref(number(l, "duration_ms"))), l.Get("status").Str(), render.Clean(l.Get("origin").Str()), render.Clean(l.Get("trust").Str()))
	}
}

func shellSection(t *render.Text, r *record.Record) {
	m := r.Metrics
	t.Section("Shell calls")
	t.Printf("  %s calls, %s failed, %s on average\n", render.Count(m.ShellCalls), render.Count(m.ShellFailed), render.MillisOf(m.ShellLatencyMSAvg))
	for c := range shellCalls(r) {
		exit := "exit " + render.CountOf(c.ExitCode)
		if c.ExitCode == nil || *c.ExitCode != 0 {
			exit = t.Bad(exit)
		}
		ms := render.None
		if c.DurationMS != nil {
			ms = render.Millis(*c.DurationMS)
		}
		state := ""
		if c.State != "foreground" {
			state = "  [" + c.State + " " + render.Or(c.WorkID) + "]"
		}
		t.Printf("  turn %-4d %8s %s  %s%s\n", c.Turn, ms, exit, render.Excerpt(command(c), 120), state)
	}
}

// command is an argument list joined by spaces, or the script text.
func command(c shellCall) string {
	v := trace.Value(c.Command)
	if v.Kind() == '"' {
		return render.Clean(c.Binary + ": " + v.Str())
	}
	var words []string
	for e := range v.Elements() {
		w := e.Str()
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$") {
			w = strconv.Quote(w)
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		return render.Clean(c.Binary)
	}
	return render.Clean(strings.Join(words, " "))
}

func compaction(t *render.Text, r *record.Record) {
	m := r.Metrics
	t.Section("Compaction")
	line := render.Count(m.Compactions) + " compactions, " + render.Count(m.CompactionsDeclined) + " declined"
	if c := m.CompactionLast; c != nil {
		line += "; the last at turn " + render.Count(c.Turn) + ": " + render.Count(c.TokensBefore) + " → " + render.Count(c.TokensAfter) + " tokens"
	}
	t.Printf("  %s\n", line)
}

func taskSection(t *render.Text, r *record.Record) {
	all := tasks(r)
	if len(all) < 2 {
		return
	}
	t.Section("Tasks")
	for i, x := range all {
		line := "  " + render.Pad(strconv.Itoa(i+1)+".", 4) + render.Pad(render.Clean(x.TaskID[:min(12, len(x.TaskID))]), 13) + render.CountOf(x.Turns) + " turns, tokens " +
			render.CountOf(x.InputTokens) + " in " + render.CountOf(x.OutputTokens) + " out, " + render.Or(x.ExitStatus)
		if x.DurationMS != nil {
			line += ", " + render.Millis(*x.DurationMS)
		}
		if n := deref(x.ReopenCount); n > 0 {
			line += ", " + render.Count(n) + " reopens"
		}
		t.Printf("%s\n", line)
	}
}

// events prints a section of rows that name the fields an event has.
func events(t *render.Text, r *record.Record, title string, types []trace.Type, fields ...string) {
	begun := false
	for _, l := range r.Events(types...) {
		if !begun {
			t.Section("%s", title)
			begun = true
		}
		var parts []string
		for _, f := range fields {
			v := l.Get(f)
			if k := v.Kind(); k == 0 || k == 'n' {
				continue
			}
			s := v.Str()
			if v.Kind() != '"' {
				s = string(v)
			}
			if s = render.Excerpt(s, 120); f != "event_type" {
				s = t.Dim(f+"=") + s
			}
			parts = append(parts, s)
		}
		t.Printf("  %s\n", strings.Join(parts, "  "))
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return render.None
	}
	return render.Clean(strings.Join(names, ", "))
}

func orNone(s string) string {
	if s == "" {
		return render.None
	}
	return s
}

func short(sha string) string { return render.Clean(sha[:min(12, len(sha))]) }

func count(v trace.Value) int {
	n := 0
	for range v.Elements() {
		n++
	}
	return n
}
