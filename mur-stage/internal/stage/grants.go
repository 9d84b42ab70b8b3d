package stage

import (
	"cmp"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"path/filepath"
)

// grant is what one entry holds.
type grant struct {
	grant    *policy.Grant // nil: the ceiling, or nothing for a hook
	warnings []diag.Warning
	late     error   // a fault of step 24 found while step 15 was done
	store    string  // name of the state store, or empty
	config   *string // MURMUR_ARTIFACT_CONFIG
	native   bool    // the artifact is a program and holds what commands hold
}

// resolveNetwork parses the allow lists and the scope of the capsule (step 8)
// and resolves its ceiling but for the read-only paths, which are step 21's.
func (s *staging) resolveNetwork() error {
	caps := policy.Capabilities{}
	if s.capsule.Capabilities != nil {
		caps = *s.capsule.Capabilities
	}
	if caps.Filesystem != nil {
		f := *caps.Filesystem
		f.ReadOnly = nil
		caps.Filesystem = &f
	}
	var err error
	s.policy, err = policy.Resolve(&caps, policy.DefaultFloor)
	s.grants = make([]grant, len(s.entries()))
	return s.capsule.Locate(err)
}

// nameStores names each entry's state store, creating none (step 10).
func (s *staging) nameStores() error {
	for i, e := range s.entries() {
		if e.Capabilities == nil || e.Capabilities.State == nil {
			continue
		}
		store, err := policy.StoreName(e.Policy(false), s.capsule.Name)
		if err != nil {
			return s.capsule.Locate(err)
		}
		s.grants[i].store = store
	}
	return nil
}

// checkEnv refuses names in env.allow that no guest may see (step 13).
func (s *staging) checkEnv() error { return s.capsule.CheckEnv() }

// lowerConfigs makes each config block JSON (step 14).
func (s *staging) lowerConfigs() error {
	for i, e := range s.entries() {
		if e.Config == nil {
			continue
		}
		text, err := e.Config.JSON()
		if err != nil {
			return err
		}
		s.grants[i].config = &text
	}
	return nil
}

// resolvePreopens works out what each entry holds. A bad scope is this step's
// fault (15); any other is lowerGrants' (24).
func (s *staging) resolvePreopens() error {
	for i, e := range s.entries() {
		g := &s.grants[i]
		g.grant, g.warnings, g.late = policy.Narrow(s.policy, s.capsule.Name, e.Policy(false))
		if diag.CodeOf(g.late) == "E-CAP-002" {
			return g.late
		}
	}
	return nil
}

// lowerGrants raises what step 15 left for step 24.
func (s *staging) lowerGrants() error {
	for _, g := range s.grants {
		if g.late != nil {
			return g.late
		}
		s.warn(g.warnings...)
	}
	return nil
}

// preopens says what of the work folder each guest sees, the script capsule's
// own component first.
func preopens(c *manifest.Capsule, ceiling policy.Policy, grants []grant) []confine.Preopen {
	out := []confine.Preopen{}
	if !c.Agent() {
		scope := policyScope(ceiling)
		out = append(out, preopen("local/"+c.Name, "capsule", &scope))
	}
	for i, e := range c.Artifacts {
		switch g := grants[i].grant; {
		case e.Role == policy.Skill, grants[i].native:
		case g != nil && g.Records:
			out = append(out, preopen(e.Name.String(), string(e.Role), nil))
		case g != nil:
			out = append(out, preopen(e.Name.String(), string(e.Role), g.FilesystemScope))
		case e.Role == policy.Hook:
			out = append(out, preopen(e.Name.String(), string(e.Role), nil))
		default:
			scope := policyScope(ceiling)
			out = append(out, preopen(e.Name.String(), string(e.Role), &scope))
		}
	}
	return out
}

func policyScope(p policy.Policy) string {
	if p.FilesystemScope == nil {
		return "."
	}
	return *p.FilesystemScope
}

func preopen(artifact, role string, scope *string) confine.Preopen {
	switch {
	case scope == nil:
		return confine.Preopen{Artifact: artifact, Role: role, Surface: "nothing"}
	case *scope == ".":
		return confine.Preopen{Artifact: artifact, Role: role, Surface: "whole-workdir"}
	}
	return confine.Preopen{Artifact: artifact, Role: role, Scope: scope, Surface: "scoped-subtree"}
}

// makeReport makes the scope report from what was decided (step 16). It runs
// again when the read-only paths are known.
func (s *staging) makeReport() error {
	scope := confine.Scope{
		Reading: s.reading, Decision: s.decision, Policy: s.policy,
		Preopens: preopens(s.capsule, s.policy, s.grants),
		Folders:  s.folders(cmp.Or(s.id, "<session>")),
	}
	for i, e := range s.entries() {
		if g := s.grants[i]; g.store != "" {
			scope.StateStores = append(scope.StateStores, confine.StateStore{
				Artifact: e.Name.String(), Store: g.store, HostPath: s.home.Join(stateDir(g.store)),
			})
		}
		if s.grants[i].config != nil {
			scope.ConfiguredArtifacts = append(scope.ConfiguredArtifacts, e.Name.String())
		}
	}
	if f := s.capsule.Exports.Files; f != nil {
		scope.ExportsFiles = &confine.FilesExport{Root: f.Root, Mode: "read-only", MaxBytes: f.MaxBytes}
	}
	if f := s.capsule.Exports.PeerFiles; f != nil {
		scope.PeerFiles = &confine.PeerExport{Root: f.Root, MaxTTLSecs: f.MaxTTLSecs, MaxBytes: f.MaxBytes}
	}
	s.report = confine.Report(scope)
	return nil
}

// folders are where the session of that id has its own.
func (s *staging) folders(id string) confine.Folders {
	records := s.records(id)
	return confine.Folders{
		Work: s.workFolder(id), Tmp: filepath.Join(records, session.TempDir), Home: filepath.Join(records, session.HomeDir),
		Runtime: s.home.Join(session.SessionsDir + "/" + id), ReadOnly: []string{filepath.Join(records, session.LogsDir)},
	}
}

func stateDir(store string) string { return "state/" + store }

// checkExports wants a short life for the peer files of a session that stays
// (step 17).
func (s *staging) checkExports() error {
	_, err := s.capsule.PeerTTLSecs(s.lifecycle)
	return err
}

// checkRuntimes refuses staged runtimes below the sealed floor (step 18).
func (s *staging) checkRuntimes() error { return s.capsule.CheckStagedRuntime(s.decision.Declared) }
