package show

import (
	"iter"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
)

// shellCall is one command: a foreground one, or one that went on in the
// background with what became of it.
type shellCall struct {
	EventID    string    `json:"event_id"`
	Turn       int64     `json:"turn"`
	Binary     string    `json:"binary"`
	Command    trace.Raw `json:"command"`
	ExitCode   *int64    `json:"exit_code"`
	DurationMS *int64    `json:"duration_ms"`
	WorkID     *string   `json:"work_id"`
	State      string    `json:"state"` // foreground, completed, abandoned, lost, running
}

// fate is what became of a demoted command.
type fate struct {
	state    string
	exit, ms *int64
}

func fates(r *record.Record) map[string]fate {
	m := map[string]fate{}
	for _, l := range r.Events("shell_completed", "shell_abandoned", "shell_lost") {
		f := fate{state: strings.TrimPrefix(string(l.Type()), "shell_"), exit: number(l, "exit_code"), ms: number(l, "duration_ms")}
		if f.ms == nil {
			f.ms = number(l, "running_ms")
		}
		m[text(l, "work_id")] = f
	}
	return m
}

func shellCalls(r *record.Record) iter.Seq[shellCall] {
	return func(yield func(shellCall) bool) {
		ends := fates(r)
		for _, l := range r.Events("shell", "shell_detached") {
			c := shellCall{EventID: text(l, "event_id"), Turn: deref(number(l, "turn")), Binary: text(l, "binary"),
				Command: trace.Raw(strings.Clone(string(l.Get("command")))), State: "foreground",
				ExitCode: number(l, "exit_code"), DurationMS: number(l, "duration_ms")}
			if l.Type() == "shell_detached" {
				id := text(l, "work_id")
				end, ok := ends[id]
				if !ok {
					end.state = "running"
				}
				c.WorkID, c.State, c.ExitCode, c.DurationMS = &id, end.state, end.exit, end.ms
			}
			if !yield(c) {
				return
			}
		}
	}
}

// task is one task of the session; the counts of one that has not ended are
// nil.
type task struct {
	TaskID       string  `json:"task_id"`
	ContextID    *string `json:"context_id"`
	Source       *string `json:"source"`
	Origin       *string `json:"origin"`
	Trust        *string `json:"trust"`
	Lane         *string `json:"lane"`
	ExitStatus   *string `json:"exit_status"`
	DurationMS   *int64  `json:"duration_ms"`
	Turns        *int64  `json:"turns"`
	InputTokens  *int64  `json:"input_tokens"`
	OutputTokens *int64  `json:"output_tokens"`
	ToolCalls    *int64  `json:"tool_calls"`
	ShellCalls   *int64  `json:"shell_calls"`
	ReopenCount  *int64  `json:"reopen_count"`
}

func tasks(r *record.Record) []*task {
	var out []*task
	byID := map[string]*task{}
	for _, l := range r.Events("task_start", "task_end") {
		id := text(l, "task_id")
		t := byID[id]
		if t == nil {
			t = &task{TaskID: id}
			byID[id] = t
			out = append(out, t)
		}
		if l.Type() == "task_start" {
			t.ContextID, t.Source, t.Origin = maybe(l, "context_id"), maybe(l, "source"), maybe(l, "origin")
			t.Trust, t.Lane = maybe(l, "trust"), maybe(l, "lane")
			continue
		}
		t.ExitStatus = maybe(l, "exit_status")
		t.DurationMS, t.Turns = number(l, "duration_ms"), number(l, "turns")
		t.InputTokens, t.OutputTokens = number(l, "input_tokens"), number(l, "output_tokens")
		t.ToolCalls, t.ShellCalls = number(l, "tool_calls"), number(l, "shell_calls")
		if t.ReopenCount = number(l, "reopen_count"); t.ReopenCount == nil {
			t.ReopenCount = new(int64) // its documented default (TRC-20)
		}
	}
	return out
}

// text is a string field in memory of its own.
func text(l *trace.Line, name string) string { return strings.Clone(l.Get(name).Str()) }

func maybe(l *trace.Line, name string) *string {
	if v := l.Get(name); v.Kind() == '"' {
		return new(strings.Clone(v.Str()))
	}
	return nil
}

func number(l *trace.Line, name string) *int64 {
	if n, ok := l.Get(name).Int(); ok {
		return &n
	}
	return nil
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
