package report

import (
	"io"
	"slices"
	"sort"
	"strconv"

	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

// Report is everything the command prints.
type Report struct {
	Root     *string // the directory searched, nil when sessions were named
	Skipped  int
	Sessions []Session
	By       string // capsule, model, exit_status, or "" for one group
}

// Named is a group and what its sessions have in common.
type Named struct {
	Key string `json:"key"`
	Group
}

// Groups returns the groups of the report, sorted by key.
func (r Report) Groups() []Named {
	keys := map[string][]Session{}
	for _, s := range r.Sessions {
		k := map[string]string{"capsule": s.Capsule, "model": s.Model, "exit_status": s.ExitStatus}[r.By]
		keys[k] = append(keys[k], s)
	}
	var out []Named
	for k, sessions := range keys {
		out = append(out, Named{k, Aggregate(sessions)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// JSON prints the document of `report --json` (TRC-169, TRC-170).
func JSON(w io.Writer, r Report) error {
	type head struct {
		Schema  string  `json:"schema"`
		Root    *string `json:"root"`
		Skipped int     `json:"skipped"`
	}
	h := head{"murmur.trace-report/1", r.Root, r.Skipped}
	j := render.NewJSON(w)
	if r.By == "" {
		j.Value(struct {
			head
			Group
		}{h, Aggregate(r.Sessions)})
	} else {
		j.Value(struct {
			head
			By     string  `json:"by"`
			Groups []Named `json:"groups"`
		}{h, r.By, r.Groups()})
	}
	return j.Close()
}

// Text prints the report for people.
func Text(t *render.Text, r Report) error {
	if r.By == "" {
		group(t, "", Aggregate(r.Sessions))
	} else {
		for _, g := range r.Groups() {
			key := render.Clean(g.Key)
			if key == "" {
				key = render.None
			}
			group(t, r.By+" "+key+": ", g.Group)
		}
	}
	return t.Close()
}

func group(t *render.Text, name string, g Group) {
	t.Section("%s%d sessions", name, len(g.Sessions))
	stats(t, Rows, g.Metrics)
	t.Section("Ended")
	var names []string
	for k := range g.ExitStatus {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		s := g.ExitStatus[k]
		t.Field(render.Clean(k), strconv.Itoa(s.Count)+"  "+render.Percent(&s.Share))
	}
	if g.Tasks != nil {
		t.Section("%d tasks, of sessions with several", g.Tasks.Count)
		stats(t, TaskRows, g.Tasks.Metrics)
	}
}

func stats(t *render.Text, rows []string, m map[string]Stat) {
	var table [][]string
	for _, row := range rows {
		s := m[row]
		f := func(v *float64) string {
			switch {
			case v == nil:
				return render.None
			case row == "tool_success_rate":
				return render.Percent(v)
			case row == "duration_ms":
				return render.MillisOf(v)
			}
			return render.Decimal(*v)
		}
		table = append(table, []string{row, f(s.Mean), f(s.StdDev), f(s.Min), f(s.Max), strconv.Itoa(s.N)})
	}
	t.Table([]string{"metric", ">mean", ">stddev", ">min", ">max", ">n"}, table)
}
