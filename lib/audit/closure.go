package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
)

// Closure reads every capsule that a capsule may delegate to, directly or through
// others, from the stores: the newest version of each, once. A capsule that
// declares a variable its parent's env.allow lacks is E-CAP-015; one that can not
// be inspected is W-REG-002 (DIA-198). It runs nothing.
func Closure(ctx context.Context, root *manifest.Capsule, stores store.Chain, host string) (faults []error, warnings []diag.Warning) {
	seen := map[string]bool{}
	type capsule struct {
		name string
		m    *manifest.Capsule
	}
	queue := []capsule{{root.Name, root}}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for _, name := range spawned(parent.m) {
			child, err := newest(ctx, stores, name, host)
			if err != nil {
				if !seen[name] {
					warnings = append(warnings, uninspected(name, parent.name, err))
				}
				seen[name] = true
				continue
			}
			faults = append(faults, widened(parent.name, envAllow(parent.m), name, envAllow(child))...)
			if !seen[name] {
				seen[name] = true
				queue = append(queue, capsule{name, child})
			}
		}
	}
	return faults, warnings
}

func spawned(m *manifest.Capsule) []string {
	if m.Capabilities == nil || m.Capabilities.Spawn == nil {
		return nil
	}
	return m.Capabilities.Spawn.Allow
}

func envAllow(m *manifest.Capsule) []string {
	if m.Capabilities == nil || m.Capabilities.Env == nil {
		return nil
	}
	return m.Capabilities.Env.Allow
}

// widened is E-CAP-015 for each variable that a child would need and its parent
// has not.
func widened(parent string, has []string, child string, wants []string) []error {
	var out []error
	for _, name := range wants {
		if slices.Contains(has, name) {
			continue
		}
		out = append(out, diag.Errorf("E-CAP-015", "%s may delegate to %s, whose capabilities.env.allow has %s and its own has not, so the delegation would be refused", parent, child, name).
			Hint("add %s to capabilities.env.allow of %s", name, parent).
			About(diag.Subject{Kind: diag.ManifestKey, Name: "capabilities.env.allow"}).
			Name("parent", parent).Name("child", child).Name("axis", "env.allow").Name("entry", name))
	}
	return out
}

func uninspected(name, parent string, err error) diag.Warning {
	w := diag.Warningf("W-REG-002", "artifact", "%s, which %s may delegate to, could not be inspected: %v", name, parent, err)
	w.Subject = &diag.Subject{Kind: diag.Artifact, Name: name}
	w.Names = map[string]any{"capsule": name, "declared by": parent, "reason": err.Error()}
	return w
}

// newest reads the manifest of the newest version of a capsule that the first
// store holding any has.
func newest(ctx context.Context, stores store.Chain, name, host string) (*manifest.Capsule, error) {
	full, err := names.ParseFull(name)
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		versions, err := s.Versions(ctx, full, host)
		if err != nil {
			return nil, err
		}
		if len(versions) == 0 {
			continue
		}
		ref := artifact.Ref{Full: full, Version: versions[len(versions)-1]}
		found, err := s.Resolve(ctx, ref, host)
		if err != nil {
			return nil, err
		}
		text, err := found.Archive.Manifest()
		if err != nil {
			return nil, artifact.Fault(ref.String(), err)
		}
		m, _, err := manifest.Parse(fmt.Sprintf("%s/%s", found.Path, manifest.FileName), text, manifest.Options{})
		return m, err
	}
	return nil, errors.New("no store has it")
}
