package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/audit"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// gatherProject looks at the project of a manifest, if there is one.
func gatherProject(ctx context.Context, env cli.Env, o Options, h Host) (*Project, []Check) {
	path := o.Manifest
	if path == "" {
		path = manifest.FileName
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	data, err := workfs.ReadFile(path, manifest.MaxBytes+1)
	if errors.Is(err, fs.ErrNotExist) && o.Manifest == "" {
		return nil, nil
	}
	p := &Project{Manifest: path}
	if err != nil {
		return p, []Check{fault("manifest", Failed, workfs.Fault(err, "cannot read the manifest"))}
	}
	m, warnings, err := manifest.Parse(path, data, manifest.Options{Strict: o.Strict, Running: cli.Version})
	rows := warned("manifest", warnings)
	if err != nil {
		return p, append(rows, fault("manifest", Failed, err))
	}
	p.Name, p.Version = m.Name, m.Version
	rows = append(rows, ok("manifest", fmt.Sprintf("%s %s parses", m.Name, m.Version)))

	environ, more := envFile(env)
	rows = append(rows, more...)
	rows = append(rows, declared(m, environ, h)...)
	lock, found, err := lockfile.Load(filepath.Join(filepath.Dir(path), lockfile.FileName))
	p.Locked = found
	switch {
	case err != nil:
		return p, append(rows, fault("lock", Failed, err)) // ART-89: no artifact is looked at
	case !found:
		return p, append(rows, installed(ctx, env, m, path)...)
	}
	rows = append(rows, ok("lock", fmt.Sprintf("murmur.lock pins %d artifacts", len(lock.Entries))))
	return p, append(rows, pinned(ctx, env, m, path, lock)...)
}

func warned(name string, warnings []diag.Warning) []Check {
	rows := make([]Check, len(warnings))
	for i, w := range warnings {
		rows[i] = Check{Name: name, Status: Warning, Code: w.Code, Message: w.Message}
	}
	return rows
}

// declared predicts what the manifest alone and the host would make of a stage:
// the floor, the posture warnings, and names nobody sets (DIA-197, DIA-199).
func declared(m *manifest.Capsule, environ []string, h Host) []Check {
	rows := []Check{}
	floor := policy.Advisory
	if c := m.Capabilities; c != nil && c.Containment != policy.Unstated {
		floor = c.Containment
	}
	var caps []confine.Cap
	if c := m.Capabilities; c != nil && c.Filesystem != nil && c.Filesystem.WorkdirExec != nil && *c.Filesystem.WorkdirExec {
		caps = append(caps, confine.Cap{Key: "capabilities.filesystem.workdir_exec", Reason: "files in the work folder can be executed"})
	}
	if err := confine.Decide(h.Probe, floor, caps).Refusal(); err != nil {
		rows = append(rows, fault("containment.floor", Warning, err))
	} else {
		rows = append(rows, ok("containment.floor", fmt.Sprintf("the floor %s is met", floor)))
	}
	for _, check := range []error{m.CheckEnv(), m.CheckRecordStore(), m.CheckStateStores(), m.CheckStagedRuntime(floor)} {
		if check != nil {
			rows = append(rows, fault("manifest.policy", Warning, m.Locate(check)))
		}
	}
	rows = append(rows, warned("manifest.posture", m.Warnings(m.Lifecycle, floor))...)
	return append(rows, missingVariables(m, environ)...)
}

// missingVariables is E-CAP-014: a name of env.allow that is set nowhere. Names
// only; no value is read (DIA-58, DIA-197).
func missingVariables(m *manifest.Capsule, environ []string) []Check {
	if m.Capabilities == nil || m.Capabilities.Env == nil {
		return nil
	}
	var rows []Check
	for _, name := range m.Capabilities.Env.Allow {
		if !slices.ContainsFunc(environ, func(kv string) bool { return len(kv) > len(name) && kv[:len(name)+1] == name+"=" }) {
			rows = append(rows, Check{Name: "environment", Status: Failed, Code: "E-CAP-014",
				Message: fmt.Sprintf("%s is set nowhere; %s needs it in capabilities.env.allow", name, m.Name),
				Remedy:  "set it in the environment or in .env beside the manifest"})
		}
	}
	return rows
}

func stores(env cli.Env, manifestPath string) (store.Chain, artifact.Limits, error) {
	limits := artifact.LimitsOf(env.Environ)
	home, err := workfs.FindHome(env.Environ)
	if err != nil {
		return nil, limits, err
	}
	return store.Chain{store.OfProject(filepath.Dir(manifestPath), limits), store.OfHome(home, limits)}, limits, nil
}

// pinned is a row for each artifact with a pin to compare (DIA-196).
func pinned(ctx context.Context, env cli.Env, m *manifest.Capsule, path string, lock lockfile.Lock) []Check {
	chain, limits, err := stores(env, path)
	if err != nil {
		return []Check{fault("artifacts", Failed, err)}
	}
	var rows []Check
	findings, err := audit.Run(ctx, audit.Project{
		Manifest: m, Lock: lock, LockPath: filepath.Join(filepath.Dir(path), lockfile.FileName), Stores: chain, Host: artifact.Host(), Limits: limits,
	}, func(w diag.Warning) { rows = append(rows, warned("artifact", []diag.Warning{w})...) })
	for _, f := range findings {
		for _, e := range f.Faults {
			rows = append(rows, fault("artifact", Failed, e).about(f.Ref.String()))
		}
		if len(f.Faults) == 0 {
			rows = append(rows, ok("artifact", "as pinned, in the "+f.Store+" store").about(f.Ref.String()))
		}
	}
	if err != nil {
		rows = append(rows, fault("artifacts", Failed, err))
	}
	return rows
}

// installed is a row for each artifact without a lock: present or not.
func installed(ctx context.Context, env cli.Env, m *manifest.Capsule, path string) []Check {
	rows := []Check{ok("lock", "no murmur.lock: mur-stage would write one")}
	chain, _, err := stores(env, path)
	if err != nil {
		return append(rows, fault("artifacts", Failed, err))
	}
	for _, e := range m.Artifacts {
		if e.Source != "" {
			continue
		}
		ref := artifact.Ref{Full: e.Name, Version: e.Version}
		switch found, err := chain.Has(ctx, ref, artifact.Host()); {
		case err != nil:
			rows = append(rows, fault("artifact", Failed, err).about(ref.String()))
		case !found:
			rows = append(rows, Check{Name: "artifact", Subject: ref.String(), Status: Failed, Code: "E-RUN-008", Message: ref.String() + " is declared and not installed", Remedy: "mur-lock install " + ref.String()})
		default:
			rows = append(rows, ok("artifact", "installed").about(ref.String()))
		}
	}
	return rows
}
