// Package steps prints the tree of a session: tasks, their turns, and beneath a
// turn what it did (TRC-155 to TRC-157).
package steps

import (
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

// node is one event in the tree: its place in the record and its children in
// file order.
type node struct {
	at       int
	up       *node
	depth    int
	children []*node
}

// maxDepth bounds the tree of a hostile trace; real ones are 4 deep.
const maxDepth = 64

// Text prints the tree; verbose adds the first string of each call's input.
func Text(t *render.Text, r *record.Record, verbose bool) error {
	p := printer{t: t, r: r, verbose: verbose}
	root, linked := p.build()
	if !linked {
		p.flat()
		return t.Close()
	}
	p.print(root, 0)
	return t.Close()
}

type printer struct {
	t       *render.Text
	r       *record.Record
	verbose bool
}

// build makes the tree from parent_id. A line whose parent is missing hangs
// from its task, else from the session. linked is false when no line has an
// event_id.
func (p *printer) build() (root *node, linked bool) {
	root = &node{at: -1}
	byID := map[string]*node{}
	byTask := map[string]*node{}
	for at := range p.r.Len() {
		l := p.r.At(at)
		if l == nil {
			break
		}
		n := &node{at: at}
		if id := l.Get("event_id").Str(); id != "" {
			byID[strings.Clone(id)] = n
			linked = true
		}
		task := strings.Clone(l.Get("task_id").Str())
		switch l.Type() {
		case "session_start":
			if root.at < 0 {
				root.at = at
				continue
			}
		case "task_start":
			byTask[task] = n
		}
		parent := byID[l.Get("parent_id").Str()]
		if parent != nil && parent.at == root.at {
			parent = root
		}
		if parent == nil {
			if parent = byTask[task]; parent == nil || l.Type() == "task_start" {
				parent = root
			}
		}
		if parent.depth == maxDepth {
			parent = parent.up
		}
		n.up, n.depth = parent, parent.depth+1
		parent.children = append(parent.children, n)
	}
	return root, linked
}

func (p *printer) print(n *node, depth int) {
	if n.at < 0 {
		p.row(depth, "session "+render.Clean(p.r.ID), p.r.Metrics.ExitStatus)
	} else if l := p.r.At(n.at); l != nil {
		p.event(l, depth, n)
	}
	for _, c := range n.children {
		p.print(c, depth+1)
	}
}

func (p *printer) row(depth int, cells ...string) {
	var kept []string
	for _, c := range cells {
		if c != "" {
			kept = append(kept, c)
		}
	}
	p.t.Printf("%s%s\n", strings.Repeat("  ", depth), strings.Join(kept, "  "))
}

func (p *printer) event(l *trace.Line, depth int, n *node) {
	s := func(name string) string { return render.Clean(l.Get(name).Str()) }
	num := func(name string) string {
		if v, ok := l.Get(name).Int(); ok {
			return strconv.FormatInt(v, 10)
		}
		return ""
	}
	ms := func() string {
		if v, ok := l.Get("duration_ms").Int(); ok {
			return render.Millis(v)
		}
		return ""
	}
	state := func(v string) string {
		switch v {
		case "ok", "success", "completed", "0":
			return p.t.Good(v)
		}
		return p.t.Bad(v)
	}
	switch l.Type() {
	case "session_start":
		p.row(depth, "session "+render.Clean(p.r.ID), s("capsule_name")+" "+s("capsule_version"), state(p.r.Metrics.ExitStatus), render.Millis(p.r.Metrics.DurationMS))
	case "task_start":
		p.row(depth, "task "+s("task_id"), s("source"), s("origin"))
	case "task_end":
		p.row(depth, "end of task", state(s("exit_status")), num("turns")+" turns", ms())
	case "inference":
		who := "turn " + num("turn")
		if o := s("origin"); o != "" {
			who = o
		}
		p.row(depth, who, s("decision"), s("tool_name"), s("error"))
	case "tool_call":
		p.row(depth, s("tool_name"), state(s("status")), ms(), p.input(l))
	case "skill_call":
		p.row(depth, "skill "+s("skill_name"), state(s("status")), ms())
	case "shell":
		p.row(depth, "$ "+s("binary"), "exit "+state(num("exit_code")), ms(), p.command(l))
	case "shell_detached", "shell_completed", "shell_abandoned", "shell_lost":
		p.row(depth, s2(string(l.Type())), s("work_id"), s("binary"), num("exit_code"), ms(), p.command(l))
	case "call_denied", "protected_path_denied", "tool_input_refused", "spend_ceiling_reached", "call_deadline":
		p.row(depth, p.t.Bad(s2(string(l.Type()))), s("target"), s("tool_name"), s("component"), s("limit"), s("hook_name"), s("rule"), render.Cut(s("reason"), 80))
	case "compaction":
		p.row(depth, "compaction", num("tokens_before")+" → "+num("tokens_after")+" tokens")
	case "plan_start":
		p.row(depth, "plan "+s("plan_id"), num("step_count")+" steps")
	case "plan_step_start":
		p.row(depth, "step "+s("step_id")+" starts", s("kind"))
	case "plan_step":
		p.row(depth, "step "+s("step_id"), s("kind"), state(s("status")), ms(), p.input(l))
	case "plan_end":
		p.row(depth, "end of plan", state(s("outcome")), ms(), s("reason"))
	case "session_end":
		p.row(depth, "end of session", state(s("exit_status")), ms())
	default:
		p.row(depth, s2(string(l.Type())), s("outcome"), s("cause"), s("name"), s("hook_name"), s("capsule"), s("path"), render.Cut(s("reason"), 80))
	}
}

func s2(typ string) string { return strings.ReplaceAll(typ, "_", " ") }

func (p *printer) input(l *trace.Line) string   { return p.first(l.Get("input")) }
func (p *printer) command(l *trace.Line) string { return p.first(l.Get("command")) }

// first is the first string found in a value, cut at 60 characters.
func (p *printer) first(v trace.Value) string {
	if !p.verbose {
		return ""
	}
	s, ok := firstString(v)
	if !ok {
		return ""
	}
	return strconv.Quote(render.Cut(s, 60))
}

func firstString(v trace.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		return v.Str(), true
	case '[':
		for e := range v.Elements() {
			if s, ok := firstString(e); ok {
				return s, true
			}
		}
	case '{':
		var l trace.Line
		if !l.Parse(v) {
			return "", false
		}
		for _, e := range l.All() {
			if s, ok := firstString(e); ok {
				return s, true
			}
		}
	}
	return "", false
}

// flat prints one row a turn, for files whose lines have no event_id (TRC-157).
func (p *printer) flat() {
	type turn struct {
		n              string
		decision, tool string
		ms             int64
	}
	var rows [][]string
	var cur *turn
	flush := func() {
		if cur != nil {
			rows = append(rows, []string{cur.n, cur.decision, cur.tool, render.Millis(cur.ms)})
		}
	}
	for _, l := range p.r.Events("inference", "tool_call", "shell") {
		if l.Type() == "inference" {
			flush()
			n, _ := l.Get("turn").Int()
			cur = &turn{strconv.FormatInt(n, 10), render.Clean(l.Get("decision").Str()), render.Clean(l.Get("tool_name").Str()), 0}
			cur.decision, cur.tool = strings.Clone(cur.decision), strings.Clone(cur.tool)
			continue
		}
		if cur != nil && l.Type() == "tool_call" {
			ms, _ := l.Get("duration_ms").Int()
			cur.ms += ms
		}
	}
	flush()
	p.t.Table([]string{">turn", "decision", "tool", ">duration"}, rows)
}
