package escape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/confine/escape/attempt"
)

// rows runs all rows: those with attempts alone together, one command for each
// terms.
func (s *session) rows() ([]Finding, error) {
	byID := map[string][]Finding{}
	rows := slices.DeleteFunc(Rows(), func(r Row) bool { return s.o.Only != nil && !slices.Contains(s.o.Only, r.ID) })
	for _, t := range []Terms{plain, listed, crowded, sockets, lent, runnable} {
		var together []Row
		for _, r := range rows {
			if r.Terms == t && r.special == nil {
				together = append(together, r)
			}
		}
		found, err := s.batch(t, together)
		if err != nil {
			return nil, fmt.Errorf("terms %q: %w", t, err)
		}
		for _, f := range found {
			byID[f.ID] = append(byID[f.ID], f)
		}
	}
	var out []Finding
	for _, r := range rows {
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		if r.special == nil {
			out = append(out, byID[r.ID]...)
			continue
		}
		if err := s.prepare(); err != nil {
			return nil, err
		}
		for _, f := range r.special(s) {
			f.ID, f.Kind = r.ID, r.Kind
			if f.What == "" {
				f.What = r.What
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// batch tries the attempts of rows in one command.
func (s *session) batch(t Terms, rows []Row) ([]Finding, error) {
	var out []Finding
	type asked struct{ finding, attempt, control int }
	var list []asked
	var tries []Try
	for _, r := range rows {
		for _, try := range r.Tries {
			f := Finding{ID: r.ID, Kind: r.Kind, What: r.What + ": " + short(try.Do), Owed: try.owed(s.o.Class), Status: NoClaim}
			if try.Gap != "" && slices.Contains(s.report.FilesystemBoundary.NotProtected, try.Gap) {
				f.Owed, f.Detail = "", "the scope report lists "+try.Gap
			}
			if f.Owed != "" {
				list = append(list, asked{finding: len(out), control: -1})
				tries = append(tries, try)
			}
			out = append(out, f)
		}
	}
	if len(list) == 0 {
		return out, nil
	}
	flags, err := s.flags(t)
	if err != nil {
		for i := range list {
			out[list[i].finding].Status, out[list[i].finding].Detail = NotRun, err.Error()
		}
		return out, nil
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	run := s.shell(nil, flags, append(slices.Clone(s.o.Probe), "all", s.requestFile())...)
	if run.started != nil {
		return nil, run.started
	}
	extra := s.processes(run.cmd.Process.Pid)
	var req attempt.Request
	add := func(words []string) int {
		req.Attempts = append(req.Attempts, attempt.Attempt{Op: words[0], Args: words[1:]})
		return len(req.Attempts) - 1
	}
	for i := range list {
		f := &out[list[i].finding]
		words, err := s.filled(tries[i].Do, extra)
		if err != nil {
			f.Status, f.Detail = NotRun, err.Error()
			list[i].attempt = -1
			continue
		}
		list[i].attempt = add(words)
		if c := control(tries[i], i%maxControls); c != nil && !matches(f.Owed, "ok") {
			if words, err := s.filled(c, extra); err == nil {
				list[i].control = add(words)
			}
		}
	}
	if err := s.ask(req); err != nil {
		return nil, err
	}
	text, err := run.text()
	if err != nil {
		return nil, err
	}
	answers, err := parse([]byte(text), len(req.Attempts))
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		if a.attempt < 0 {
			continue
		}
		f := &out[a.finding]
		*f = judge(*f, answers[a.attempt])
		if a.control >= 0 && answers[a.control] != "ok" {
			f.Status, f.Detail = Differs, fmt.Sprintf("the control %v answered %q", req.Attempts[a.control], answers[a.control])
		}
	}
	return out, nil
}

// judge compares an answer with what is owed.
func judge(f Finding, answer string) Finding {
	f.Answer, f.Status = answer, Differs
	if matches(f.Owed, answer) {
		f.Status = Held
	}
	return f
}

// short is an attempt in words, without endless arguments.
func short(do []string) string {
	text := strings.Join(do, " ")
	if len(text) > 80 {
		text = text[:77] + "..."
	}
	return text
}
