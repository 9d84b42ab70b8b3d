package pins

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// ListOptions of a list.
type ListOptions struct {
	Global   bool
	All      bool
	Contract string // prefix of an interface name, "" for any
}

// List tells what the project store, the global store or both hold (ART-58).
func List(ctx context.Context, p *project.Places, o ListOptions) (report.Report, error) {
	var stores store.Chain
	switch {
	case o.All:
		stores = p.Chain()
	case o.Global:
		stores = store.Chain{p.Global}
	default:
		if err := p.Need(); err != nil {
			return report.Report{}, err
		}
		stores = store.Chain{p.Project}
	}
	var lock lockfile.Lock
	if p.Root != "" {
		var err error
		if lock, _, err = lockfile.Load(p.LockPath()); err != nil {
			return report.Report{}, err
		}
	}
	var rows []store.Row
	var faults []error
	for _, s := range stores {
		more, bad, err := s.Look(ctx)
		for _, b := range bad {
			faults = append(faults, b.Err)
		}
		if err != nil {
			faults = append(faults, err)
		}
		for _, r := range more {
			if o.Contract == "" || r.HasContract(o.Contract) {
				rows = append(rows, r)
			}
		}
	}
	store.SortRows(rows)
	return report.Report{Rows: render(rows, lock, o.All), Also: errors.Join(faults...)}, nil
}

func render(rows []store.Row, lock lockfile.Lock, scope bool) []report.Row {
	var out []report.Row
	for _, r := range rows {
		row := report.Row{
			Name: r.Ref.Full.String(), Version: r.Ref.Version, SHA256: r.SHA256,
			Outcome: report.Listed, Store: r.Store, Details: details(r),
		}
		pinned := false
		if e, ok := lock.Find(r.Ref.Full); ok && e.Version == r.Ref.Version {
			pinned = true
			row = row.From(e.Origin)
		}
		row.Pin = &pinned
		row.Text = line(r, scope)
		out = append(out, row)
	}
	return out
}

func details(r store.Row) *report.Details {
	d := &report.Details{
		Runtime: string(r.Meta.Kind), Role: r.Meta.Role, Platforms: r.Platforms, Tags: r.Meta.Tags,
		Exports: []string{}, Imports: []string{},
	}
	if d.Platforms == nil {
		d.Platforms = []string{}
	}
	if d.Tags == nil {
		d.Tags = []string{}
	}
	if r.Meta.Description != nil {
		d.Description = *r.Meta.Description
	}
	if c := r.Meta.Contracts; c != nil {
		d.Exports, d.Imports = c.Exports, c.Imports
	}
	return d
}

func line(r store.Row, scope bool) string {
	kind := string(r.Meta.Kind)
	if kind == "" {
		kind = "unreadable"
	}
	if len(r.Platforms) > 0 {
		kind += " (" + strings.Join(r.Platforms, ", ") + ")"
	}
	columns := []string{fmt.Sprintf("%-40s", r.Ref), fmt.Sprintf("%-7s", r.Meta.Role), kind}
	if scope {
		columns = append([]string{fmt.Sprintf("%-8s", r.Store)}, columns...)
	}
	return strings.TrimRight(strings.Join(columns, " "), " ")
}
