// Package record reads one trace once, counts the session a command is about
// and remembers where its events lie, so that any of them can be read again.
// Memory is a few bytes an event; no event is kept.
package record

import (
	"errors"
	"io"
	"iter"
	"os"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/metrics"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

// Notes are what a reader met and tolerated (TRC section 6), of the whole file.
type Notes struct {
	TornTail       bool             `json:"torn_tail"`
	MalformedLines []int64          `json:"malformed_lines"`
	UnknownEvents  map[string]int64 `json:"unknown_events"`
	OtherSessions  []string         `json:"other_sessions"`
}

// Record is one session of one trace.
type Record struct {
	Trace   source.Trace
	ID      string
	Metrics metrics.Metrics
	Notes   Notes

	Started   bool // a session_start was met
	Complete  bool // a session_end was met
	StartedAt int64
	Redundant []metrics.Redundant

	file   *os.File
	events []event
	window []byte // of the file, for reading events again
	at     int64  // offset of window
	line   trace.Line
}

// event is where one known event of the session lies.
type event struct {
	offset, size int64
	number       int64
	typ          uint8
}

var (
	types     = trace.Types()
	typeIndex = func() map[trace.Type]uint8 {
		m := make(map[trace.Type]uint8, len(types))
		for i, t := range types {
			m[t] = uint8(i)
		}
		return m
	}()
)

// Options say what a command refuses.
type Options struct {
	Strict   bool // malformed lines and a missing session_end are E-TRC-001
	Unframed bool // a file without session_start is read too (TRC-91)
}

// group is one session_id met in the file.
type group struct {
	id        string
	collector metrics.Collector
	events    []event
	redundant []metrics.Redundant
	startLine int64
}

// Load reads a trace. The session is the address's own, else the last one that
// began in the file (TRC-92).
func Load(t source.Trace, opt Options) (*Record, error) {
	f, err := t.OpenAt()
	if err != nil {
		return nil, err
	}
	r := &Record{Trace: t, file: f}
	if err := r.load(opt); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// Close closes the trace.
func (r *Record) Close() error { return r.file.Close() }

func (r *Record) load(opt Options) error {
	rd := trace.NewReader(r.file)
	unknown := map[string]*int64{}
	var groups []*group
	var cur *group
	var lines int64
	for rd.Next() {
		lines++
		switch rd.State {
		case trace.Torn:
			r.Notes.TornTail = true
			continue
		case trace.Malformed:
			if opt.Strict {
				return source.Unreadable(r.Trace, rd.Number, "the line is no JSON object")
			}
			r.Notes.MalformedLines = append(r.Notes.MalformedLines, rd.Number)
			continue
		}
		l := &rd.Line
		id := l.Get("session_id").Str()
		if cur == nil || cur.id != id {
			cur = find(&groups, id)
		}
		if !l.Known() {
			name := string(l.Type())
			if unknown[name] == nil {
				unknown[string([]byte(name))] = new(int64)
			}
			*unknown[name]++
			continue
		}
		if l.Type() == "session_start" {
			cur.startLine = rd.Number
		}
		cur.collector.Add(l)
		cur.events = append(cur.events, event{rd.Offset, int64(len(l.Raw())), rd.Number, typeIndex[l.Type()]})
	}
	if err := rd.Err(); err != nil {
		return workfs.Fault(err, "cannot read "+r.Trace.Path)
	}
	r.Notes.UnknownEvents = map[string]int64{}
	for k, n := range unknown {
		r.Notes.UnknownEvents[k] = *n
	}
	return r.choose(groups, lines, opt)
}

func find(groups *[]*group, id string) *group {
	for _, g := range *groups {
		if g.id == id {
			return g
		}
	}
	g := &group{id: string([]byte(id))}
	g.collector.Redundant = func(x metrics.Redundant) { g.redundant = append(g.redundant, x) }
	*groups = append(*groups, g)
	return g
}

func (r *Record) choose(groups []*group, lines int64, opt Options) error {
	if lines == 0 {
		return source.Unreadable(r.Trace, 0, "the trace is empty")
	}
	var got *group
	for _, g := range groups {
		switch {
		case r.Trace.SessionID != "":
			if g.id == r.Trace.SessionID {
				got = g
			}
		case got == nil || g.startLine >= got.startLine:
			got = g
		}
	}
	if (got == nil || !got.collector.Started()) && !opt.Unframed {
		return source.Unreadable(r.Trace, 0, "the trace has no session_start").
			Hint("mur-trace filter, tail and verify read it all the same")
	}
	if got == nil {
		got = &group{id: r.Trace.SessionID}
	}
	r.ID, r.events, r.Redundant = got.id, got.events, got.redundant
	r.Metrics = got.collector.Metrics()
	r.Started, r.Complete, r.StartedAt = got.collector.Started(), got.collector.Complete(), got.collector.StartedAt()
	for _, g := range groups {
		if g != got {
			r.Notes.OtherSessions = append(r.Notes.OtherSessions, g.id)
		}
	}
	if opt.Strict && !r.Complete {
		return source.Unreadable(r.Trace, 0, "the trace has no session_end")
	}
	return nil
}

// Count returns how many events of the given types the session has.
func (r *Record) Count(ts ...trace.Type) int {
	want := mask(ts)
	n := 0
	for _, e := range r.events {
		if want[e.typ] {
			n++
		}
	}
	return n
}

// Index returns the places of the session's events of the given types, for At.
func (r *Record) Index(ts ...trace.Type) []int {
	want := mask(ts)
	var out []int
	for i, e := range r.events {
		if want[e.typ] {
			out = append(out, i)
		}
	}
	return out
}

// Len is the number of the session's known events.
func (r *Record) Len() int { return len(r.events) }

// At reads the event at a place again, nil when the file no longer holds it.
// The line is good until the next.
func (r *Record) At(i int) *trace.Line {
	if !r.read(r.events[i]) {
		return nil
	}
	return &r.line
}

// Number is the line number of the event at a place.
func (r *Record) Number(i int) int64 { return r.events[i].number }

// TypeAt is the type of the event at a place.
func (r *Record) TypeAt(i int) trace.Type { return types[r.events[i].typ] }

// Events yields the session's events of the given types, or all without any,
// in file order, with their line numbers. A line is good until the next.
func (r *Record) Events(ts ...trace.Type) iter.Seq2[int64, *trace.Line] {
	want := mask(ts)
	return func(yield func(int64, *trace.Line) bool) {
		for _, e := range r.events {
			if len(ts) > 0 && !want[e.typ] {
				continue
			}
			if !r.read(e) || !yield(e.number, &r.line) {
				return
			}
		}
	}
}

func mask(ts []trace.Type) (m [256]bool) {
	for _, t := range ts {
		if i, ok := typeIndex[t]; ok {
			m[i] = true
		}
	}
	return m
}

const windowSize = 256 << 10

// read makes r.line the event e. A file that changed under the command ends the
// walk: it is never cut short by its writers, so there is no more to say.
func (r *Record) read(e event) bool {
	if e.offset < r.at || e.offset+e.size > r.at+int64(len(r.window)) {
		if need := int(max(e.size, windowSize)); cap(r.window) < need {
			r.window = make([]byte, need)
		}
		r.window = r.window[:max(e.size, windowSize)]
		n, err := r.file.ReadAt(r.window, e.offset)
		if err != nil && !errors.Is(err, io.EOF) {
			n = 0
		}
		r.window, r.at = r.window[:n], e.offset
	}
	from := e.offset - r.at
	if from+e.size > int64(len(r.window)) {
		return false
	}
	return r.line.Parse(r.window[from : from+e.size])
}

// Start returns the session_start, nil when there is none.
func (r *Record) Start() *trace.SessionStart {
	for _, l := range r.Events("session_start") {
		if s, ok := l.Decode().(trace.SessionStart); ok {
			return &s
		}
	}
	return nil
}
