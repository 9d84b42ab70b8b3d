package pins

import (
	"context"
	"fmt"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/lockfile"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Prune takes out of the project store what the manifest does not declare and the
// lock does not pin (ART-200). With dry it only tells. The global store is other
// projects' too and is not touched. The error is one that stops it before any
// artifact.
func Prune(ctx context.Context, p *project.Places, dry bool) (report.Report, error) {
	if err := p.Need(); err != nil {
		return report.Report{}, err
	}
	m, err := p.Manifest()
	if err != nil {
		return report.Report{}, err
	}
	lock, _, err := lockfile.Load(p.LockPath())
	if err != nil {
		return report.Report{}, err
	}
	keep := map[artifact.Ref]bool{}
	for _, e := range m.Artifacts {
		keep[artifact.Ref{Full: e.Name, Version: e.Version}] = true
	}
	for _, e := range lock.Entries {
		keep[artifact.Ref{Full: e.Name, Version: e.Version}] = true
	}
	rows, err := p.Project.List(ctx)
	if err != nil {
		return report.Report{}, err
	}
	var rep report.Report
	for _, r := range rows {
		if keep[r.Ref] {
			continue
		}
		row := report.Row{Name: r.Ref.Full.String(), Version: r.Ref.Version, SHA256: r.SHA256, Store: r.Store, Outcome: report.WouldPrune}
		verb := "would prune"
		if !dry {
			row.Outcome, verb = report.Pruned, "pruned"
			if err := p.Project.Remove(ctx, r.Ref); err != nil {
				rep.Rows = append(rep.Rows, row.Fail(err))
				continue
			}
		}
		row.Text = fmt.Sprintf("%s %s from the %s store: neither declared nor pinned", verb, r.Ref, r.Store)
		rep.Rows = append(rep.Rows, row)
	}
	return rep, nil
}
