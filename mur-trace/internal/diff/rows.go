// Package diff compares two sessions: their metrics, row by row, and where the
// requests they sent begin to differ (TRC-158 to TRC-164).
package diff

import (
	"math"

	"github.com/mur-capsules/mur/mur-trace/internal/metrics"
)

// Row is one metric of both sessions. Before and After are int64, float64,
// string or nil.
type Row struct {
	Metric string  `json:"metric"`
	Before any     `json:"before"`
	After  any     `json:"after"`
	Delta  any     `json:"delta"`  // after minus before, nil without both
	Better *string `json:"better"` // before, after, or nil
}

// Equal reports whether the row's values are the same as printed.
func (r Row) Equal() bool {
	if r.Delta == nil {
		return r.Before != nil && r.Before == r.After
	}
	return same(r.Metric, r.Before, r.After)
}

type direction int

const (
	none direction = 0
	down direction = -1 // less is better
	up   direction = 1
)

// unit is how much one printed unit of a metric is: rates are printed in
// percent, everything else as it is.
func unit(metric string) float64 {
	if metric == "tool_success_rate" {
		return 100
	}
	return 1
}

// Rows compares two sessions in the order of TRC-159.
func Rows(before, after metrics.Metrics) []Row {
	var out []Row
	add := func(name string, dir direction, get func(metrics.Metrics) any) {
		out = append(out, row(name, dir, get(before), get(after)))
	}
	whole := func(name string, dir direction, get func(metrics.Metrics) int64) {
		add(name, dir, func(m metrics.Metrics) any { return get(m) })
	}
	maybe := func(name string, dir direction, get func(metrics.Metrics) *float64) {
		add(name, dir, func(m metrics.Metrics) any {
			if f := get(m); f != nil {
				return *f
			}
			return nil
		})
	}
	whole("turns", down, func(m metrics.Metrics) int64 { return m.Turns })
	whole("duration_ms", down, func(m metrics.Metrics) int64 { return m.DurationMS })
	whole("input_tokens", down, func(m metrics.Metrics) int64 { return m.InputTokens })
	whole("output_tokens", down, func(m metrics.Metrics) int64 { return m.OutputTokens })
	maybe("input_per_turn", down, func(m metrics.Metrics) *float64 { return m.InputPerTurn })
	maybe("output_per_turn", down, func(m metrics.Metrics) *float64 { return m.OutputPerTurn })
	whole("tool_calls", down, func(m metrics.Metrics) int64 { return m.ToolCalls })
	maybe("tool_success_rate", up, func(m metrics.Metrics) *float64 { return m.ToolSuccessRate })
	maybe("tool_latency_ms_avg", down, func(m metrics.Metrics) *float64 { return m.ToolLatencyMSAvg })
	whole("skill_calls", down, func(m metrics.Metrics) int64 { return m.SkillCalls })
	whole("shell_calls", down, func(m metrics.Metrics) int64 { return m.ShellCalls })
	maybe("shell_latency_ms_avg", down, func(m metrics.Metrics) *float64 { return m.ShellLatencyMSAvg })
	whole("redundant_calls", down, func(m metrics.Metrics) int64 { return m.RedundantCalls })
	whole("compaction", none, func(m metrics.Metrics) int64 { return m.Compactions })
	add("exit_status", none, func(m metrics.Metrics) any { return m.ExitStatus })
	return out
}

func row(name string, dir direction, before, after any) Row {
	r := Row{Metric: name, Before: before, After: after}
	b, okb := number(before)
	a, oka := number(after)
	if !okb || !oka {
		return r
	}
	grew := a > b
	if bi, ok := before.(int64); ok { // exact beyond 2^53
		ai := after.(int64)
		r.Delta, grew = ai-bi, ai > bi
	} else {
		r.Delta = a - b
	}
	if dir == none || same(name, before, after) {
		return r
	}
	if better := "after"; grew == (dir == up) {
		r.Better = &better
	} else {
		better = "before"
		r.Better = &better
	}
	return r
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// same applies TRC-160: equal integers, or numbers that differ by less than
// 0.05 in the printed unit.
func same(metric string, before, after any) bool {
	if b, ok := before.(int64); ok {
		return b == after
	}
	b, okb := number(before)
	a, oka := number(after)
	return okb && oka && math.Abs(a-b)*unit(metric) < 0.05
}
