package session

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/names"
)

// check refuses a document that contradicts itself, whoever wrote it: nothing
// outside the document is looked at. The reader and the writer both ask it.
func (d *Document) check() error {
	if d.Schema != Schema {
		return fmt.Errorf("schema is %q, not %s", d.Schema, Schema)
	}
	if err := ids.Check(ids.Session, d.SessionID); err != nil {
		return fmt.Errorf("session_id: %w", err)
	}
	for _, c := range []func() error{d.checkKind, d.checkDirectories, d.checkContainment, d.checkArtifacts, d.checkFiles} {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) checkKind() error {
	switch d.Kind {
	case KindAgent:
		if d.Inference == nil || d.Context == nil {
			return errors.New("kind is agent, but inference or context is null")
		}
		if d.Capsule.Component != nil || d.Capsule.Payload != nil {
			return errors.New("kind is agent, but capsule names a component")
		}
	case KindScript:
		if d.Inference != nil {
			return errors.New("kind is script, but inference is not null")
		}
		if d.Capsule.Component == nil && (d.Capsule.Archive == nil || d.Capsule.Payload == nil) {
			return errors.New("kind is script, but capsule names no component")
		}
		if d.Capsule.Implementation == nil {
			return errors.New("kind is script, but capsule.implementation is null")
		}
	}
	return nil
}

func (d *Document) checkDirectories() error {
	for at, p := range d.Directories.paths() {
		if !filepath.IsAbs(p) || filepath.Clean(p) != p {
			return fmt.Errorf("directories.%s is %q, which is no clean absolute path", at, p)
		}
	}
	dirs := d.Directories
	home := dirs.MurmurHome.Path
	if want := filepath.Join(home, SessionsDir, d.SessionID); dirs.Session.Path != want {
		return fmt.Errorf("directories.session is %q, not %q", dirs.Session.Path, want)
	}
	if want := filepath.Join(dirs.Session.Path, RuntimeDir); dirs.Runtime.Path != want {
		return fmt.Errorf("directories.runtime is %q, not %q", dirs.Runtime.Path, want)
	}
	mirror, err := Mirror(dirs.WorkdirRoot.Path)
	if err != nil {
		return err
	}
	if want := filepath.Join(home, mirror, d.SessionID); dirs.Records.Path != want {
		return fmt.Errorf("directories.records is %q, not %q", dirs.Records.Path, want)
	}
	return nil
}

func (d *Document) checkContainment() error {
	c := d.Containment
	if c.Achieved < c.Declared {
		return fmt.Errorf("containment.achieved is %s, below containment.declared %s", c.Achieved, c.Declared)
	}
	if d.Policy.ContainmentFloor != c.Declared {
		return fmt.Errorf("policy.containment_floor is %s, not containment.declared %s", d.Policy.ContainmentFloor, c.Declared)
	}
	if d.Sandbox.Version != 1 {
		return fmt.Errorf("sandbox.version is %d, not 1", d.Sandbox.Version)
	}
	return nil
}

func (d *Document) checkArtifacts() error {
	seen := map[string]bool{}
	for i, a := range d.Artifacts {
		at := fmt.Sprintf("artifacts[%d]", i)
		if err := names.CheckSegment(a.ToolName); err != nil {
			return fmt.Errorf("%s.tool_name %w", at, err)
		}
		if seen[a.ToolName] {
			return fmt.Errorf("%s.tool_name %q stands there twice", at, a.ToolName)
		}
		seen[a.ToolName] = true
		if want := path.Join(ToolsDir, a.ToolName, ManifestName); a.ManifestPath != want {
			return fmt.Errorf("%s.manifest_path is %q, not %q", at, a.ManifestPath, want)
		}
		if a.Implementation != ImplSkill && a.Implementation != ImplProvider && (a.Archive == nil || a.Payload == nil) {
			return fmt.Errorf("%s has no archive or payload", at)
		}
		if a.Gateway != nil && (*a.Gateway < 0 || *a.Gateway >= len(d.Gateways)) {
			return fmt.Errorf("%s.gateway is %d, and there are %d gateways", at, *a.Gateway, len(d.Gateways))
		}
		for _, h := range []struct{ at, hash string }{{"payload", hashOf(a.Payload)}, {"compiled", hashOfForm(a.Compiled)}} {
			if h.hash != "" && !isHash(h.hash) {
				return fmt.Errorf("%s.%s.sha256 is not 64 lower-case hex digits", at, h.at)
			}
		}
	}
	return nil
}

// checkFiles proves that every file the document names is among those that are
// verified before anything runs (SES-81).
func (d *Document) checkFiles() error {
	listed := map[string]StagedFile{}
	for i, f := range d.Files {
		if !filepath.IsAbs(f.Path) || filepath.Clean(f.Path) != f.Path {
			return fmt.Errorf("files[%d].path is %q, which is no clean absolute path", i, f.Path)
		}
		if !isHash(f.SHA256) {
			return fmt.Errorf("files[%d].sha256 is not 64 lower-case hex digits", i)
		}
		if _, err := parseMode(f.Mode); err != nil {
			return fmt.Errorf("files[%d].mode %w", i, err)
		}
		if _, twice := listed[f.Path]; twice {
			return fmt.Errorf("files[%d].path %q stands there twice", i, f.Path)
		}
		listed[f.Path] = f
	}
	named := []*File{d.Capsule.Component, d.Capsule.Archive}
	for i := range d.Artifacts {
		named = append(named, d.Artifacts[i].Archive)
	}
	for _, f := range named {
		if f == nil {
			continue
		}
		if in, ok := listed[f.Path]; !ok || in.SHA256 != f.SHA256 || in.Bytes != f.Bytes {
			return fmt.Errorf("%q is named, but files[] does not list it with the same hash and size", f.Path)
		}
	}
	return nil
}

func hashOf(p *Payload) string {
	if p == nil {
		return ""
	}
	return p.SHA256
}

func hashOfForm(c *Compiled) string {
	if c == nil {
		return ""
	}
	return c.SHA256
}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
