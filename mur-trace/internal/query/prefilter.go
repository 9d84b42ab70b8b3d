package query

import (
	"strings"

	"github.com/mur-capsules/mur/lib/trace"
)

// Prefilter decides by an event's own fields, without a tree, whether the
// expression sees it; all conditions must hold (TRC-172). The zero value lets
// everything pass.
type Prefilter struct {
	Types   []string // event types
	Task    string   // a task id, or the end of one
	Turn    *int64
	SinceMS *int64 // timestamp at or after
	UntilMS *int64 // timestamp at or before
	Subtree string // the event of that id and all beneath it
}

// prefilter is a Prefilter at work on one file.
type prefilter struct {
	Prefilter
	types map[trace.Type]bool
	under map[string]bool // ids of the subtree met so far
}

func (p Prefilter) start() *prefilter {
	f := &prefilter{Prefilter: p}
	if len(p.Types) > 0 {
		f.types = map[trace.Type]bool{}
		for _, t := range p.Types {
			f.types[trace.Type(t)] = true
		}
	}
	if p.Subtree != "" {
		f.under = map[string]bool{}
	}
	return f
}

// pass must see every event of the file in order: a subtree is known by its
// parents, which come earlier (TRC-9).
func (f *prefilter) pass(l *trace.Line) bool {
	if f.under != nil {
		id := l.Get("event_id").Str()
		if id != f.Subtree && !f.under[l.Get("parent_id").Str()] {
			return false
		}
		if id != "" {
			f.under[strings.Clone(id)] = true
		}
	}
	if f.types != nil && !f.types[l.Type()] {
		return false
	}
	if f.Task != "" {
		id := l.Get("task_id").Str()
		if len(id) < len(f.Task) || !strings.EqualFold(id[len(id)-len(f.Task):], f.Task) {
			return false
		}
	}
	if f.Turn != nil {
		if n, ok := l.Get("turn").Int(); !ok || n != *f.Turn {
			return false
		}
	}
	if f.SinceMS != nil || f.UntilMS != nil {
		at, ok := l.Get("timestamp").Int()
		if !ok || f.SinceMS != nil && at < *f.SinceMS || f.UntilMS != nil && at > *f.UntilMS {
			return false
		}
	}
	return true
}
