package session

import (
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// reservedToolNames are the names the runtime answers itself, whether or not a
// session is granted them (TOL-55, TOL-56).
var reservedToolNames = []string{
	"submit-plan", "pull-artifact", "remove-artifact", "session-status", "switch-driver",
	"share-file", "fetch-peer-file", "delegate-task", "call-member", "end-without-answer",
}

// ReservedToolNames returns the names no artifact may have, in the order of
// TOL-55.
func ReservedToolNames() []string { return slices.Clone(reservedToolNames) }

// CheckToolName refuses with E-CAP-013 an artifact whose tool name the runtime
// answers itself. mur-stage asks it for a declared artifact and mur-launch for
// one a session pulls.
func CheckToolName(artifact, toolName string) error {
	if !slices.Contains(reservedToolNames, toolName) {
		return nil
	}
	all := strings.Join(reservedToolNames, ", ")
	return diag.Errorf("E-CAP-013", "the artifact %s has the name of a tool the runtime answers itself; those are %s", artifact, all).
		Hint("publish it under another name").In("check").
		About(diag.Subject{Kind: diag.Artifact, Name: artifact}).
		Name("artifact", artifact).Name("reserved", all)
}
