// Package pins changes and checks the pins of a project: pin, unpin, verify and
// list.
package pins

import (
	"context"
	"fmt"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Pin pins what the stores hold of each reference, without fetching (ART-100).
// The error is one that stops it before any artifact.
func Pin(ctx context.Context, p *project.Places, args []string, update bool) (report.Report, error) {
	if err := p.Need(); err != nil {
		return report.Report{}, err
	}
	if _, _, err := lockfile.Load(p.LockPath()); err != nil {
		return report.Report{}, err
	}
	var rep report.Report
	for _, a := range args {
		row := report.Row{Name: a}
		if req, err := artifact.ParseRequest(a); err != nil {
			row = row.Fail(err)
		} else if req.Form != artifact.ByVersion {
			row = row.Fail(diag.Errorf("E-IO-003", "%s is no reference that can be pinned: <scope>/<name>@<version> is expected", diag.Quote(a)).
				Name("path", a).Name("reason", "no version"))
		} else {
			row = pinOne(ctx, p, req.Ref, update)
		}
		rep.Rows = append(rep.Rows, row)
	}
	return rep, nil
}

func pinOne(ctx context.Context, p *project.Places, ref artifact.Ref, update bool) report.Row {
	row := report.Row{Name: ref.Full.String(), Version: ref.Version}
	f, err := p.Chain().Resolve(ctx, ref, p.Host)
	if err != nil {
		return row.Fail(err)
	}
	row.SHA256, row.Store = f.SHA256, f.Store
	it, err := f.Item(p.Host)
	if err != nil {
		return row.Fail(err)
	}
	entry := store.Pin(ref, f.SHA256, it.Manifest.Kind, p.Host)
	before, err := project.Pin(ctx, p, entry, update)
	if err != nil {
		return row.Fail(err)
	}
	row.Outcome = report.Pinned
	row = row.From(entry.Origin)
	row.Text = fmt.Sprintf("pinned %s from the %s store (sha256 %s)", ref, f.Store, f.SHA256)
	if before.Adopted(entry) {
		row.AdoptedFrom = before.Origin.Session
		row.Text += "\n" + project.AdoptionLine(entry, before)
	}
	return row
}

// Unpin removes the entry of each full name (ART-101).
func Unpin(ctx context.Context, p *project.Places, args []string) (report.Report, error) {
	if err := p.Need(); err != nil {
		return report.Report{}, err
	}
	if _, _, err := lockfile.Load(p.LockPath()); err != nil {
		return report.Report{}, err
	}
	var rep report.Report
	for _, a := range args {
		rep.Rows = append(rep.Rows, unpinOne(ctx, p, a))
	}
	return rep, nil
}

func unpinOne(ctx context.Context, p *project.Places, arg string) report.Row {
	row := report.Row{Name: arg}
	full, err := names.ParseFull(arg)
	if err != nil {
		return row.Fail(diag.Errorf("E-IO-003", "%w", err).Hint("unpin takes <scope>/<name>, without a version").
			Name("path", arg).Name("reason", err.Error()))
	}
	var old lockfile.Entry
	err = lockfile.Update(ctx, p.LockPath(), func(l lockfile.Lock) (lockfile.Lock, error) {
		next, ok := l.Unpin(full)
		if !ok {
			return l, diag.Errorf("E-RUN-003", "%s has no entry for %s", p.LockPath(), full).
				About(diag.Subject{Kind: diag.LockEntry, Name: full.String(), File: p.LockPath()}).
				Name("entry", full.String()).Name("reason", "no entry")
		}
		old, _ = l.Find(full)
		return next, nil
	})
	if err != nil {
		return row.Fail(err)
	}
	row.Version, row.SHA256, row.Outcome = old.Version, old.SHA256.String(), report.Unpinned
	row = row.From(old.Origin)
	row.Text = fmt.Sprintf("unpinned %s", old.Ref())
	return row
}
