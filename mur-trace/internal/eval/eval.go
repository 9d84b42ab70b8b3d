// Package eval reads what a scoring hook left in hooks/eval.jsonl (TRC section
// 9) and compares the scores of two sessions.
package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

// maxFailures is how many failing lines are shown (TRC-125).
const maxFailures = 5

// Score is one event_score line.
type Score struct {
	TS        int64   `json:"ts"`
	Turn      int64   `json:"turn"`
	EventType string  `json:"event_type"`
	Scorer    string  `json:"scorer"`
	Result    string  `json:"result"` // pass, fail
	Score     float64 `json:"score"`
	Reason    string  `json:"reason"`
}

// Scorer is how one scorer judged.
type Scorer struct {
	Scorer   string  `json:"scorer"`
	Passes   int     `json:"passes"`
	Total    int     `json:"total"`
	PassRate float64 `json:"pass_rate"` // of 1
}

// Evaluation is what one file says. Failures are at most five, by scorer, then
// turn.
type Evaluation struct {
	Schema    string             `json:"schema"`
	SessionID string             `json:"session_id"`
	DatasetID *string            `json:"dataset_id"`
	CaseID    *string            `json:"case_id"`
	Overall   *string            `json:"overall"` // pass, fail, no_scores; nil without a dataset_run line
	Scores    map[string]float64 `json:"scores"`
	Scorers   []Scorer           `json:"scorers"` // by name
	Failures  []Score            `json:"failures"`
}

// Read reads the evaluation of a records directory. A malformed line is
// E-EVAL-001, no file E-EVAL-002 (TRC-124).
func Read(session, dir string) (Evaluation, error) {
	e := Evaluation{Schema: "murmur.trace-eval/1", SessionID: session, Scores: map[string]float64{}, Scorers: []Scorer{}, Failures: []Score{}}
	path := filepath.Join(dir, filepath.FromSlash(trace.EvalStream))
	f, err := os.Open(path)
	if dir == "" || errors.Is(err, fs.ErrNotExist) {
		return e, diag.Errorf("E-EVAL-002", "session %s has no evaluation: there is no %s", session, path).
			Hint("a scoring hook with capabilities.filesystem.records writes one").Name("session", session).Name("directory", dir)
	}
	if err != nil {
		return e, workfs.Fault(err, "cannot read an evaluation")
	}
	defer f.Close()
	rd := trace.NewReader(f)
	by := map[string]*Scorer{}
	for rd.Next() {
		if err := e.line(rd, by); err != nil {
			return e, diag.Errorf("E-EVAL-001", "%s:%d: %w", path, rd.Number, err).
				About(diag.Subject{Kind: diag.TraceLine, Name: trace.EvalStream, File: path, Line: int(rd.Number)}).Name("file", path).Name("line", rd.Number)
		}
	}
	if err := rd.Err(); err != nil {
		return e, workfs.Fault(err, "cannot read "+path)
	}
	for _, s := range by {
		s.PassRate = float64(s.Passes) / float64(s.Total)
		e.Scorers = append(e.Scorers, *s)
	}
	slices.SortFunc(e.Scorers, func(a, b Scorer) int { return strings.Compare(a.Scorer, b.Scorer) })
	slices.SortStableFunc(e.Failures, func(a, b Score) int {
		if c := strings.Compare(a.Scorer, b.Scorer); c != 0 {
			return c
		}
		return int(a.Turn - b.Turn)
	})
	e.Failures = e.Failures[:min(len(e.Failures), maxFailures)]
	return e, nil
}

func (e *Evaluation) line(rd *trace.Reader, by map[string]*Scorer) error {
	raw := rd.Line.Raw()
	switch {
	case rd.State == trace.Torn && !rd.Line.Parse(raw), rd.State == trace.Malformed:
		return errors.New("the line is no JSON object")
	}
	switch typ := rd.Line.Get("record_type").Str(); typ {
	case "event_score":
		var s Score
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		if s.Scorer == "" || s.Result != "pass" && s.Result != "fail" {
			return fmt.Errorf("an event_score needs a scorer and a result of pass or fail")
		}
		c := by[s.Scorer]
		if c == nil {
			c = &Scorer{Scorer: s.Scorer}
			by[s.Scorer] = c
		}
		if c.Total++; s.Result == "pass" {
			c.Passes++
		} else {
			e.Failures = append(e.Failures, s)
		}
	case "dataset_run":
		var d struct {
			DatasetID *string            `json:"dataset_id"`
			CaseID    *string            `json:"case_id"`
			Overall   string             `json:"overall"`
			Scores    map[string]float64 `json:"scores"`
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			return err
		}
		e.DatasetID, e.CaseID, e.Overall = d.DatasetID, d.CaseID, &d.Overall
		if d.Scores != nil {
			e.Scores = d.Scores
		}
	default:
		return fmt.Errorf("record_type is %s, not event_score or dataset_run", diag.Quote(typ))
	}
	return nil
}

// JSON prints the evaluation for programs.
func JSON(w io.Writer, e Evaluation) error {
	j := render.NewJSON(w)
	j.Value(e)
	return j.Close()
}

// Text prints the evaluation for people.
func Text(t *render.Text, e Evaluation) error {
	t.Section("Evaluation of %s", render.Clean(e.SessionID))
	if e.DatasetID != nil || e.CaseID != nil {
		t.Field("case", render.Or(e.DatasetID)+" "+render.Or(e.CaseID))
	}
	t.Field("overall", render.Or(e.Overall))
	var rows [][]string
	for _, s := range e.Scorers {
		score := render.None
		if v, ok := e.Scores[s.Scorer]; ok {
			score = render.Decimal(v)
		}
		rows = append(rows, []string{render.Clean(s.Scorer), render.Count(int64(s.Passes)), render.Count(int64(s.Total)), render.Percent(&s.PassRate), score})
	}
	t.Table([]string{"scorer", ">passes", ">total", ">pass rate", ">score"}, rows)
	if len(e.Failures) > 0 {
		t.Section("Failing")
		for _, f := range e.Failures {
			t.Printf("  %s  turn %d  %s  %s\n", render.Clean(f.Scorer), f.Turn, render.Clean(f.EventType), render.Clean(f.Reason))
		}
	}
	return t.Close()
}

// Change is one scorer in two evaluations; a rate is nil where it did not run.
type Change struct {
	Scorer string   `json:"scorer"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	Points *float64 `json:"points"` // percentage points, after minus before
}

// Compare compares pass rates, scorers by name (TRC-125).
func Compare(before, after Evaluation) []Change {
	by := map[string]*Change{}
	get := func(name string) *Change {
		if by[name] == nil {
			by[name] = &Change{Scorer: name}
		}
		return by[name]
	}
	for _, s := range before.Scorers {
		get(s.Scorer).Before = new(s.PassRate)
	}
	for _, s := range after.Scorers {
		get(s.Scorer).After = new(s.PassRate)
	}
	out := []Change{}
	for _, c := range by {
		if c.Before != nil && c.After != nil {
			c.Points = new((*c.After - *c.Before) * 100)
		}
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Scorer, b.Scorer) })
	return out
}

// CompareJSON prints the comparison for programs.
func CompareJSON(w io.Writer, before, after Evaluation) error {
	j := render.NewJSON(w)
	j.Value(struct {
		Schema string   `json:"schema"`
		Before string   `json:"before"`
		After  string   `json:"after"`
		Rows   []Change `json:"rows"`
	}{"murmur.trace-eval-diff/1", before.SessionID, after.SessionID, Compare(before, after)})
	return j.Close()
}

// CompareText prints the comparison for people.
func CompareText(t *render.Text, before, after Evaluation) error {
	t.Section("Scores: %s → %s", render.Clean(before.SessionID), render.Clean(after.SessionID))
	var rows [][]string
	for _, c := range Compare(before, after) {
		delta := "only before"
		switch {
		case c.Points != nil:
			delta = fmt.Sprintf("%+.1f points", *c.Points)
		case c.Before == nil:
			delta = "only after"
		}
		rows = append(rows, []string{render.Clean(c.Scorer), render.Percent(c.Before), render.Percent(c.After), delta})
	}
	t.Table([]string{"scorer", ">before", ">after", ">change"}, rows)
	return t.Close()
}
