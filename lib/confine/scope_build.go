package confine

import (
	"slices"

	"github.com/mur-capsules/mur/lib/policy"
)

// Scope is what a scope report is made from. All of it was decided before;
// nothing here is looked up.
type Scope struct {
	Reading  Reading
	Decision Decision
	Policy   policy.Policy

	Preopens            []Preopen
	StateStores         []StateStore
	ConfiguredArtifacts []string
	ExportsFiles        *FilesExport
	PeerFiles           *PeerExport
	ParentWorkdir       *ParentWorkdir
	// Folders are the session's; before a session exists, where they would be.
	Folders Folders
}

// Report makes the scope report of a session (CON section 6). mur-stage puts it
// into the document and prints it for --explain-scope: both are this value.
func Report(s Scope) ScopeReport {
	p, d := s.Policy, s.Decision
	r := ScopeReport{
		DeclaredContainment: d.Declared, AchievedContainment: d.Achieved,
		FloorMet:         d.Achieved >= d.Declared,
		EnforcementTier:  string(d.HostTier),
		UsernsGrant:      s.Reading.UsernsGrant,
		FilesystemScope:  p.FilesystemScope,
		WorkdirExec:      p.WorkdirExec,
		ReadOnlyPaths:    copied(p.ReadOnly),
		Preopens:         copied(s.Preopens),
		NetworkAllow:     rules(p.NetworkAllow),
		UnixSockets:      p.UnixSockets,
		ShellAllow:       copied(p.ShellAllow),
		SpawnAllow:       copied(p.SpawnAllow),
		EnvAllow:         copied(p.EnvAllow),
		PlanSubmit:       p.PlanSubmit,
		ExportsFiles:     s.ExportsFiles,
		PeerFiles:        s.PeerFiles,
		PeerFetchAllow:   rules(p.PeerFetchAllow),
		StateStores:      copied(s.StateStores),
		RuntimeWrites:    RuntimeWrites(),
		TrustStoreGrants: copied(p.TrustStore),
		HostPaths:        copied(p.HostPaths),
		ParentWorkdir:    s.ParentWorkdir,

		ConfiguredArtifacts:      copied(s.ConfiguredArtifacts),
		ReadOnlyAdvisoryFor:      advisoryFor(p),
		InterpreterRuntimeGrants: runtimeGrants(p.InterpreterRuntime),
		DerivedRuntimeGrants:     []string{},
		StagedRuntimeGrants:      []string{},
		SpawnWorkdirSnapshot:     copied(p.SpawnWorkdirSnapshot),
		InstallGrants:            InstallGrants{Skill: words(p.InstallSkill), Tool: words(p.InstallTool), FromSources: p.InstallFromSources},
		IOMax:                    IOMax{DeclaredBytesPerSec: p.DeclaredResources.CgroupIOBytesPerSec, Status: "not-required"},
		ProcessBoundary:          d.processBoundary(s.Reading),
		TempDir:                  TempDir{Path: s.Folders.Tmp, Mapping: d.TempMapping(s.Reading, s.Folders)},
	}
	if !r.FloorMet {
		r.ShortfallReason = d.Shortfall
	}
	for _, g := range p.StagedRuntime {
		r.StagedRuntimeGrants = append(r.StagedRuntimeGrants, g.Binary+": "+g.SourcePath+" (pin: "+g.Pin+")")
	}
	for _, g := range p.DerivedInterpreterRuntime {
		r.DerivedRuntimeGrants = append(r.DerivedRuntimeGrants, g.Binary+": "+g.Dir)
	}
	if r.IOMax.DeclaredBytesPerSec != nil {
		r.IOMax.Status = "not-probed"
	}
	r.FilesystemBoundary = d.filesystemBoundary(s.Reading, p, r.ProcessBoundary)
	return r
}

// PrivateMounts tells whether a scoped worker runs in the private mount
// namespace of CON-71.
func (d Decision) PrivateMounts(r Reading) bool { return d.Achieved == policy.Scoped && r.MountNS }

// TempMapping is private-tmp when a literal /tmp leads to the session's temporary
// folder, else env-only: so it stays where a folder of the session lies beneath /tmp
// (CON-72).
func (d Decision) TempMapping(r Reading, f Folders) string {
	if (d.Achieved == policy.Sealed || d.PrivateMounts(r) && f.Work != "/") && !f.beneathTmp() {
		return "private-tmp"
	}
	return "env-only"
}

// processBoundary is CON-121.
func (d Decision) processBoundary(r Reading) ProcessBoundary {
	b := ProcessBoundary{ProcView: "host", Signals: "unmediated", LandlockABI: r.Landlock.ABI}
	switch {
	case d.Achieved < policy.Scoped:
	case r.ProcView == "private":
		b.ProcView, b.Signals = "private", "pid-namespace"
	case r.Landlock.ABI >= 6:
		b.Signals = "landlock"
	}
	return b
}

// filesystemBoundary is CON-58. Below scoped nothing is promised, so every gap
// is listed.
func (d Decision) filesystemBoundary(r Reading, p policy.Policy, process ProcessBoundary) FilesystemBoundary {
	b := FilesystemBoundary{Restriction: "enforced", NotProtected: []string{}}
	switch {
	case d.Achieved == policy.Sealed:
		return b
	case d.Achieved < policy.Advisory, d.Achieved == policy.Advisory && r.Landlock.State != LandlockEnforced:
		b.Restriction = "absent"
	case d.Achieved == policy.Advisory:
		b.Restriction = "advisory"
	}
	private := d.PrivateMounts(r)
	for _, gap := range []struct {
		open bool
		word string
	}{
		{true, "outside_names"},
		{!private, "outside_metadata"},
		{!private || p.WorkdirExec, "loader_exec"},
		{process.Signals == "unmediated", "signals"},
	} {
		if gap.open {
			b.NotProtected = append(b.NotProtected, gap.word)
		}
	}
	return b
}

// advisoryFor are the allowed programs that can write past the analyser of
// read_only paths (CON-240).
func advisoryFor(p policy.Policy) []string {
	out := []string{}
	if len(p.ReadOnly) == 0 {
		return out
	}
	for _, b := range p.ShellAllow {
		if slices.Contains(policy.Interpreters(), b) {
			out = append(out, b)
		}
	}
	return out
}

func runtimeGrants(grants []policy.InterpreterRuntime) []string {
	out := []string{}
	for _, g := range grants {
		for _, dir := range g.Dirs {
			s := g.Binary + ": " + dir.Path
			if dir.ListDir {
				s += " (list_dir)"
			}
			out = append(out, s)
		}
	}
	return out
}

func rules(rs policy.Rules) []string {
	out := []string{}
	for _, r := range rs {
		out = append(out, r.String())
	}
	return out
}

func words[T ~string](list []T) []string {
	out := []string{}
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

// copied is never nil.
func copied[T any](list []T) []T { return append([]T{}, list...) }
