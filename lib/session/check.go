package session

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/policy"
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
	for _, c := range []func() error{
		d.checkKind, d.checkBundle, d.checkDirectories, d.checkContainment, d.checkArtifacts, d.checkFiles, d.checkNatives, d.checkPins, d.checkForms,
	} {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}

// checkBundle wants a bundle to be named by a digest.
func (d *Document) checkBundle() error {
	if d.Bundle == nil {
		return nil
	}
	if hash, ok := strings.CutPrefix(d.Bundle.Digest, "sha256:"); !ok || !isHash(hash) {
		return fmt.Errorf("bundle.digest is %q, not sha256: and 64 lower-case hex digits", d.Bundle.Digest)
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
	for i, v := range c.DeclaredBy {
		if !slices.Contains(policy.Sources(), v.Source) {
			return fmt.Errorf("containment.declared_by[%d].source is %q, not one of %s", i, v.Source, strings.Join(policy.Sources(), ", "))
		}
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
		if a.Payload != nil && !isHash(a.Payload.SHA256) {
			return fmt.Errorf("%s.payload.sha256 is not 64 lower-case hex digits", at)
		}
	}
	return nil
}

// checkPins compares what was resolved with the artifacts: one pin for each that
// came from a store, of its version and its archive's hash.
func (d *Document) checkPins() error {
	archives := map[string]*Artifact{}
	for i := range d.Artifacts {
		if a := &d.Artifacts[i]; a.Archive != nil {
			archives[a.Name] = a
		}
	}
	if len(d.Lock.Resolved) != len(archives) {
		return fmt.Errorf("lock.resolved has %d entries, and %d artifacts came from a store", len(d.Lock.Resolved), len(archives))
	}
	for i, r := range d.Lock.Resolved {
		a := archives[r.Name]
		switch {
		case a == nil:
			return fmt.Errorf("lock.resolved[%d] is %q, which is no artifact from a store", i, r.Name)
		case r.ResolvedVersion != a.Version || r.SHA256 != a.Archive.SHA256 || r.Origin != a.Origin:
			return fmt.Errorf("lock.resolved[%d] and the artifact %s differ in version, hash or origin", i, r.Name)
		}
	}
	return nil
}

// checkForms compares where each compiled form lies with what it was compiled
// from and by (ART-127).
func (d *Document) checkForms() error {
	check := func(at string, c *Compiled, source *File) error {
		if c == nil {
			return nil
		}
		if source == nil {
			return fmt.Errorf("%s.compiled is a form of nothing", at)
		}
		want := filepath.Join(d.Directories.MurmurHome.Path, "compiled", source.SHA256+"-"+c.Fingerprint+".cwasm")
		if c.Path != want {
			return fmt.Errorf("%s.compiled.path is %q, not %q", at, c.Path, want)
		}
		if !isHash(c.SHA256) {
			return fmt.Errorf("%s.compiled.sha256 is not 64 lower-case hex digits", at)
		}
		return nil
	}
	source := d.Capsule.Component
	if source == nil {
		source = d.Capsule.Archive
	}
	if err := check("capsule", d.Capsule.Compiled, source); err != nil {
		return err
	}
	for i := range d.Artifacts {
		if err := check(fmt.Sprintf("artifacts[%d]", i), d.Artifacts[i].Compiled, d.Artifacts[i].Archive); err != nil {
			return err
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

// checkNatives proves that every native tool is one program of the runtime
// directory that was listed with the bytes of its payload.
func (d *Document) checkNatives() error {
	programs := map[string]string{}
	for i, n := range d.Sandbox.Natives {
		if want := filepath.Join(d.Directories.Runtime.Path, ToolsDir, n.Tool, n.Tool); n.Path != want {
			return fmt.Errorf("sandbox.natives[%d].path is %q, not %q", i, n.Path, want)
		}
		programs[n.Tool] = n.Path
	}
	for i, a := range d.Artifacts {
		if a.Implementation != ImplNative {
			continue
		}
		at := fmt.Sprintf("artifacts[%d]", i)
		path, ok := programs[a.ToolName]
		if !ok {
			return fmt.Errorf("%s is native, and sandbox.natives has no %q", at, a.ToolName)
		}
		delete(programs, a.ToolName)
		if !slices.ContainsFunc(d.Files, func(f StagedFile) bool { return f.Path == path && f.SHA256 == a.Payload.SHA256 }) {
			return fmt.Errorf("%s is native, and files[] does not list %q with its payload's hash", at, path)
		}
	}
	for tool := range programs {
		return fmt.Errorf("sandbox.natives has %q, which is no native artifact", tool)
	}
	return nil
}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
