// Package report aggregates sessions: statistics of their metrics, how they
// ended, and the same over their tasks (TRC-165 to TRC-170). Files are read on
// every core; memory is a few numbers a session.
package report

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/metrics"
	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

// Session is one session of a report.
type Session struct {
	SessionID       string   `json:"session_id"`
	ExitStatus      string   `json:"exit_status"`
	Turns           int64    `json:"turns"`
	DurationMS      int64    `json:"duration_ms"`
	InputTokens     int64    `json:"input_tokens"`
	OutputTokens    int64    `json:"output_tokens"`
	ToolCalls       int64    `json:"tool_calls"`
	ToolSuccessRate *float64 `json:"tool_success_rate"`
	ShellCalls      int64    `json:"shell_calls"`
	RedundantCalls  int64    `json:"redundant_calls"`

	Capsule string         `json:"-"`
	Model   string         `json:"-"`
	Tasks   []metrics.Task `json:"-"`
}

// Read reads the sessions of traces, in their order. Those without an event or
// without a session_end are left out and counted (TRC-166).
func Read(ctx context.Context, traces []source.Trace) (sessions []Session, skipped int, err error) {
	got := make([]*Session, len(traces))
	errs := make([]error, len(traces))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(traces)) {
		wg.Go(func() {
			rd := trace.NewReader(nil)
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(traces) {
					return
				}
				got[i], errs[i] = one(traces[i], rd)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	for i, s := range got {
		switch {
		case errs[i] != nil:
			return nil, 0, errs[i]
		case s == nil:
			skipped++
		default:
			sessions = append(sessions, *s)
		}
	}
	return sessions, skipped, nil
}

func one(t source.Trace, rd *trace.Reader) (*Session, error) {
	c, err := record.Measure(t, rd)
	if err != nil || c == nil || !c.Complete {
		return nil, err
	}
	m := c.Metrics
	s := &Session{SessionID: c.ID, ExitStatus: m.ExitStatus, Turns: m.Turns, DurationMS: m.DurationMS, InputTokens: m.InputTokens,
		OutputTokens: m.OutputTokens, ToolCalls: m.ToolCalls, ToolSuccessRate: m.ToolSuccessRate, ShellCalls: m.ShellCalls,
		RedundantCalls: m.RedundantCalls, Capsule: c.Capsule, Model: c.Model}
	if len(c.Tasks) > 1 {
		s.Tasks = c.Tasks
	}
	return s, nil
}

// Stat are the statistics of one metric. The deviation is the population's.
type Stat struct {
	Mean   *float64 `json:"mean"`
	StdDev *float64 `json:"stddev"`
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
	N      int      `json:"n"`
}

// StatOf computes the statistics of values; of none everything but N is nil.
func StatOf(values []float64) Stat {
	s := Stat{N: len(values)}
	if s.N == 0 {
		return s
	}
	lo, hi, sum := values[0], values[0], 0.0
	for _, v := range values {
		lo, hi, sum = min(lo, v), max(hi, v), sum+v
	}
	mean := sum / float64(s.N)
	sq := 0.0
	for _, v := range values {
		sq += (v - mean) * (v - mean)
	}
	dev := math.Sqrt(sq / float64(s.N))
	s.Mean, s.StdDev, s.Min, s.Max = &mean, &dev, &lo, &hi
	return s
}

// Share is how often something came.
type Share struct {
	Count int     `json:"count"`
	Share float64 `json:"share"` // of 1
}

// Tasks are the statistics over the tasks of sessions that had several.
type Tasks struct {
	Count   int             `json:"count"`
	Metrics map[string]Stat `json:"metrics"`
}

// Group is the aggregate of some sessions.
type Group struct {
	Sessions   []Session        `json:"sessions"`
	Metrics    map[string]Stat  `json:"metrics"`
	ExitStatus map[string]Share `json:"exit_status"`
	Tasks      *Tasks           `json:"tasks"`
}

// Rows are the metrics of a group, in the order printed (TRC-167).
var Rows = []string{"turns", "duration_ms", "input_tokens", "output_tokens", "tool_calls", "tool_success_rate", "shell_calls", "redundant_calls"}

// TaskRows are the metrics of tasks, in the order printed (TRC-168).
var TaskRows = []string{"turns", "input_tokens", "output_tokens", "duration_ms"}

func (s *Session) value(row string) (float64, bool) {
	switch row {
	case "turns":
		return float64(s.Turns), true
	case "duration_ms":
		return float64(s.DurationMS), true
	case "input_tokens":
		return float64(s.InputTokens), true
	case "output_tokens":
		return float64(s.OutputTokens), true
	case "tool_calls":
		return float64(s.ToolCalls), true
	case "shell_calls":
		return float64(s.ShellCalls), true
	case "redundant_calls":
		return float64(s.RedundantCalls), true
	}
	if s.ToolSuccessRate == nil {
		return 0, false // a session without tool calls
	}
	return *s.ToolSuccessRate, true
}

// Aggregate computes a group of sessions.
func Aggregate(sessions []Session) Group {
	g := Group{Sessions: sessions, Metrics: map[string]Stat{}, ExitStatus: map[string]Share{}}
	for _, row := range Rows {
		var values []float64
		for i := range sessions {
			if v, ok := sessions[i].value(row); ok {
				values = append(values, v)
			}
		}
		g.Metrics[row] = StatOf(values)
	}
	per := map[string][]float64{}
	count := 0
	for _, s := range sessions {
		sh := g.ExitStatus[s.ExitStatus]
		sh.Count++
		sh.Share = float64(sh.Count) / float64(len(sessions))
		g.ExitStatus[s.ExitStatus] = sh
		for _, t := range s.Tasks {
			count++
			per["turns"] = append(per["turns"], float64(t.Turns))
			per["input_tokens"] = append(per["input_tokens"], float64(t.InputTokens))
			per["output_tokens"] = append(per["output_tokens"], float64(t.OutputTokens))
			per["duration_ms"] = append(per["duration_ms"], float64(t.DurationMS))
		}
	}
	if count > 0 {
		g.Tasks = &Tasks{Count: count, Metrics: map[string]Stat{}}
		for _, row := range TaskRows {
			g.Tasks.Metrics[row] = StatOf(per[row])
		}
	}
	return g
}
