package record

import (
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/metrics"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

// Measured is what counts of one session, without its events.
type Measured struct {
	ID       string
	Capsule  string
	Model    string
	Complete bool
	Metrics  metrics.Metrics
	Tasks    []metrics.Task
}

// Measure reads a trace once and keeps nothing but numbers. It returns nil for
// a trace without any event. rd lends its memory.
func Measure(t source.Trace, rd *trace.Reader) (*Measured, error) {
	f, err := t.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rd.Reset(f)
	var last *measuring
	all := map[string]*measuring{}
	cur := &measuring{}
	for rd.Next() {
		if rd.State != trace.Whole {
			continue
		}
		l := &rd.Line
		if id := l.Get("session_id").Str(); cur.id != id || last == nil {
			if cur = all[id]; cur == nil {
				cur = newMeasuring(id)
				all[cur.id] = cur
			}
			if last == nil {
				last = cur
			}
		}
		if !l.Known() {
			continue
		}
		if l.Type() == "session_start" {
			last = cur // of several the one that began last (TRC-92)
			cur.capsule, cur.model = string([]byte(l.Get("capsule_name").Str())), string([]byte(l.Get("model").Str()))
		}
		cur.Add(l)
	}
	if err := rd.Err(); err != nil {
		return nil, workfs.Fault(err, "cannot read "+t.Path)
	}
	if named := all[t.SessionID]; t.SessionID != "" {
		last = named
	}
	if last == nil {
		return nil, nil
	}
	return &Measured{ID: last.id, Capsule: last.capsule, Model: last.model, Complete: last.Complete(), Metrics: last.Metrics(), Tasks: last.tasks}, nil
}

type measuring struct {
	metrics.Collector
	id, capsule, model string
	tasks              []metrics.Task
}

func newMeasuring(id string) *measuring {
	m := &measuring{id: string([]byte(id))}
	m.Task = func(t metrics.Task) { m.tasks = append(m.tasks, t) }
	return m
}
