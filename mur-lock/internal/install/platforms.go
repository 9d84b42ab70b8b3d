package install

import (
	"context"
	"fmt"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/store/source"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// AllPlatforms fetches every platform's variant of each reference from the sources
// into the global store (ART-125). What is the same everywhere is one row. The
// error is one that stops it before any artifact.
func AllPlatforms(ctx context.Context, p *project.Places, o Options) (report.Report, error) {
	o.Global = true
	in, err := newInstaller(p, o)
	if err != nil {
		return report.Report{}, err
	}
	var rep report.Report
	for _, arg := range o.Args {
		req, err := artifact.ParseRequest(arg)
		if err == nil && req.Form != artifact.ByVersion {
			err = diag.Errorf("E-IO-003", "%s: all platforms are fetched by <scope>/<name>@<version> alone", diag.Quote(arg)).
				Name("path", arg).Name("reason", "no reference with a version")
		}
		if err != nil {
			rep.Rows = append(rep.Rows, report.Row{Name: arg}.Fail(err))
			continue
		}
		rep.Rows = append(rep.Rows, in.variants(ctx, request{text: arg, Request: req})...)
	}
	return rep, nil
}

// variants fetches and stores what there is of one reference, and warns of each
// platform without a variant. None at all, or a source that does not answer, is a
// failure.
func (in *installer) variants(ctx context.Context, r request) []report.Row {
	var rows []report.Row
	var absent error
	for _, platform := range artifact.Platforms() {
		f, err := in.fromSources(ctx, source.Want{Name: r.Ref.Full, Version: r.Ref.Version, Platform: platform})
		switch {
		case diag.CodeOf(err) == "E-REG-001":
			absent = err
			w := diag.Warningf("", "artifact", "%s: no source offers it for %s", r.Ref, platform)
			subject := r.Ref.Subject()
			w.Subject = &subject
			in.warn(w)
			continue
		case err != nil:
			return append(rows, r.failed(err))
		}
		row := in.finish(ctx, r, f)
		rows = append(rows, row)
		if f.item.Platform == "" {
			return rows // the same for all
		}
		if f.item.Platform != platform {
			return append(rows, r.failed(diag.Errorf("E-IO-003", "%s: the source's variant for %s is not marked as one", r.Ref, platform).
				Name("name@version", r.Ref.String()).Name("reason", fmt.Sprintf("marked as %s", diag.Quote(f.item.Platform)))))
		}
	}
	if len(rows) == 0 {
		return []report.Row{r.failed(absent)}
	}
	return rows
}
