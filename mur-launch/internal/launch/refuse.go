package launch

import (
	"slices"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
)

// unsupported refuses, by name, what a document asks for and this launch can
// not give.
func unsupported(doc *session.Document) error {
	switch {
	case doc.Kind == session.KindAgent:
		return unsupportedAgent(doc)
	case doc.Deadline != nil:
		return scriptDeadline()
	case doc.Lineage.FormationID != nil || doc.Lineage.ExpectsFormationLifeline || doc.Lineage.ExpectsFormationChannel:
		return diag.Errorf("E-RUN-046", "a script capsule can not be a member of a formation").
			In("launch").Name("variable", "MURMUR_FORMATION_ID").Name("reason", "a script capsule")
	case doc.Lineage.ExpectsSpawnerLifeline || doc.Lineage.ExpectsSpawnGrant:
		return diag.Errorf("E-RUN-020", "this mur-launch takes no spawner lifeline: a delegated script capsule can not be run").
			In("launch").Name("variable", "MURMUR_SPAWNER").Name("reason", "not served")
	}
	return nil
}

// scriptDeadline refuses a deadline that nothing could keep (SES-176).
func scriptDeadline() error {
	return diag.Errorf("E-RUN-102", "a session deadline can not be enforced on a script capsule").
		Hint("leave out --deadline; capsules are bounded by capabilities.limits.deadline_seconds").
		In("launch").Name("reason", "a script capsule")
}

// unserved refuses, before anything is touched, a document that asks for what
// this launch does not do and that would hold less back without it.
func unserved(doc *session.Document) error {
	p := doc.Policy
	agent := doc.Kind == session.KindAgent
	for _, c := range []struct {
		asked bool
		field string
	}{
		{len(doc.Gateways) > 0 && !agent, "gateways"},
		{len(p.SpawnAllow) > 0, "policy.spawn_allow"},
		{len(p.PeerFetchAllow) > 0, "policy.peer_fetch_allow"},
		{agent && p.PlanSubmit, "policy.plan_submit"},
		{agent && len(p.InstallSkill)+len(p.InstallTool) > 0, "policy.install_tool"},
		{hooks(doc), "artifacts[].hook"},
		{doc.Control != nil, "control"},
		{doc.Door.Authentication != nil, "door.authentication"},
		{doc.Door.AcceptsPeerTasks, "door.accepts_peer_tasks"},
		{doc.Exports.Files != nil, "exports.files"},
		{doc.Exports.PeerFiles != nil, "exports.peer_files"},
		{agent && doc.Inference.Transport != "http", "inference.transport"},
		{agent && len(doc.Inference.Choices) > 1, "inference.choices"},
		{agent && doc.Resume != nil, "resume"},
		{agent && doc.ForgetSession, "forget_session"},
		{agent && doc.Lifecycle.TaskAcceptance == "queue" && doc.Lifecycle.AfterTask == "sleep", "lifecycle.task_acceptance"},
	} {
		if c.asked {
			return diag.Errorf("E-STG-101", "the staged session %s asks for what this mur-launch does not serve: %s", doc.SessionID, c.field).
				In("launch").Name("field", c.field)
		}
	}
	return nil
}

func hooks(doc *session.Document) bool {
	return slices.ContainsFunc(doc.Artifacts, func(a session.Artifact) bool { return a.Role == "hook" })
}

func native(doc *session.Document) bool {
	return slices.ContainsFunc(doc.Artifacts, func(a session.Artifact) bool { return a.Implementation == session.ImplNative })
}

// unsupportedAgent refuses an agent that could not do what its document says
// once it runs.
func unsupportedAgent(doc *session.Document) error {
	switch {
	case len(doc.Inference.Choices) == 0:
		return diag.Errorf("E-RUN-005", "the document of session %s names no inference driver: inference.driver.artifact is missing", doc.SessionID).
			In("launch").Name("key", "inference.driver.artifact")
	case doc.Lineage.FormationID != nil || doc.Lineage.ExpectsFormationLifeline || doc.Lineage.ExpectsFormationChannel:
		return diag.Errorf("E-RUN-046", "this mur-launch runs no member of a formation").
			In("launch").Name("variable", "MURMUR_FORMATION_ID").Name("reason", "not served")
	case doc.Lineage.ExpectsSpawnerLifeline || doc.Lineage.ExpectsSpawnGrant:
		return diag.Errorf("E-RUN-020", "this mur-launch takes no spawner lifeline: a delegated capsule can not be run").
			In("launch").Name("variable", "MURMUR_SPAWNER").Name("reason", "not served")
	}
	return nil
}

// fits refuses options that mean nothing for the session.
func fits(doc *session.Document, o Options) error {
	switch {
	case doc.Kind == session.KindAgent:
		return nil
	case o.Deadline > 0:
		return scriptDeadline()
	case o.Task == nil && o.Stream == nil:
		return nil
	}
	return diag.Usagef("--task and --stream are for agent capsules, and session %s runs a script", doc.SessionID)
}
