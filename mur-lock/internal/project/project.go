// Package project finds what a run of mur-lock works on: the project around the
// working directory, its manifest and lock, and the two stores. It creates
// nothing.
package project

import (
	"path/filepath"
	"sync"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Places are the project and the stores. Project is nil outside a project.
type Places struct {
	Dir     string // working directory
	Root    string // project root, "" outside a project
	Host    string // platform tag
	Limits  artifact.Limits
	Home    workfs.Home
	Trust   provenance.Trust // as far as the command read the configuration
	Project *store.Store
	Global  *store.Store

	declared func() []names.Full // in the manifest's order; nil when it can not be read
}

// Find looks for the project at or above the working directory and for the
// murmur home.
func Find(env cli.Env) (*Places, error) {
	home, err := workfs.FindHome(env.Environ)
	if err != nil {
		return nil, err
	}
	p := &Places{Dir: env.Dir, Host: artifact.Host(), Limits: artifact.LimitsOf(env.Environ), Home: home}
	p.Global = store.OfHome(home, p.Limits)
	p.declared = sync.OnceValue(p.readDeclared)
	if root, ok := store.FindProject(env.Dir); ok {
		p.Root = root
		p.Project = store.OfProject(root, p.Limits)
	}
	return p, nil
}

// Need is E-IO-001 outside a project (ART-187).
func (p *Places) Need() error {
	if p.Root != "" {
		return nil
	}
	return diag.Errorf("E-IO-001", "there is no project: neither %s nor a directory above it holds %s", p.Dir, manifest.FileName).
		Hint("change to a project, or use -g for the global store where the command has it").
		About(diag.Subject{Kind: diag.Path, Name: p.Dir}).
		Name("path", p.Dir).Name("what was looked for", manifest.FileName)
}

// Chain is the stores in the order staging asks them (ART-56).
func (p *Places) Chain() store.Chain {
	if p.Project == nil {
		return store.Chain{p.Global}
	}
	return store.Chain{p.Project, p.Global}
}

// ManifestPath is the project's manifest.
func (p *Places) ManifestPath() string { return filepath.Join(p.Root, manifest.FileName) }

// LockPath is the project's lock (ART-75).
func (p *Places) LockPath() string { return filepath.Join(p.Root, lockfile.FileName) }

// Manifest reads the project's manifest as the capsule's.
func (p *Places) Manifest() (*manifest.Capsule, error) {
	data, err := p.ManifestBytes()
	if err != nil {
		return nil, err
	}
	// Unknown keys are mur-stage's and mur-doctor's to report (MAN-26).
	m, _, err := manifest.Parse(p.ManifestPath(), data, manifest.Options{Running: cli.Version})
	return m, err
}

func (p *Places) readDeclared() []names.Full {
	m, err := p.Manifest()
	if err != nil {
		return nil
	}
	var out []names.Full
	for _, e := range m.Artifacts {
		out = append(out, e.Name)
	}
	return out
}

// ManifestBytes reads the project's manifest file.
func (p *Places) ManifestBytes() ([]byte, error) {
	data, err := workfs.ReadFile(p.ManifestPath(), manifest.MaxBytes+1)
	return data, workfs.Fault(err, "cannot read the manifest")
}

// Abs makes a path of the command line absolute.
func (p *Places) Abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Dir, path)
}
