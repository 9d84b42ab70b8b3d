package confine

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the report for a person: the blocks of CON-57, with <none>
// for an empty list.
func (r ScopeReport) WriteText(w io.Writer) error {
	t := &scopeText{}
	t.block("Containment")
	t.row("declared", r.DeclaredContainment.String())
	t.row("achieved", r.AchievedContainment.String())
	t.row("floor met", yesNo(r.FloorMet))
	if r.ShortfallReason != "" {
		t.row("reason", r.ShortfallReason)
	}
	t.row("mechanism", r.EnforcementTier)
	t.row("userns grant", orNone(r.UsernsGrant))
	t.row("files outside grants", r.FilesystemBoundary.Restriction)
	t.row("processes", fmt.Sprintf("/proc %s, signals %s", r.ProcessBoundary.ProcView, r.ProcessBoundary.Signals))
	t.row("temporary folder", fmt.Sprintf("%s (%s)", r.TempDir.Path, r.TempDir.Mapping))

	t.block("Not protected here")
	t.lines(r.FilesystemBoundary.NotProtected)

	t.block("Effective grants")
	t.row("filesystem scope", scopeOf(r.FilesystemScope))
	t.row("workdir exec", yesNo(r.WorkdirExec))
	t.list("read-only paths", r.ReadOnlyPaths)
	t.list("read-only advisory for", r.ReadOnlyAdvisoryFor)
	t.list("preopens", preopens(r.Preopens))
	t.list("network allow", r.NetworkAllow)
	t.row("unix sockets", yesNo(r.UnixSockets))
	t.list("shell allow", r.ShellAllow)
	t.list("spawn allow", r.SpawnAllow)
	t.list("spawn workdir snapshot", r.SpawnWorkdirSnapshot)
	t.list("env allow", r.EnvAllow)
	t.row("plan submit", yesNo(r.PlanSubmit))
	t.list("interpreter runtime", r.InterpreterRuntimeGrants)
	t.list("derived runtime", r.DerivedRuntimeGrants)
	t.list("staged runtime", r.StagedRuntimeGrants)
	t.list("trust store", r.TrustStoreGrants)
	t.list("host paths", r.HostPaths)
	t.list("install skill", r.InstallGrants.Skill)
	t.list("install tool", r.InstallGrants.Tool)
	t.row("install from sources", yesNo(r.InstallGrants.FromSources))
	t.list("state stores", stores(r.StateStores))
	t.list("configured artifacts", r.ConfiguredArtifacts)
	if p := r.ParentWorkdir; p != nil {
		t.row("parent workdir", fmt.Sprintf("%d files, %d bytes from %s", p.Files, p.Bytes, p.SourceSession))
	}

	t.block("Resource plane")
	t.row("exports.files", filesExport(r.ExportsFiles))
	t.row("io.max", ioMax(r.IOMax))

	t.block("Peer handoff")
	t.row("exports.peer_files", peerExport(r.PeerFiles))
	t.list("peer fetch allow", r.PeerFetchAllow)

	t.block("Runtime writes (relative to the work folder)")
	var writes []string
	for _, rw := range r.RuntimeWrites {
		writes = append(writes, fmt.Sprintf("%s (%s, %s)", rw.Path, rw.Kind, rw.Condition))
	}
	t.lines(writes)
	if !r.FloorMet {
		t.b.WriteString("\nThis is a report only: staging this capsule here is refused.\n")
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

type scopeText struct{ b strings.Builder }

func (t *scopeText) block(title string) {
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
	t.b.WriteString(title + "\n")
}

func (t *scopeText) row(name, value string) { fmt.Fprintf(&t.b, "  %-23s %s\n", name+":", value) }

func (t *scopeText) list(name string, values []string) {
	if len(values) == 0 {
		t.row(name, "<none>")
		return
	}
	t.row(name, strings.Join(values, "\n"+strings.Repeat(" ", 26)))
}

func (t *scopeText) lines(values []string) {
	if len(values) == 0 {
		values = []string{"<none>"}
	}
	for _, v := range values {
		t.b.WriteString("  " + v + "\n")
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orNone(s *string) string {
	if s == nil {
		return "<none>"
	}
	return *s
}

func scopeOf(s *string) string {
	if s == nil {
		return "whole work folder"
	}
	return *s
}

func preopens(list []Preopen) []string {
	var out []string
	for _, p := range list {
		s := fmt.Sprintf("%s (%s): %s", p.Artifact, p.Role, p.Surface)
		if p.Scope != nil {
			s += " " + *p.Scope
		}
		out = append(out, s)
	}
	return out
}

func stores(list []StateStore) []string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%s: %s at %s", s.Artifact, s.Store, s.HostPath))
	}
	return out
}

func filesExport(e *FilesExport) string {
	if e == nil {
		return "<none>"
	}
	return fmt.Sprintf("%s (%s, at most %d bytes)", e.Root, e.Mode, e.MaxBytes)
}

func peerExport(e *PeerExport) string {
	switch {
	case e == nil:
		return "<none>"
	case e.MaxTTLSecs == nil:
		return fmt.Sprintf("%s (at most %d bytes)", e.Root, e.MaxBytes)
	}
	return fmt.Sprintf("%s (at most %d bytes, for at most %d s)", e.Root, e.MaxBytes, *e.MaxTTLSecs)
}

func ioMax(m IOMax) string {
	s := m.Status
	if m.DeclaredBytesPerSec != nil {
		s = fmt.Sprintf("%d bytes per second, %s", *m.DeclaredBytesPerSec, s)
	}
	if m.Reason != "" {
		s += ": " + m.Reason
	}
	return s
}
