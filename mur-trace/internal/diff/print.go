package diff

import (
	"io"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/render"
	"github.com/mur-capsules/mur/mur-trace/internal/show"
)

// JSON prints the document of `diff --json` (TRC-163); scores is nil without
// --eval.
func JSON(w io.Writer, before, after *record.Record) error {
	j := render.NewJSON(w)
	j.Value(struct {
		Schema     string     `json:"schema"`
		Before     any        `json:"before"`
		After      any        `json:"after"`
		Rows       []Row      `json:"rows"`
		Divergence Divergence `json:"divergence"`
	}{"murmur.trace-diff/1", show.Session(before), show.Session(after), Rows(before.Metrics, after.Metrics), Compare(before, after)})
	return j.Close()
}

// Text prints the comparison for people.
func Text(t *render.Text, before, after *record.Record) error {
	t.Section("%s → %s", before.ID, after.ID)
	var rows [][]string
	for _, r := range Rows(before.Metrics, after.Metrics) {
		delta := render.None
		switch {
		case r.Equal():
			delta = "="
		case r.Delta != nil:
			if delta = value(r.Metric, r.Delta); delta != "" && delta[0] != '-' {
				delta = "+" + delta
			}
		}
		better := ""
		if r.Better != nil {
			better = t.Good(*r.Better)
		}
		rows = append(rows, []string{r.Metric, value(r.Metric, r.Before), value(r.Metric, r.After), delta, better})
	}
	t.Table([]string{"metric", ">before", ">after", ">delta", "better"}, rows)
	divergence(t, Compare(before, after))
	return t.Close()
}

func value(metric string, v any) string {
	switch v := v.(type) {
	case int64:
		if metric == "duration_ms" {
			return render.Millis(v)
		}
		return render.Count(v)
	case float64:
		switch metric {
		case "tool_success_rate":
			return render.Percent(&v)
		case "tool_latency_ms_avg", "shell_latency_ms_avg":
			return render.Decimal(v) + "ms"
		}
		return render.Decimal(v)
	case string:
		return render.Clean(v)
	}
	return render.None
}

func divergence(t *render.Text, d Divergence) {
	t.Section("Requests")
	for _, run := range d.Bare {
		t.Printf("  %s ran under capture none: it recorded no hashes\n", run)
	}
	if !d.Comparable {
		return
	}
	for _, p := range []struct {
		name string
		Prefix
	}{{"system text", d.System}, {"tools", d.Tools}} {
		state := "identical"
		if !p.Identical {
			state = "differing: " + short(p.Before) + " and " + short(p.After)
		}
		t.Printf("  %s: %s\n", p.name, state)
	}
	for _, c := range d.Changes {
		t.Printf("  %s changes its own %s at task %d turn %d\n", c.Run, c.What, c.Task, c.Turn)
	}
	for _, x := range d.Turns {
		t.Printf("  task %d turn %d: ", x.Task, x.Turn)
		switch x.State {
		case "identical":
			t.Printf("identical, %d messages\n", x.BeforeLen)
		case "diverges":
			n := 0
			if x.Index != nil {
				n = *x.Index
			}
			t.Printf("differs from message %d on (%d and %d messages)\n", n, x.BeforeLen, x.AfterLen)
		case "prefix":
			t.Printf("the same up to message %d (%d and %d messages)\n", min(x.BeforeLen, x.AfterLen), x.BeforeLen, x.AfterLen)
		case "only_before":
			t.Printf("only before (%d messages)\n", x.BeforeLen)
		case "only_after":
			t.Printf("only after (%d messages)\n", x.AfterLen)
		}
	}
}

func short(sha *string) string {
	if sha == nil {
		return render.None
	}
	return render.Clean((*sha)[:min(12, len(*sha))])
}
