// Package audit compares a project's manifest with its lock and with the stores
// and changes nothing: what mur-lock verify reports and mur-doctor predicts, in
// the same words (DIA-11, ART-184).
package audit

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Project is what is compared. Stores are asked in their order; the first, where
// there are two, is the project's own.
type Project struct {
	Manifest *manifest.Capsule
	Lock     lockfile.Lock
	LockPath string
	Stores   store.Chain
	Host     string // platform tag
	Limits   artifact.Limits
	Trust    provenance.Trust // what must be signed, and by whom
}

// Finding is one declared artifact that comes from a store, with every fault
// found in it; none means that it is as pinned.
type Finding struct {
	Ref    artifact.Ref
	Pin    *lockfile.Entry // nil when the lock has none of its version
	Store  string          // the store that has it; "" when none
	SHA256 string
	Signed []string // ids of the trusted keys that signed it
	Faults []error  // each with its code
}

// Run looks at every artifact the manifest takes from a store, in its order, and
// warns of pins nobody declares (W-REG-101), of native payloads without a
// platform (W-REG-001) and of stale interfaces in what the project's store holds
// besides (W-REG-003). The error is that of a store that cannot be listed, or joins
// those of versions in it that nobody declares and that cannot be read; the
// findings are whole all the same.
func Run(ctx context.Context, p Project, warn func(diag.Warning)) ([]Finding, error) {
	declared := map[names.Full]bool{}
	var entries []manifest.Entry
	for _, e := range p.Manifest.Artifacts {
		declared[e.Name] = true
		if e.Source == "" {
			entries = append(entries, e)
		}
	}
	out := p.all(ctx, entries, warn)
	for _, e := range p.Lock.Entries {
		if !declared[e.Name] {
			warn(unused(p.LockPath, e))
		}
	}
	return out, p.staleBesides(ctx, declared, warn)
}

// all looks at entries side by side; findings and warnings are in their order.
func (p Project) all(ctx context.Context, entries []manifest.Entry, warn func(diag.Warning)) []Finding {
	out := make([]Finding, len(entries))
	warnings := make([][]diag.Warning, len(entries))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(entries), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(entries); i = int(next.Add(1)) - 1 {
				out[i] = p.one(ctx, entries[i], func(w diag.Warning) { warnings[i] = append(warnings[i], w) })
			}
		})
	}
	wg.Wait()
	for _, ws := range warnings {
		for _, w := range ws {
			warn(w)
		}
	}
	return out
}

func (p Project) one(ctx context.Context, e manifest.Entry, warn func(diag.Warning)) Finding {
	ref := artifact.Ref{Full: e.Name, Version: e.Version}
	f := Finding{Ref: ref}
	pin, err := store.CheckVersion(p.Lock, ref)
	if err != nil {
		f.Faults = append(f.Faults, err)
	} else {
		f.Pin = &pin
		bound := p.Manifest.Agent() && p.Manifest.Inference.SystemPromptArtifact == e.Name.String()
		if err := store.CheckOrigin(pin, store.Use{Role: e.Role, Gateway: e.Gateway != nil, SystemPrompt: bound}); err != nil {
			f.Faults = append(f.Faults, err)
		}
	}
	found, err := p.Stores.Resolve(ctx, ref, p.Host)
	if err != nil {
		f.Faults = append(f.Faults, NotInstalled(ref, err))
		return f
	}
	f.SHA256, f.Store = found.SHA256, found.Store
	if f.Pin != nil {
		if err := store.CheckHash(pin, found.SHA256, p.Host); err != nil {
			f.Faults = append(f.Faults, err)
		}
	}
	subject := provenance.Subject{Name: ref.String(), SHA256: found.SHA256}
	if f.Signed, err = p.Trust.Check(ctx, p.Trust.Artifacts, found.Attestations, subject); err != nil {
		f.Faults = append(f.Faults, err)
	}
	it, err := found.Item(p.Host)
	if err != nil {
		f.Faults = append(f.Faults, err)
		return f
	}
	if it.Manifest.Kind == manifest.Native {
		if found.Platform == "" {
			warn(store.UntaggedWarning(ref))
		}
		if err := checkProgram(it, p.Host); err != nil {
			f.Faults = append(f.Faults, err)
		}
	}
	if c := it.Contracts(); c != nil {
		for _, le := range stale(*c) {
			f.Faults = append(f.Faults, wasmhost.Refusal(ref.String(), wasmhost.Kind(e.Role), le))
		}
	}
	return f
}

// checkProgram is E-RUN-021 for a program that is built for another platform.
func checkProgram(it *store.Item, host string) error {
	_, program, err := it.Archive.Native(it.Ref.String(), it.Manifest.Name)
	if err != nil {
		return err
	}
	return artifact.CheckProgram(it.Ref.String(), program, host)
}

// NotInstalled is E-RUN-008 for a declared artifact that is in no store; another error stays.
func NotInstalled(ref artifact.Ref, err error) error {
	if diag.CodeOf(err) != "E-REG-001" {
		return err
	}
	return diag.Errorf("E-RUN-008", "%s is declared and not installed: %w", ref, err).
		Hint("mur-lock install %s", ref).
		About(ref.Subject()).Name("name@version", ref.String()).Name("command", "mur-lock install "+ref.String())
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
		for _, s := range wasmhost.Served() {
			if b, v, _ := strings.Cut(s, "@"); b == base && v != version {
				out = append(out, &wasmhost.LoadError{Reason: wasmhost.BadVersion, Name: name, Served: s})
				break
			}
		}
	}
	return out
}

// staleBesides warns of stale interfaces in what the project's store holds and
// the project does not declare.
func (p Project) staleBesides(ctx context.Context, declared map[names.Full]bool, warn func(diag.Warning)) error {
	rows, bad, err := p.Stores[0].Look(ctx)
	faults := []error{err}
	for _, b := range bad {
		if !declared[b.Ref.Full] { // else it is a finding
			faults = append(faults, b.Err)
		}
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
	return errors.Join(faults...)
}
