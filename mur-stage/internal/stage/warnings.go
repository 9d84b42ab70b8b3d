package stage

import (
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
)

// warnCapsule raises the warnings about the whole capsule (step 22).
func (s *staging) warnCapsule() error {
	s.warn(capsuleWarnings(s.capsule, s.policy, s.lifecycle, s.decision, s.reading)...)
	return nil
}

func capsuleWarnings(c *manifest.Capsule, p policy.Policy, l manifest.Lifecycle, d confine.Decision, r confine.Reading) []diag.Warning {
	var out []diag.Warning
	add := func(asked bool, code diag.Code, topic, key, format string, args ...any) {
		if !asked {
			return
		}
		w := diag.Warningf(code, topic, format, args...)
		w.Phase = "check"
		w.Names = map[string]any{"key": key}
		if key != "" {
			subject := c.Subject(key)
			w.Subject = &subject
		}
		out = append(out, w)
	}
	add(p.WorkdirExec, "W-SEC-011", "containment", "capabilities.filesystem.workdir_exec",
		"capabilities.filesystem.workdir_exec lets what is in the work folder run, so shell.allow is advice and the class is %s", d.Achieved)
	add(r.UsernsGrant != nil && *r.UsernsGrant == confine.UsernsHostWide && d.Declared == policy.Sealed, "W-SEC-013", "containment", "",
		"user namespaces are open to every program of this host (kernel.apparmor_restrict_unprivileged_userns is 0); load the AppArmor profile mur-sealed and set it to 1 to open them to mur alone")
	add(p.StateDeclared, "W-SEC-014", "state", "capabilities.state",
		"capabilities.state of the whole capsule grants nothing; declare it on the artifact that needs it")
	add(p.ConversationDeclared, "W-SEC-016", "conversation", "capabilities.conversation",
		"capabilities.conversation of the whole capsule grants nothing; declare it on the hook that needs it")
	out = append(out, runtimeWarnings(p)...)
	return append(out, policy.CredentialWarnings(p.EnvAllow, p.Env(), l.AfterTask == manifest.AfterSleep)...)
}
