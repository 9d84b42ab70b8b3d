package report

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/mur-capsules/mur/lib/trace/tracegen"

	"github.com/mur-capsules/mur/mur-trace/internal/metrics"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

// TRC-167: the deviation is the population's.
func TestStatOf(t *testing.T) {
	s := StatOf([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	if *s.Mean != 5 || *s.StdDev != 2 || *s.Min != 2 || *s.Max != 9 || s.N != 8 {
		t.Errorf("%v %v %v %v %d", *s.Mean, *s.StdDev, *s.Min, *s.Max, s.N)
	}
	if s := StatOf([]float64{3}); *s.StdDev != 0 || s.N != 1 {
		t.Error("one value deviates")
	}
	if s := StatOf(nil); s.Mean != nil || s.StdDev != nil || s.Min != nil || s.Max != nil || s.N != 0 {
		t.Error("no value has statistics")
	}
}

// TRC-167, TRC-168: sessions without tool calls are left out of the rate, those
// with one task out of the task statistics.
func TestAggregate(t *testing.T) {
	g := Aggregate([]Session{
		{ExitStatus: "ok", ToolSuccessRate: new(0.5), Tasks: []metrics.Task{{Turns: 1}, {Turns: 3}}},
		{ExitStatus: "ok"}, {ExitStatus: "failed", ToolSuccessRate: new(1.0)},
	})
	if r := g.Metrics["tool_success_rate"]; r.N != 2 || *r.Mean != 0.75 {
		t.Errorf("%+v", r)
	}
	if s := g.ExitStatus["ok"]; s.Count != 2 || math.Abs(s.Share-2.0/3) > 1e-12 {
		t.Errorf("%+v", s)
	}
	if g.Tasks.Count != 2 || *g.Tasks.Metrics["turns"].Mean != 2 {
		t.Errorf("%+v", g.Tasks)
	}
	if g := Aggregate([]Session{{}}); g.Tasks != nil || g.Metrics["tool_success_rate"].N != 0 {
		t.Errorf("%+v", g)
	}
}

// Files are read at once and stay in their order.
func TestReadKeepsTheOrder(t *testing.T) {
	dir := t.TempDir()
	ids, err := tracegen.Set(dir, 600_000, 30_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	var traces []source.Trace
	for _, id := range ids {
		traces = append(traces, source.Trace{SessionID: id, Path: dir + "/" + id + "/trace.jsonl"})
	}
	got, skipped, err := Read(context.Background(), traces)
	if err != nil || skipped != 0 || len(got) != len(ids) {
		t.Fatalf("%d of %d, %d, %v", len(got), len(ids), skipped, err)
	}
	for i, s := range got {
		if s.SessionID != ids[i] || s.Turns == 0 || s.Capsule != "demo" {
			t.Errorf("%d: %+v", i, s)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Read(ctx, traces); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	traces[3].Path = dir + "/nothing"
	if _, _, err := Read(context.Background(), traces); err == nil {
		t.Error("a trace that is gone is silent")
	}
}
