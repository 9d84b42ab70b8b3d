package stage

import (
	"path"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/toolschema"
)

// lowerReadOnly resolves the read-only paths (step 21).
func (s *staging) lowerReadOnly() error {
	if s.capsule.Capabilities == nil || s.capsule.Capabilities.Filesystem == nil {
		return nil
	}
	var err error
	s.policy.ReadOnly, err = policy.CheckReadOnly(policy.Place{Key: "capabilities.filesystem.read_only"}, s.capsule.Capabilities.Filesystem.ReadOnly)
	return s.capsule.Locate(err)
}

// protected are the read-only paths as calls are compared with them.
func (s *staging) protected() []session.ProtectedPath {
	out := []session.ProtectedPath{}
	for _, rule := range s.policy.ReadOnly {
		out = append(out, session.ProtectedPath{Rule: rule, Relative: path.Clean(rule)})
	}
	return out
}

// annotate reads which parts of the tools' inputs are paths, only where there is
// something to protect (step 36, CON-254, CON-287).
func (s *staging) annotate() error {
	s.annotations = map[string]session.ToolAnnotations{}
	if len(s.policy.ReadOnly) == 0 {
		return nil
	}
	for _, a := range s.artifacts {
		if a.entry.Role != policy.Tool {
			continue
		}
		n := toolschema.Annotate(a.manifest.InputSchema)
		s.annotations[a.entry.ToolName()] = session.ToolAnnotations{Destinations: n.Destinations, Opaque: n.Opaque, Templates: n.Templates}
		if w, ok := toolschema.UnannotatedWarning(a.entry.ToolName(), n); ok {
			s.warn(w)
		}
	}
	return nil
}
