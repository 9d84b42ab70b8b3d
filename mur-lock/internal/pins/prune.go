package pins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/session/stale"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/layout"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Prune takes out of the project store what the manifest does not declare, the
// lock does not pin and no session reads (ART-200). With dry it only tells. The
// global store is other projects' too and is not touched. The error is one that
// stops it before any artifact.
func Prune(ctx context.Context, p *project.Places, dry bool) (report.Report, error) {
	if err := p.Need(); err != nil {
		return report.Report{}, err
	}
	m, err := p.Manifest()
	if err != nil {
		return report.Report{}, err
	}
	keep, err := pinned(p)
	if err != nil {
		return report.Report{}, err
	}
	for _, e := range m.Artifacts {
		keep[artifact.Ref{Full: e.Name, Version: e.Version}] = true
	}
	rows, err := p.Project.List(ctx)
	if err != nil {
		return report.Report{}, err
	}
	uses, err := stale.Uses(p.Home)
	if err != nil {
		return report.Report{}, err
	}
	var rep report.Report
	for _, r := range rows {
		if !keep[r.Ref] {
			rep.Rows = append(rep.Rows, pruneOne(ctx, p, r, uses, dry))
		}
	}
	return rep, nil
}

// pinned are the artifacts the lock pins.
func pinned(p *project.Places) (map[artifact.Ref]bool, error) {
	lock, _, err := lockfile.Load(p.LockPath())
	out := map[artifact.Ref]bool{}
	for _, e := range lock.Entries {
		out[artifact.Ref{Full: e.Name, Version: e.Version}] = true
	}
	return out, err
}

func pruneOne(ctx context.Context, p *project.Places, r store.Row, uses []stale.Use, dry bool) report.Row {
	row := report.Row{Name: r.Ref.Full.String(), Version: r.Ref.Version, SHA256: r.SHA256, Store: r.Store}
	if by := reader(uses, p.Project.Place(r.Ref)); by != "" {
		return inUse(row, fmt.Sprintf("%s in the %s store", r.Ref, r.Store), "session "+by+" uses it")
	}
	verb := "would prune"
	row.Outcome = report.WouldPrune
	if !dry {
		verb = "pruned"
		row.Outcome = report.Pruned
		removed, err := removeUnpinned(ctx, p, r.Ref)
		if err != nil {
			return row.Fail(err)
		}
		if !removed {
			return inUse(row, fmt.Sprintf("%s in the %s store", r.Ref, r.Store), "it was pinned meanwhile")
		}
	}
	row.Text = fmt.Sprintf("%s %s from the %s store: neither declared nor pinned", verb, r.Ref, r.Store)
	return row
}

// removeUnpinned removes a version unless an install has pinned it since the lock
// was read. The lock is held, so an install that pins it later sees that it is gone
// and stores it again.
func removeUnpinned(ctx context.Context, p *project.Places, ref artifact.Ref) (bool, error) {
	release, err := lockfile.Hold(ctx, p.LockPath())
	if err != nil {
		return false, err
	}
	defer release()
	now, err := pinned(p)
	if err != nil || now[ref] {
		return false, err
	}
	return true, p.Project.Remove(ctx, ref)
}

// reader is a session that reads a file in the directory of a version, "" for
// none. The session may have reached it by another path.
func reader(uses []stale.Use, dir string) string {
	fi, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	for _, u := range uses {
		for _, f := range u.Files {
			if !strings.HasSuffix(filepath.Dir(f), filepath.Base(dir)) {
				continue
			}
			if other, err := os.Stat(filepath.Dir(f)); err == nil && os.SameFile(fi, other) {
				return u.Session
			}
		}
	}
	return ""
}

func inUse(row report.Row, what, reason string) report.Row {
	row.Outcome, row.Reason = report.InUse, reason
	row.Text = "kept " + what + ": " + reason
	return row
}

// PruneBundles frees what the murmur home keeps of bundles that no session uses
// (ART-220). With all also those that were installed by an address. With dry it
// only tells.
func PruneBundles(ctx context.Context, p *project.Places, all, dry bool) (report.Report, error) {
	shelf := bundle.ShelfOf(p.Home)
	found, kept, err := shelf.Unused(all)
	if err != nil {
		return report.Report{}, err
	}
	var rep report.Report
	var freed int64
	verb, sum := "would prune", "would free"
	if !dry {
		verb, sum = "pruned", "freed"
	}
	for _, l := range kept {
		row, what := bundleRow(shelf, l)
		rep.Rows = append(rep.Rows, inUse(row, what, l.Reason))
	}
	for _, l := range found {
		row, what := bundleRow(shelf, l)
		if !dry {
			row.Outcome = report.Pruned
			row.Bytes, err = shelf.Free(ctx, l)
			if errors.Is(err, bundle.ErrUsed) {
				rep.Rows = append(rep.Rows, inUse(row, what, err.Error()))
				continue
			}
			if err != nil {
				rep.Rows = append(rep.Rows, row.Fail(err))
				continue
			}
		}
		freed += row.Bytes
		row.Text = fmt.Sprintf("%s %s, %d bytes: %s", verb, what, row.Bytes, l.Reason)
		rep.Rows = append(rep.Rows, row)
	}
	rep.Note = fmt.Sprintf("%s %d bytes", sum, freed)
	return rep, nil
}

// bundleRow is the row of a bundle, and what it is called in a line.
func bundleRow(shelf bundle.Shelf, l bundle.Leftover) (row report.Row, what string) {
	name, version := shelf.Called(l)
	switch {
	case l.Digest == "":
		what = "the unfinished files of bundles"
	case name == "":
		what = "the bundle " + l.Digest
	default:
		what = fmt.Sprintf("the bundle %s@%s (%s)", name, version, l.Digest)
	}
	return report.Row{
		Name: name, Version: version, SHA256: strings.TrimPrefix(l.Digest, layout.Prefix), Digest: l.Digest,
		Outcome: report.WouldPrune, Bytes: l.Bytes, Reason: l.Reason,
	}, what
}
