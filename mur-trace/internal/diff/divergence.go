package diff

import (
	"iter"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
)

// Divergence says where the requests of two runs begin to differ (TRC-161).
type Divergence struct {
	Comparable bool   `json:"comparable"` // both runs recorded hashes
	System     Prefix `json:"system"`
	Tools      Prefix `json:"tools"`
	Turns      []Turn `json:"turns"`

	// Bare names the runs without hashes; Changes the turns in which a run
	// changed its own system text or tools.
	Bare    []string `json:"-"`
	Changes []Change `json:"-"`
}

// Prefix compares a hash of both runs' first agent turn.
type Prefix struct {
	Before    *string `json:"before"`
	After     *string `json:"after"`
	Identical bool    `json:"identical"`
}

// Turn compares the n-th agent turn of the k-th task of both runs. Task counts
// from 1, turn from 0 through attempts.
type Turn struct {
	Task      int    `json:"task"`
	Turn      int    `json:"turn"`
	State     string `json:"state"` // identical, diverges, prefix, only_before, only_after
	Index     *int   `json:"index"` // of the first message that differs
	BeforeLen int    `json:"before_len"`
	AfterLen  int    `json:"after_len"`
}

// Change is a turn in which a run's own system text or tools changed.
type Change struct {
	Run        string // before, after
	What       string // system, tools
	Task, Turn int
}

// place is where an agent turn lies in its record.
type place struct{ task, turn, at int }

type run struct {
	name   string
	record *record.Record
	turns  []place
	hashed bool
	system *string
	tools  *string
}

// Compare compares the requests of two runs.
func Compare(before, after *record.Record) Divergence {
	b, a := readRun("before", before), readRun("after", after)
	d := Divergence{Comparable: b.hashed && a.hashed, Turns: []Turn{}}
	for _, r := range []*run{b, a} {
		if !r.hashed {
			d.Bare = append(d.Bare, r.name)
			continue
		}
		d.Changes = append(d.Changes, r.changes()...)
	}
	d.System = prefix(b.system, a.system)
	d.Tools = prefix(b.tools, a.tools)
	if !d.Comparable {
		return d
	}
	i, j := 0, 0
	for i < len(b.turns) || j < len(a.turns) {
		switch c := order(b.turns, i, a.turns, j); {
		case c < 0:
			d.Turns = append(d.Turns, b.only(i, "only_before"))
			i++
		case c > 0:
			d.Turns = append(d.Turns, a.only(j, "only_after"))
			j++
		default:
			d.Turns = append(d.Turns, both(b, i, a, j))
			i, j = i+1, j+1
		}
	}
	return d
}

func prefix(before, after *string) Prefix {
	return Prefix{before, after, before != nil && after != nil && *before == *after}
}

// readRun finds the agent turns of a run by position, counting through attempts
// (TRC-162). A failed call is no turn.
func readRun(name string, r *record.Record) *run {
	out := &run{name: name, record: r}
	tasks := map[string]int{}
	turns := map[int]int{}
	for _, at := range r.Index("inference") {
		l := r.At(at)
		if l == nil || l.Get("origin") != nil || l.Get("decision").Str() == "error" {
			continue
		}
		id := l.Get("task_id").Str()
		task, seen := tasks[id]
		if !seen {
			task = len(tasks) + 1
			tasks[string([]byte(id))] = task
		}
		out.turns = append(out.turns, place{task, turns[task], at})
		turns[task]++
		if len(out.turns) == 1 {
			out.system, out.tools = hash(l, "system_sha"), hash(l, "tools_sha")
			out.hashed = out.system != nil
		}
	}
	return out
}

func hash(l *trace.Line, name string) *string {
	if v := l.Get(name); v.Kind() == '"' {
		return new(string([]byte(v.Str())))
	}
	return nil
}

// changes walks a run and notes where its own prefix changes.
func (r *run) changes() []Change {
	var out []Change
	system, tools := r.system, r.tools
	for _, p := range r.turns {
		l := r.record.At(p.at)
		if l == nil {
			return out
		}
		for _, x := range []struct {
			what, field string
			last        **string
		}{{"system", "system_sha", &system}, {"tools", "tools_sha", &tools}} {
			now := l.Get(x.field)
			if now.Kind() != '"' || *x.last != nil && **x.last == now.Str() {
				continue
			}
			out = append(out, Change{r.name, x.what, p.task, p.turn})
			*x.last = hash(l, x.field)
		}
	}
	return out
}

// order compares the positions of two turns; a run that has ended is last.
func order(b []place, i int, a []place, j int) int {
	switch {
	case i == len(b):
		return 1
	case j == len(a):
		return -1
	case b[i].task != a[j].task:
		return b[i].task - a[j].task
	}
	return b[i].turn - a[j].turn
}

func (r *run) only(i int, state string) Turn {
	p := r.turns[i]
	t := Turn{Task: p.task, Turn: p.turn, State: state}
	n := 0
	if l := r.record.At(p.at); l != nil {
		for range l.Get("message_shas").Elements() {
			n++
		}
	}
	if state == "only_before" {
		t.BeforeLen = n
	} else {
		t.AfterLen = n
	}
	return t
}

// both compares the messages of one position without holding either list.
func both(b *run, i int, a *run, j int) Turn {
	t := Turn{Task: b.turns[i].task, Turn: b.turns[i].turn}
	lb, la := b.record.At(b.turns[i].at), a.record.At(a.turns[j].at)
	if lb == nil || la == nil {
		t.State = "diverges"
		return t
	}
	nextB, stopB := iter.Pull(lb.Get("message_shas").Elements())
	defer stopB()
	nextA, stopA := iter.Pull(la.Get("message_shas").Elements())
	defer stopA()
	for n := 0; ; n++ {
		x, okB := nextB()
		y, okA := nextA()
		if okB {
			t.BeforeLen++
		}
		if okA {
			t.AfterLen++
		}
		switch {
		case !okA && !okB:
			if t.State == "" {
				t.State = "identical"
			}
			return t
		case okA && okB && string(x) != string(y) && t.State == "":
			t.State, t.Index = "diverges", new(n)
		case okA != okB && t.State == "":
			t.State, t.Index = "prefix", new(n)
		}
	}
}
