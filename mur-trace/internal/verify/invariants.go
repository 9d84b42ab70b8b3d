package verify

import (
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Invariant is one property of a trace that its writers promise (TRC section
// 7). Detail says where it does not hold; one that can not be judged because
// the session did not end holds.
type Invariant struct {
	Name   string  `json:"name"`
	Holds  bool    `json:"holds"`
	Detail *string `json:"detail"`
}

// The names of the invariants, in the order printed.
var invariantNames = []string{
	"one_session_start_first", "one_session_end", "event_ids_unique", "parents_earlier", "session_id_constant", // TRC-95
	"tasks_do_not_overlap", "one_task_end_each", // TRC-96
	"session_totals", // TRC-97
	"task_totals",    // TRC-98
	"reopens",        // TRC-99
	"detached_once",  // TRC-100
	"denied_not_run", // TRC-101
}

// walk is the state of one pass over a trace.
type walk struct {
	failed map[string]string
	line   int64

	starts, ends int
	ids          map[string]bool
	session      string
	process      bool
	open         string // the running task
	tasks        map[string]*taskState
	counted      trace.Totals
	claimed      *trace.Totals
	ofTasks      trace.Totals
	detached     map[string]int  // outcomes by work id
	called       map[string]bool // turn and tool_call_id of calls that ran
	denied       map[string]bool // and of those that were refused
}

type taskState struct {
	starts, ends int
	reopens      int64
	reopenCount  *int64
}

func (v *verifier) invariants() ([]Invariant, error) {
	w := &walk{failed: map[string]string{}, ids: map[string]bool{}, tasks: map[string]*taskState{}, detached: map[string]int{}, called: map[string]bool{}, denied: map[string]bool{}}
	f, err := v.open(trace.FileName)
	if err != nil {
		return nil, err
	}
	if f != nil {
		defer f.Close()
		rd := trace.NewReader(f)
		first := true
		for rd.Next() {
			if rd.State != trace.Whole {
				continue
			}
			w.line = rd.Number
			w.add(&rd.Line, first)
			first = false
		}
		if err := rd.Err(); err != nil {
			return nil, workfs.Fault(err, "cannot verify "+v.path(trace.FileName))
		}
	}
	w.finish()
	out := make([]Invariant, 0, len(invariantNames))
	for _, n := range invariantNames {
		i := Invariant{Name: n, Holds: true}
		if d, bad := w.failed[n]; bad {
			i.Holds, i.Detail = false, &d
		}
		out = append(out, i)
	}
	return out, nil
}

// fail keeps the first place at which an invariant does not hold.
func (w *walk) fail(name, format string, args ...any) {
	if _, there := w.failed[name]; !there {
		w.failed[name] = fmt.Sprintf(format, args...)
	}
}

func (w *walk) add(l *trace.Line, first bool) {
	w.tree(l, first)
	if !l.Known() {
		return
	}
	id := strings.Clone(l.Get("task_id").Str())
	switch l.Type() {
	case "session_start":
		w.process = l.Get("tool_refresh").Kind() == 'n' && l.Get("kind").Str() != "script"
	case "session_end":
		w.ends++
		w.claimed = &trace.Totals{Turns: num(l, "total_turns"), InputTokens: num(l, "total_input_tokens"), OutputTokens: num(l, "total_output_tokens"),
			ToolCalls: num(l, "total_tool_calls"), ShellCalls: num(l, "total_shell_calls")}
	case "task_start":
		if w.open != "" {
			w.fail("tasks_do_not_overlap", "line %d starts task %s before %s ended", w.line, id, w.open)
		}
		w.open = id
		w.task(id).starts++
	case "task_end":
		w.taskEnd(l, id)
	case "task_reopened":
		t := w.task(id)
		if t.reopens++; num(l, "reopen_number") != t.reopens {
			w.fail("reopens", "line %d numbers reopen %d of task %s as %d", w.line, t.reopens, id, num(l, "reopen_number"))
		}
	case "inference":
		if l.Get("decision").Str() != "error" || w.process {
			w.counted.Turns++
			w.counted.InputTokens += num(l, "input_tokens")
			w.counted.OutputTokens += num(l, "output_tokens")
		}
	case "tool_call":
		w.counted.ToolCalls++
		w.call(l, w.called, w.denied)
	case "call_denied", "protected_path_denied":
		w.call(l, w.denied, w.called)
	case "shell":
		w.counted.ShellCalls++
	case "shell_detached":
		w.counted.ShellCalls++
		w.detached[strings.Clone(l.Get("work_id").Str())] += 0
	case "shell_completed", "shell_abandoned", "shell_lost":
		work := strings.Clone(l.Get("work_id").Str())
		if w.detached[work]++; w.detached[work] > 1 {
			w.fail("detached_once", "line %d is the second outcome of %s", w.line, work)
		}
	}
}

// tree checks what holds for known and unknown events alike.
func (w *walk) tree(l *trace.Line, first bool) {
	if l.Type() == "session_start" {
		if w.starts++; w.starts > 1 || !first {
			w.fail("one_session_start_first", "line %d is a session_start", w.line)
		}
	} else if first {
		w.fail("one_session_start_first", "line %d is a %s", w.line, l.Type())
	}
	id := strings.Clone(l.Get("event_id").Str())
	if id == "" || w.ids[id] {
		w.fail("event_ids_unique", "line %d has the event_id %q of another", w.line, id)
	}
	if p := l.Get("parent_id"); p.Kind() == '"' && !w.ids[p.Str()] {
		w.fail("parents_earlier", "line %d names the parent %s, which is no earlier line", w.line, p.Str())
	}
	w.ids[id] = true
	session := l.Get("session_id").Str()
	if first {
		w.session = strings.Clone(session)
	}
	if session != w.session {
		w.fail("session_id_constant", "line %d is of session %s", w.line, session)
	}
}

// call notes a call of a turn as one of its kind and looks for it in the other.
func (w *walk) call(l *trace.Line, kind, other map[string]bool) {
	id := l.Get("tool_call_id").Str()
	if id == "" {
		return
	}
	key := l.Get("parent_id").Str() + " " + id
	if kind[key] = true; other[key] {
		w.fail("denied_not_run", "line %d: the call %s was refused and run", w.line, id)
	}
}

func (w *walk) task(id string) *taskState {
	t := w.tasks[id]
	if t == nil {
		t = &taskState{}
		w.tasks[id] = t
	}
	return t
}

func (w *walk) taskEnd(l *trace.Line, id string) {
	if w.open != id {
		w.fail("one_task_end_each", "line %d ends task %s, which is not running", w.line, id)
	}
	w.open = ""
	t := w.task(id)
	if t.ends++; t.ends > 1 {
		w.fail("one_task_end_each", "line %d ends task %s again", w.line, id)
	}
	t.reopenCount = new(num(l, "reopen_count"))
	w.ofTasks.Turns += num(l, "turns")
	w.ofTasks.InputTokens += num(l, "input_tokens")
	w.ofTasks.OutputTokens += num(l, "output_tokens")
	w.ofTasks.ToolCalls += num(l, "tool_calls")
	w.ofTasks.ShellCalls += num(l, "shell_calls")
}

func (w *walk) finish() {
	if w.starts == 0 {
		w.fail("one_session_start_first", "there is no session_start")
	}
	if w.ends != 1 {
		w.fail("one_session_end", "there are %d session_end lines", w.ends)
	}
	for id, t := range w.tasks {
		if w.claimed != nil && t.starts > 0 && t.ends != 1 {
			w.fail("one_task_end_each", "task %s has %d task_end lines", id, t.ends)
		}
		if t.reopenCount != nil && *t.reopenCount != t.reopens {
			w.fail("reopens", "task %s counts %d reopens and has %d", id, *t.reopenCount, t.reopens)
		}
	}
	if w.claimed == nil {
		return
	}
	if *w.claimed != w.counted {
		w.fail("session_totals", "session_end says %s, the lines %s", totals(*w.claimed), totals(w.counted))
	}
	c, t := *w.claimed, w.ofTasks
	if t.Turns > c.Turns || t.InputTokens > c.InputTokens || t.OutputTokens > c.OutputTokens || t.ToolCalls > c.ToolCalls || t.ShellCalls > c.ShellCalls {
		w.fail("task_totals", "session_end says %s, its tasks together %s", totals(c), totals(t))
	}
	for work, n := range w.detached {
		if n != 1 {
			w.fail("detached_once", "%s has %d outcomes", work, n)
		}
	}
}

func totals(t trace.Totals) string {
	return fmt.Sprintf("%d turns, %d and %d tokens, %d tool calls, %d shell calls", t.Turns, t.InputTokens, t.OutputTokens, t.ToolCalls, t.ShellCalls)
}

func num(l *trace.Line, name string) int64 {
	n, _ := l.Get(name).Int()
	return n
}
