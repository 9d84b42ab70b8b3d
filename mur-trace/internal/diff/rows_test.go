package diff

import (
	"math"
	"testing"

	"github.com/mur-capsules/mur/mur-trace/internal/metrics"
)

// TRC-159, TRC-160: deltas, what counts as equal in the printed unit, and the
// better side by each row's direction.
func TestRows(t *testing.T) {
	find := func(b, a metrics.Metrics, name string) Row {
		for _, r := range Rows(b, a) {
			if r.Metric == name {
				return r
			}
		}
		t.Fatal(name)
		return Row{}
	}
	better := func(r Row) string {
		if r.Better == nil {
			return ""
		}
		return *r.Better
	}
	for name, c := range map[string]struct {
		before, after metrics.Metrics
		metric        string
		delta         any
		equal         bool
		better        string
	}{
		"fewer turns are better":         {metrics.Metrics{Turns: 5}, metrics.Metrics{Turns: 3}, "turns", int64(-2), false, "after"},
		"equal integers":                 {metrics.Metrics{Turns: 5}, metrics.Metrics{Turns: 5}, "turns", int64(0), true, ""},
		"a token more":                   {metrics.Metrics{InputTokens: 1 << 60}, metrics.Metrics{InputTokens: 1<<60 + 1}, "input_tokens", int64(1), false, "before"},
		"a higher rate is better":        {metrics.Metrics{ToolSuccessRate: new(0.5)}, metrics.Metrics{ToolSuccessRate: new(0.75)}, "tool_success_rate", 0.25, false, "after"},
		"0.04 points of a rate":          {metrics.Metrics{ToolSuccessRate: new(0.5)}, metrics.Metrics{ToolSuccessRate: new(0.5004)}, "tool_success_rate", 0.5004 - 0.5, true, ""},
		"0.06 points of a rate":          {metrics.Metrics{ToolSuccessRate: new(0.5)}, metrics.Metrics{ToolSuccessRate: new(0.5006)}, "tool_success_rate", 0.5006 - 0.5, false, "after"},
		"0.04 ms":                        {metrics.Metrics{ToolLatencyMSAvg: new(10.0)}, metrics.Metrics{ToolLatencyMSAvg: new(10.04)}, "tool_latency_ms_avg", 10.04 - 10.0, true, ""},
		"slower is worse":                {metrics.Metrics{ToolLatencyMSAvg: new(10.0)}, metrics.Metrics{ToolLatencyMSAvg: new(11.0)}, "tool_latency_ms_avg", 1.0, false, "before"},
		"a missing value has no delta":   {metrics.Metrics{}, metrics.Metrics{InputPerTurn: new(1.0)}, "input_per_turn", nil, false, ""},
		"two missing values are no '='":  {metrics.Metrics{}, metrics.Metrics{}, "input_per_turn", nil, false, ""},
		"compactions have no direction":  {metrics.Metrics{Compactions: 1}, metrics.Metrics{Compactions: 4}, "compaction", int64(3), false, ""},
		"statuses have no delta":         {metrics.Metrics{ExitStatus: "ok"}, metrics.Metrics{ExitStatus: "failed"}, "exit_status", nil, false, ""},
		"the same status":                {metrics.Metrics{ExitStatus: "ok"}, metrics.Metrics{ExitStatus: "ok"}, "exit_status", nil, true, ""},
		"fewer redundant calls are good": {metrics.Metrics{RedundantCalls: 1}, metrics.Metrics{}, "redundant_calls", int64(-1), false, "after"},
	} {
		r := find(c.before, c.after, c.metric)
		if !near(r.Delta, c.delta) || r.Equal() != c.equal || better(r) != c.better {
			t.Errorf("%s: delta %v, equal %v, better %q", name, r.Delta, r.Equal(), better(r))
		}
	}
}

func near(a, b any) bool {
	x, okA := a.(float64)
	y, okB := b.(float64)
	return a == b || okA && okB && math.Abs(x-y) < 1e-9
}
