package pins

import (
	"context"
	"fmt"

	"github.com/mur-capsules/mur/lib/audit"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Verify compares manifest, lock and stores and changes nothing (ART-184). Each
// declared artifact that comes from a store is a row with every fault found in
// it. The error is one that leaves nothing to compare.
func Verify(ctx context.Context, p *project.Places, warn func(diag.Warning)) (report.Report, error) {
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
	findings, err := audit.Run(ctx, audit.Project{Manifest: m, Lock: lock, LockPath: p.LockPath(), Stores: p.Chain(), Host: p.Host, Limits: p.Limits, Trust: p.Trust}, warn)
	rep := report.Report{Also: err}
	for _, f := range findings {
		rep.Rows = append(rep.Rows, row(f))
	}
	return rep, nil
}

func row(f audit.Finding) report.Row {
	r := report.Row{SignedBy: f.Signed, Name: f.Ref.Full.String(), Version: f.Ref.Version, Outcome: report.Verified, SHA256: f.SHA256, Store: f.Store}
	if f.Pin != nil {
		r = r.From(f.Pin.Origin)
	}
	if len(f.Faults) > 0 {
		return r.Fail(f.Faults...)
	}
	r.Text = fmt.Sprintf("verified %s in the %s store (sha256 %s)", f.Ref, f.Store, f.SHA256)
	return r
}
