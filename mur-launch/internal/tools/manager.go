package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// manager answers what a script capsule asks about its artifacts (ART section
// 15). This launch pulls and removes nothing.
type manager struct {
	doc     *session.Document
	folders Folders
}

// Manager returns what answers murmur:artifact-manager/manage.
func (d *Desk) Manager() wasmhost.ArtifactManager {
	return &manager{doc: d.doc, folders: d.folders}
}

// List answers with the tools and skills by full name, then the programs of
// shell.allow no artifact stands for, by their bare name (ART-174).
func (m *manager) List(context.Context) []wasmhost.ArtifactSummary {
	list := []wasmhost.ArtifactSummary{}
	taken := map[string]bool{}
	for _, a := range m.installed() {
		taken[a.ToolName] = true
		list = append(list, wasmhost.ArtifactSummary{Name: a.Name, Version: a.Version, Runtime: runtimeType(a)})
	}
	slices.SortFunc(list, func(a, b wasmhost.ArtifactSummary) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range m.doc.Policy.ShellAllow {
		if !taken[name] {
			taken[name] = true
			list = append(list, wasmhost.ArtifactSummary{Name: name, Version: "0.0.0", Runtime: "native"})
		}
	}
	return list
}

// installed are the artifacts a session can call.
func (m *manager) installed() []*session.Artifact {
	var found []*session.Artifact
	for i := range m.doc.Artifacts {
		if a := &m.doc.Artifacts[i]; a.Role == "tool" || a.Role == "skill" {
			found = append(found, a)
		}
	}
	return found
}

// runtimeType is native for what runs as a process, else wasm; skills have no
// word of their own (WIT-29).
func runtimeType(a *session.Artifact) string {
	if a.Implementation == session.ImplNative {
		return "native"
	}
	return "wasm"
}

// Describe answers from the manifest staging laid out for the artifact
// (ART-175). It takes the full name, or the tool name a call uses.
func (m *manager) Describe(ctx context.Context, name string) (wasmhost.ArtifactInfo, error) {
	for _, s := range m.List(ctx) {
		tool := s.Name[strings.LastIndex(s.Name, "/")+1:]
		if s.Name == name || tool == name {
			return m.describe(s, tool)
		}
	}
	return wasmhost.ArtifactInfo{}, fmt.Errorf("%q is not installed in this session", cut(name, 200))
}

func (m *manager) describe(s wasmhost.ArtifactSummary, tool string) (wasmhost.ArtifactInfo, error) {
	info := wasmhost.ArtifactInfo{Name: s.Name, Version: s.Version, Runtime: s.Runtime, Tags: []string{}}
	rel := session.ToolsDir + "/" + tool + "/" + session.ManifestName
	text, err := m.folders.Runtime.ReadFile(rel, manifest.MaxBytes+1)
	if err != nil {
		return info, fmt.Errorf("the manifest of %s, %s, can not be read: %w", s.Name, m.folders.Runtime.Join(rel), err)
	}
	a, _, err := manifest.ParseArtifact(m.folders.Runtime.Join(rel), text, manifest.ArtifactOptions{})
	if err != nil {
		return info, err
	}
	info.Description = a.Description
	info.Tags = append(info.Tags, a.Tags...)
	if a.InputSchema != "" {
		info.InputSchema = &a.InputSchema
	}
	if a.OutputSchema != "" {
		info.OutputSchema = &a.OutputSchema
	}
	return info, nil
}

// Search is not served without sources (ART-176).
func (m *manager) Search(context.Context, string) ([]wasmhost.ArtifactSummary, error) {
	return nil, errors.New("search is not implemented: this session's artifacts come from its stores alone")
}

// Pull refuses in the order of ART-138 and names the missing grant.
func (m *manager) Pull(_ context.Context, name, version string) (wasmhost.ArtifactSummary, error) {
	if err := m.granted("pulled", name+"@"+version); err != nil {
		return wasmhost.ArtifactSummary{}, err
	}
	return wasmhost.ArtifactSummary{}, fmt.Errorf("not-available: %q can not be pulled: this mur-launch pulls no artifacts", cut(name, 200))
}

// Remove refuses likewise (ART-158).
func (m *manager) Remove(_ context.Context, name string) (bool, error) {
	if err := m.granted("removed", name); err != nil {
		return false, err
	}
	return false, fmt.Errorf("not-available: %q can not be removed: this mur-launch removes no artifacts", cut(name, 200))
}

func (m *manager) granted(done, what string) error {
	if len(m.doc.Policy.InstallSkill)+len(m.doc.Policy.InstallTool) > 0 {
		return nil
	}
	return fmt.Errorf("not-granted: the capsule declares no capabilities.install, so %q can not be %s", cut(what, 300), done)
}

// Diagnostics answers with the session, its list and one line on the install
// grant (ART-176).
func (m *manager) Diagnostics(ctx context.Context) (wasmhost.RuntimeState, error) {
	grant := "install: nothing is granted"
	if s, t := m.doc.Policy.InstallSkill, m.doc.Policy.InstallTool; len(s)+len(t) > 0 {
		grant = fmt.Sprintf("install: skills %v, tools %v, from sources: %v", s, t, m.doc.Policy.InstallFromSources)
	}
	return wasmhost.RuntimeState{CapsuleID: m.doc.SessionID, Installed: m.List(ctx), Capabilities: grant}, nil
}
