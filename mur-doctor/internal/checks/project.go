package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/audit"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/spend"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// project is a project under examination.
type project struct {
	env     cli.Env
	environ []string // with what .env adds
	home    workfs.Home
	config  config.Config
	path    string // of the manifest
	m       *manifest.Capsule
	stores  store.Chain
	limits  artifact.Limits
	trust   provenance.Trust
	rows    []Check
}

func (p *project) add(rows ...Check) { p.rows = append(p.rows, rows...) }

// findManifest is the manifest to look at; there is none when it is not named
// and the working directory has none.
func findManifest(env cli.Env, o Options) (path string, there bool) {
	path = o.Manifest
	if path == "" {
		path = manifest.FileName
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	_, err := os.Lstat(path)
	return path, o.Manifest != "" || !errors.Is(err, fs.ErrNotExist)
}

// gatherProject looks at the project of a manifest (DIA-196 to DIA-198).
func gatherProject(ctx context.Context, env cli.Env, o Options, path string, home workfs.Home, c config.Config) (*Project, []Check) {
	found := &Project{Manifest: path}
	data, err := workfs.ReadFile(path, manifest.MaxBytes+1)
	if err != nil {
		return found, []Check{fault("manifest", Failed, workfs.Fault(err, "cannot read the manifest"))}
	}
	m, warnings, err := manifest.Parse(path, data, manifest.Options{Strict: o.Strict, Running: cli.Version})
	p := &project{env: env, home: home, config: c, path: path, m: m, limits: artifact.LimitsOf(env.Environ)}
	p.add(warned("manifest", warnings)...)
	if err != nil {
		p.add(fault("manifest", Failed, err))
		return found, p.rows
	}
	found.Name, found.Version = m.Name, m.Version
	p.add(ok("manifest", fmt.Sprintf("%s %s parses", m.Name, m.Version)))
	p.stores = store.Chain{store.OfProject(filepath.Dir(path), p.limits), store.OfHome(home, p.limits)}

	environ, more := envFile(env)
	p.environ = environ
	p.add(more...)
	p.secrets()
	p.environment()
	p.spend()
	p.spawn(ctx)
	found.Locked = p.artifacts(ctx)
	return found, p.rows
}

func warned(name string, warnings []diag.Warning) []Check {
	rows := make([]Check, len(warnings))
	for i, w := range warnings {
		rows[i] = Check{Name: name, Status: Warning, Code: w.Code, Message: w.Message}
		if w.Subject != nil && (w.Subject.Kind == diag.Artifact || w.Subject.Kind == diag.LockEntry) {
			rows[i].Subject = w.Subject.Name
		}
	}
	return rows
}

// secrets is about a key that is written in the manifest itself.
func (p *project) secrets() {
	literal := slices.ContainsFunc(p.m.Artifacts, func(e manifest.Entry) bool { return e.Gateway != nil && e.Gateway.Literal != nil })
	if fi, err := os.Stat(p.path); literal && err == nil {
		p.add(private(p.path, fi.Mode()))
	}
}

// environment is E-CAP-014: names that are set nowhere, of env.allow and of
// gateways, whose keys may stand in the configuration too. Names only; no value
// is read (DIA-58, DIA-197).
func (p *project) environment() {
	set := func(name string) bool {
		return slices.ContainsFunc(p.environ, func(kv string) bool { return len(kv) > len(name)+1 && strings.HasPrefix(kv, name+"=") })
	}
	need := func(name, key, remedy string, there bool) {
		if there {
			p.add(ok("environment", "is set; "+key+" needs it").about(name))
			return
		}
		p.add(Check{
			Name: "environment", Subject: name, Status: Failed, Code: "E-CAP-014",
			Message: fmt.Sprintf("%s is set nowhere; %s needs it in %s", name, p.m.Name, key), Remedy: remedy,
		})
	}
	if c := p.m.Capabilities; c != nil && c.Env != nil {
		for i, name := range c.Env.Allow {
			need(name, fmt.Sprintf("capabilities.env.allow[%d]", i), "set it in the environment or in .env beside the manifest", set(name))
		}
	}
	for i, e := range p.m.Artifacts {
		if e.Gateway == nil || e.Gateway.Keyless || e.Gateway.Literal != nil {
			continue
		}
		name := e.Gateway.Reference
		need(name, fmt.Sprintf("artifacts[%d].gateway.api_key (%s)", i, e.Name),
			fmt.Sprintf("add credentials.%s to %s, or set it in the environment", name, p.config.GlobalFile), p.config.HasCredential(name) || set(name))
	}
}

// spend tells how much of the machine's day is used, where there is a ceiling
// (DIA-104).
func (p *project) spend() {
	ceiling := p.config.MachineTokensPerDay
	if !p.m.Agent() || ceiling == nil && p.config.TreeTokens == nil {
		return
	}
	used, err := spend.Used(p.home, p.env.Now())
	switch {
	case err != nil:
		// In the words of mur-stage, which says it too.
		return
	case ceiling == nil:
		p.add(ok("spend", fmt.Sprintf("%d tokens are used today; no ceiling for the machine, %d for a tree of sessions", used, *p.config.TreeTokens)))
	case used >= *ceiling:
		p.add(Check{Name: "spend", Status: Warning, Message: fmt.Sprintf("%d tokens are used today and the machine's ceiling is %d: calls to models are refused until 00:00 UTC", used, *ceiling), Remedy: "raise spend.machine_tokens_per_day in " + p.config.GlobalFile + ", or wait"})
	default:
		p.add(ok("spend", fmt.Sprintf("%d of %d tokens are used today", used, *ceiling)))
	}
}

// spawn reads the capsules that may be delegated to (DIA-198).
func (p *project) spawn(ctx context.Context) {
	faults, warnings := audit.Closure(ctx, p.m, p.stores, artifact.Host())
	for _, err := range faults {
		p.add(fault("spawn", Failed, err))
	}
	p.add(warned("spawn", warnings)...)
}

// artifacts is a row for each artifact, compared with its pin where there is a
// lock. It reports whether there is one.
func (p *project) artifacts(ctx context.Context) (locked bool) {
	var err error
	if p.trust, err = provenance.Open(p.config.Trust.Artifacts(), p.config.Trust.Bundles(), p.config.Trust.Keys); err != nil {
		p.add(fault("config", Failed, err))
		return false
	}
	lockPath := filepath.Join(filepath.Dir(p.path), lockfile.FileName)
	lock, found, err := lockfile.Load(lockPath)
	switch {
	case err != nil:
		p.add(fault("lock", Failed, err)) // ART-89: no artifact is looked at
	case !found:
		p.add(ok("lock", "no murmur.lock: mur-stage would write one"))
		p.installed(ctx)
	default:
		p.add(ok("lock", fmt.Sprintf("murmur.lock pins %d artifacts", len(lock.Entries))))
		p.pinned(ctx, lock, lockPath)
	}
	return found
}

// pinned is a row for each artifact with a pin to compare (DIA-196).
func (p *project) pinned(ctx context.Context, lock lockfile.Lock, path string) {
	findings, err := audit.Run(ctx, audit.Project{
		Manifest: p.m, Lock: lock, LockPath: path, Stores: p.stores, Host: artifact.Host(), Limits: p.limits, Trust: p.trust,
	}, func(w diag.Warning) { p.add(warned("artifact", []diag.Warning{w})...) })
	for _, f := range findings {
		for _, e := range f.Faults {
			p.add(fault("artifact", Failed, e).about(f.Ref.String()))
		}
		if len(f.Faults) == 0 {
			p.add(ok("artifact", "as pinned, in the "+f.Store+" store").about(f.Ref.String()))
		}
	}
	if err != nil {
		p.add(fault("artifact", Failed, err))
	}
}

// installed is a row for each artifact where there is no lock: there and whole,
// or not.
func (p *project) installed(ctx context.Context) {
	for _, e := range p.m.Artifacts {
		if e.Source != "" {
			continue
		}
		ref := artifact.Ref{Full: e.Name, Version: e.Version}
		found, err := p.stores.Resolve(ctx, ref, artifact.Host())
		if err == nil {
			p.add(ok("artifact", "installed, in the "+found.Store+" store").about(ref.String()))
			continue
		}
		if diag.CodeOf(err) == "E-REG-001" {
			err = audit.NotInstalled(ref, err)
		}
		p.add(fault("artifact", Failed, err).about(ref.String()))
	}
}
