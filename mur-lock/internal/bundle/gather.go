// Package bundle makes bundles of projects, pushes them, and turns those of
// registries into files (ART-206).
package bundle

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
)

// gather reads everything a project's bundle is made of. Every artifact must be
// pinned by the operator and be stored as pinned.
func gather(ctx context.Context, p *project.Places, warn func(diag.Warning)) (bundle.Parts, error) {
	var parts bundle.Parts
	text, err := p.ManifestBytes()
	if err != nil {
		return parts, err
	}
	m, err := p.Manifest()
	if err != nil {
		return parts, err
	}
	secrets, err := manifest.ScanSecrets(p.ManifestPath(), text)
	if err != nil {
		return parts, err
	}
	for _, w := range secrets {
		warn(w)
	}
	parts.Manifest = text
	lock, _, err := lockfile.Load(p.LockPath())
	if err != nil {
		return parts, err
	}
	for _, e := range m.Artifacts {
		if e.Source != "" {
			continue
		}
		it, err := item(ctx, p, lock, artifact.Ref{Full: e.Name, Version: e.Version})
		if err != nil {
			return parts, err
		}
		parts.Items = append(parts.Items, it)
		parts.Lock.Entries = append(parts.Lock.Entries, store.Pin(it.Ref, it.SHA256, it.Manifest.Kind, it.Platform))
	}
	dir, err := workfs.OpenRoot(p.Root, workfs.Options{Plain: true})
	if err != nil {
		return parts, workfs.Fault(err, "cannot open the project")
	}
	defer dir.Close()
	parts.Files, err = files(dir, m, p.Limits)
	return parts, err
}

// item reads one artifact as the lock pins it.
func item(ctx context.Context, p *project.Places, lock lockfile.Lock, ref artifact.Ref) (*store.Item, error) {
	pin, err := store.CheckVersion(lock, ref)
	if err != nil {
		return nil, err
	}
	if pin.Origin.IsRuntime() {
		return nil, diag.Errorf("E-RUN-043", "%s was pulled by session %s, and a bundle holds the operator's choices alone", ref, pin.Origin.Session).
			Hint("if you trust it, adopt it: mur-lock pin %s", ref).
			About(ref.Subject()).Name("name@version", ref.String()).Name("session", pin.Origin.Session).Name("role", "bundle")
	}
	found, err := p.Chain().Resolve(ctx, ref, p.Host)
	if err != nil {
		return nil, err
	}
	if err := store.CheckHash(pin, found.SHA256, p.Host); err != nil {
		return nil, err
	}
	return found.Item(p.Host)
}

// files reads the files of the project that its manifest names.
func files(dir *workfs.Root, m *manifest.Capsule, limits artifact.Limits) ([]bundle.File, error) {
	var out []bundle.File
	seen := map[string]bool{}
	for _, written := range bundle.Wanted(m) {
		name := path.Clean(written)
		if err := bundle.CheckPath(name); err != nil {
			return nil, unfit(written, err.Error())
		}
		f, err := read(dir, name, limits)
		if err != nil {
			return nil, err
		}
		if !seen[f.Path] {
			seen[f.Path] = true
			out = append(out, f)
		}
	}
	if m.Agent() {
		return out, nil
	}
	entries, err := dir.List(".")
	if err != nil {
		return nil, workfs.Fault(err, "cannot look for the capsule's component")
	}
	var root []string
	for _, e := range entries {
		if !e.IsDir() {
			root = append(root, e.Name)
		}
	}
	chosen, _, candidates := artifact.Components(root)
	if chosen == "" {
		return nil, diag.Errorf("E-RUN-004", "%s holds no component for the script capsule, or several: %s", dir.Path(), strings.Join(candidates, ", ")).
			Hint("build the capsule into %s", artifact.CapsuleName).
			Name("directory", dir.Path()).Name("candidates", strings.Join(candidates, ", "))
	}
	f, err := read(dir, chosen, limits)
	return append(out, f), err
}

// read reads a file, or the skill text of a directory (MAN-57).
func read(dir *workfs.Root, name string, limits artifact.Limits) (bundle.File, error) {
	st, err := dir.Stat(name)
	if err == nil && st.IsDir() {
		entries, lerr := dir.List(name)
		if lerr != nil {
			return bundle.File{}, workfs.Fault(lerr, "cannot read a local source")
		}
		for _, e := range entries {
			if strings.EqualFold(e.Name, "skill.md") && !e.IsDir() {
				return read(dir, name+"/"+e.Name, limits)
			}
		}
		err = fs.ErrNotExist
	}
	var data []byte
	if err == nil {
		data, err = dir.ReadFile(name, int64(min(limits.EntryBytes, 1<<62)))
	}
	switch {
	case errors.Is(err, workfs.ErrRefused):
		return bundle.File{}, unfit(name, "a component of it is a link or special file")
	case errors.Is(err, fs.ErrNotExist):
		return bundle.File{}, diag.Errorf("E-IO-001", "the manifest names %s, and %s is not there: %w", diag.Quote(name), dir.Join(name), os.ErrNotExist).
			About(diag.Subject{Kind: diag.Path, Name: dir.Join(name)}).Name("path", dir.Join(name)).Name("what was looked for", name)
	}
	return bundle.File{Path: name, Data: data}, workfs.Fault(err, "cannot read a file of the project")
}

func unfit(entry, reason string) error {
	return diag.Errorf("E-BLD-002", "%s can not be bundled: %s", diag.Quote(entry), reason).
		Hint("keep what the manifest names in the project's own directory").
		Name("entry", entry).Name("reason", reason)
}
