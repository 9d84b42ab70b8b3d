package stage

import (
	"fmt"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
)

// unbuilt lists the manifest keys that ask for what this version can not do, in
// document order. A session staged without them would grant or promise less, or
// hold less back, than its manifest says; so it is not staged at all.
func unbuilt(c *manifest.Capsule, p policy.Policy) (keys, reasons []string) {
	add := func(asked bool, key, reason string) {
		if asked {
			keys, reasons = append(keys, key), append(reasons, reason)
		}
	}
	for i, e := range c.Artifacts {
		add(e.Role == policy.Hook, fmt.Sprintf("artifacts[%d].runtime", i), "hooks are not run yet")
	}
	caps := c.Capabilities
	if caps == nil {
		caps = &policy.Capabilities{}
	}
	add(caps.PeerFetch != nil, "capabilities.peer_fetch", "peers are not asked for files yet")
	add(p.PlanSubmit, "capabilities.plan.submit", "plans are not run yet")
	add(caps.Install != nil, "capabilities.install", "a session can not pull artifacts yet")
	add(len(p.SpawnAllow) > 0, "capabilities.spawn.allow", "delegation is not built yet")
	if inf := c.Inference; inf != nil {
		add(inf.Transport == manifest.Process, "inference.transport", "harness programs are not run yet")
		add(len(inf.Alternates) > 0, "inference.alternates", "a session can not change its driver yet")
	}
	l := c.Lifecycle
	add(c.Agent() && l.TaskAcceptance == manifest.AcceptQueue && l.AfterTask == manifest.AfterSleep, "lifecycle.task_acceptance", "a session takes one task and no more yet")
	add(c.Network.Authentication != nil, "network.authentication", "the door checks no credentials yet")
	add(c.Exports.Files != nil, "exports.files", "the door serves no files yet")
	add(c.Exports.PeerFiles != nil, "exports.peer_files", "the door serves no files yet")
	add(c.Exports.PeerAccept, "exports.peer_tasks.accept", "the door takes no tasks from peers yet")
	add(c.Control.Surface() || len(c.Control.AgentSettings) > 0, "control", "there is no control surface yet")
	return keys, reasons
}

// refuseUnbuilt refuses a manifest that asks for what can not be done.
func (s *staging) refuseUnbuilt() error {
	keys, reasons := unbuilt(s.capsule, s.policy)
	if len(keys) > 0 {
		return unbuiltFault(keys[0], reasons[0]).About(s.capsule.Subject(keys[0]))
	}
	return nil
}

func unbuiltFault(key, reason string) *diag.Error {
	return diag.Errorf("E-MAN-003", "%s: this version of mur can not do that: %s", key, reason).
		Hint("remove the key, or use a version that can").In("check").
		Name("key", key).Name("reason", reason)
}
