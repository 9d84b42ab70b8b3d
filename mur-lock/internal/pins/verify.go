package pins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
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
	var rep report.Report
	declared := map[names.Full]bool{}
	for _, e := range m.Artifacts {
		declared[e.Name] = true
		if e.Source == "" {
			rep.Rows = append(rep.Rows, verifyOne(ctx, p, lock, m, e, warn))
		}
	}
	for _, e := range lock.Entries {
		if !declared[e.Name] {
			warn(unused(p.LockPath(), e))
		}
	}
	return rep, warnStale(ctx, p, declared, warn)
}

func verifyOne(ctx context.Context, p *project.Places, lock lockfile.Lock, m *manifest.Capsule, e manifest.Entry, warn func(diag.Warning)) report.Row {
	ref := artifact.Ref{Full: e.Name, Version: e.Version}
	row := report.Row{Name: e.Name.String(), Version: e.Version, Outcome: report.Verified}
	var faults []error
	pin, err := store.CheckVersion(lock, ref)
	if err != nil {
		faults = append(faults, err)
	}
	pinned := err == nil
	if pinned {
		row = row.From(pin.Origin)
		bound := m.Agent() && m.Inference.SystemPromptArtifact == e.Name.String()
		if err := store.CheckOrigin(pin, store.Use{Role: e.Role, Gateway: e.Gateway != nil, SystemPrompt: bound}); err != nil {
			faults = append(faults, err)
		}
	}
	found, err := resolve(ctx, p, ref)
	if err != nil {
		return row.Fail(append(faults, err)...)
	}
	row.SHA256, row.Store = found.SHA256, found.Store
	if pinned {
		if err := store.CheckHash(pin, found.SHA256, p.Host); err != nil {
			faults = append(faults, err)
		}
	}
	it, err := store.NewItem(found.Bytes, ref, p.Host, p.Limits, ref.String())
	if err != nil {
		return row.Fail(append(faults, err)...)
	}
	if it.Manifest.Kind == manifest.Native && found.Platform == "" {
		warn(store.UntaggedWarning(ref))
	}
	if c := it.Contracts(); c != nil {
		for _, le := range stale(*c) {
			faults = append(faults, wasmhost.Refusal(ref.String(), wasmhost.Kind(e.Role), le))
		}
	}
	if len(faults) > 0 {
		return row.Fail(faults...)
	}
	row.Text = fmt.Sprintf("verified %s in the %s store (sha256 %s)", ref, row.Store, row.SHA256)
	return row
}

// resolve is the chain's Resolve with E-RUN-008 for what is in no store.
func resolve(ctx context.Context, p *project.Places, ref artifact.Ref) (*store.Found, error) {
	f, err := p.Chain().Resolve(ctx, ref, p.Host)
	if diag.CodeOf(err) == "E-REG-001" {
		err = diag.Errorf("E-RUN-008", "%s is declared and not installed: %w", ref, err).
			Hint("mur-lock install %s", ref).
			About(ref.Subject()).Name("name@version", ref.String()).Name("command", "mur-lock install "+ref.String())
	}
	return f, err
}

func unused(lockPath string, e lockfile.Entry) diag.Warning {
	w := diag.Warningf("W-REG-101", "artifact", "murmur.lock pins %s (origin %s), which murmur.yaml does not declare", e.Ref(), e.Origin.Word())
	w.Subject = &diag.Subject{Kind: diag.LockEntry, Name: e.Name.String(), File: lockPath}
	w.Names = map[string]any{"entry": e.Name.String(), "origin": e.Origin.Word()}
	return w
}

// stale lists the murmur interfaces that are named at a version this build does
// not serve, while it serves another.
func stale(c artifact.Contracts) []*wasmhost.LoadError {
	var out []*wasmhost.LoadError
	for _, name := range slices.Concat(c.Exports, c.Imports) {
		base, version, ok := strings.Cut(name, "@")
		if !ok || !strings.HasPrefix(base, "murmur:") {
			continue
		}
		served := ""
		for _, s := range wasmhost.Served() {
			if b, v, _ := strings.Cut(s, "@"); b == base && v != version {
				served = s
			}
		}
		if served != "" {
			out = append(out, &wasmhost.LoadError{Reason: wasmhost.BadVersion, Name: name, Served: served})
		}
	}
	return out
}

// warnStale warns of stale interfaces in what the stores hold and the project
// does not declare (W-REG-003).
func warnStale(ctx context.Context, p *project.Places, declared map[names.Full]bool, warn func(diag.Warning)) error {
	rows, err := p.Project.List(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if declared[r.Ref.Full] || r.Meta.Contracts == nil {
			continue
		}
		for _, le := range stale(*r.Meta.Contracts) {
			w := diag.Warningf("W-REG-003", "artifact", "%s in the %s store speaks %s; this build serves %s", r.Ref, r.Store, le.Name, le.Served)
			subject := r.Ref.Subject()
			w.Subject = &subject
			w.Names = map[string]any{"name@version": r.Ref.String(), "store": r.Store, "interface": le.Name, "served version": le.Served}
			warn(w)
		}
	}
	return nil
}
