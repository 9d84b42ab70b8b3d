package pins

import (
	"context"
	"errors"
	"fmt"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Diff tells what mur-lock install would do for each artifact the manifest takes
// from a store, and why, and which pins nobody declares (ART-199). It changes
// nothing and asks no network; changed says whether any row is a change. The
// error is one that leaves nothing to compare.
func Diff(ctx context.Context, p *project.Places) (rep report.Report, changed bool, err error) {
	if err := p.Need(); err != nil {
		return rep, false, err
	}
	m, err := p.Manifest()
	if err != nil {
		return rep, false, err
	}
	lock, _, err := lockfile.Load(p.LockPath())
	if err != nil {
		return rep, false, err
	}
	declared := map[names.Full]bool{}
	for _, e := range m.Artifacts {
		declared[e.Name] = true
		if e.Source != "" {
			continue
		}
		ref := artifact.Ref{Full: e.Name, Version: e.Version}
		var held []held
		for _, s := range p.Chain() {
			h, err := look(ctx, s, ref, p.Host)
			if err != nil {
				return rep, false, err
			}
			held = append(held, h)
		}
		pin, pinned := lock.Find(ref.Full)
		row := decide(ref, pin, pinned, held, p.Host)
		changed = changed || row.Outcome != report.Unchanged
		rep.Rows = append(rep.Rows, row)
	}
	for _, e := range lock.Entries {
		if !declared[e.Name] {
			changed = true
			rep.Rows = append(rep.Rows, unused(e))
		}
	}
	return rep, changed, nil
}

// held is what one store has of an artifact.
type held struct {
	store   string
	project bool   // it is the store install writes to
	sha256  string // "" for nothing
	damaged string // why what it has can not be used
}

func look(ctx context.Context, s *store.Store, ref artifact.Ref, host string) (held, error) {
	h := held{store: s.Label(), project: s.Label() == store.Project}
	f, err := s.Resolve(ctx, ref, host)
	var nf *store.NotFoundError
	switch {
	case err == nil:
		h.sha256 = f.SHA256
	case errors.As(err, &nf):
	case ctx.Err() != nil:
		return h, context.Cause(ctx)
	default:
		h.damaged = err.Error()
	}
	return h, nil
}

// decide says what an install would do about one artifact.
func decide(ref artifact.Ref, pin lockfile.Entry, pinned bool, stores []held, host string) report.Row {
	row := report.Row{Name: ref.Full.String(), Version: ref.Version}
	if pinned {
		row, row.Pinned = row.From(pin.Origin), pin.Version
	}
	say := func(o report.Outcome, format string, args ...any) report.Row {
		row.Outcome, row.Reason = o, fmt.Sprintf(format, args...)
		row.Text = fmt.Sprintf("%-9s %s  %s", o, ref, row.Reason)
		return row
	}
	if pinned && pin.Version != ref.Version {
		return say(report.Update, "murmur.yaml asks for %s and murmur.lock pins %s; install refuses until mur-lock unpin %s", ref.Version, pin.Version, ref.Full)
	}
	want, hasHash := "", false
	if pinned {
		want, hasHash = pin.SHA256.For(host)
	}
	row.SHA256 = want
	where := choosePlace(stores, want)
	switch {
	case pinned && pin.Origin.IsRuntime():
		return say(report.Adopt, "session %s pinned it; an install makes it the operator's", pin.Origin.Session)
	case hasHash && where.project && where.sha256 == want:
		return say(report.Unchanged, "pinned, and the project store has it")
	case hasHash && where.sha256 == want:
		return say(report.Fetch, "the %s store has the pinned bytes and the project store does not", where.store)
	case hasHash && where.sha256 != "":
		return say(report.Restore, "the %s store has other bytes (sha256 %s) than murmur.lock pins", where.store, where.sha256)
	case where.damaged != "":
		return say(report.Restore, "what the %s store has is damaged: %s", where.store, where.damaged)
	case where.sha256 == "":
		return say(report.Fetch, "no store has it; the sources of scope %s are asked", ref.Full.Scope)
	case pinned:
		row.SHA256 = where.sha256
		return say(report.Add, "murmur.lock pins it for other platforms than %s", host)
	}
	row.SHA256 = where.sha256
	return say(report.Add, "declared and not pinned; the %s store has it (sha256 %s)", where.store, where.sha256)
}

// choosePlace takes the store with the wanted bytes, else the first that has any,
// else the first with damaged ones.
func choosePlace(stores []held, want string) held {
	var any, damaged held
	for _, h := range stores {
		switch {
		case h.sha256 != "" && h.sha256 == want:
			return h
		case h.sha256 != "" && any.sha256 == "":
			any = h
		case h.damaged != "" && damaged.damaged == "":
			damaged = h
		}
	}
	if any.sha256 == "" && damaged.damaged != "" {
		return damaged
	}
	return any
}

func unused(e lockfile.Entry) report.Row {
	row := report.Row{Name: e.Name.String(), Version: e.Version, Pinned: e.Version, SHA256: e.SHA256.String(), Outcome: report.Unused}
	row = row.From(e.Origin)
	row.Reason = "pinned and not declared; an install leaves it, mur-lock unpin " + e.Name.String() + " removes it"
	row.Text = fmt.Sprintf("%-9s %s  %s", row.Outcome, e.Ref(), row.Reason)
	return row
}
