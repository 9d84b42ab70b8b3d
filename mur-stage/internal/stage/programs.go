package stage

import (
	"context"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/confine/grants"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

// findPrograms finds what the allowed programs need beside what the policy says
// (CON-74 to CON-88), once, for the report and the document alike (CON-286), and
// under sealed refuses scripts whose packages nothing makes reachable (step 19).
func (s *staging) findPrograms(ctx context.Context) error {
	if len(s.policy.ShellAllow) == 0 {
		return nil
	}
	path, _ := lookupEnv(s.in.Environ, "PATH")
	user, _ := lookupEnv(s.in.Environ, "HOME")
	request := grants.Request{
		Entries: s.policy.ShellAllow, Path: path, Network: len(s.policy.NetworkAllow) > 0,
		Work: s.workFolder(""), Murmur: s.home.Path(), User: user,
	}
	s.found = grants.Find(ctx, request, s.host.Programs)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	s.policy.DerivedInterpreterRuntime = s.found.Derived
	s.policy.TrustStore = s.found.TrustStore
	if s.decision.Declared == policy.Sealed {
		if err := unreachable(grants.Unreachable(s.found, s.policy)); err != nil {
			return s.capsule.Locate(err)
		}
	}
	if s.decision.Achieved >= policy.Scoped && !s.explain {
		s.helpers = grants.CompilerWarnings(ctx, request, s.found, s.policy, s.host.Programs)
	}
	return nil
}

// unreachable is E-CAP-006, naming every script at once.
func unreachable(scripts []grants.Script) error {
	if len(scripts) == 0 {
		return nil
	}
	var list []string
	for _, sc := range scripts {
		list = append(list, fmt.Sprintf("%s (%s, run by %s)", sc.Entry, sc.Path, sc.Interpreter))
	}
	text := strings.Join(list, ", ")
	return diag.Errorf("E-CAP-006", "capabilities.shell.allow names scripts whose own package tree a sealed session can not reach: %s", text).
		Hint("grant the tree with capabilities.shell.interpreter_runtime or staged_runtime").
		In("check").About(diag.Subject{Kind: diag.ManifestKey, Name: "capabilities.shell.allow"}).Name("entries", text)
}

// hostFacts says where what is known about each program came from (CON-87).
func (s *staging) hostFacts() []session.HostFact {
	out := []session.HostFact{}
	for _, f := range s.found.Facts {
		out = append(out, session.HostFact{Binary: f.Binary, Path: f.Path, Source: f.Source})
	}
	return out
}
