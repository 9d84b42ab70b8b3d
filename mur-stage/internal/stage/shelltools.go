package stage

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// shellVersion is the version of every tool the runtime makes up (SHL-24).
const shellVersion = "0.0.0"

// shellUse says how a program takes its command (SHL-25).
func shellUse(entry string) string {
	if policy.TakesShellLine(entry) {
		return fmt.Sprintf("Runs %s in the work folder. command is a whole shell line.", entry)
	}
	return fmt.Sprintf("Runs %s in the work folder. command holds only the arguments, without the program name; "+
		"quotes group words, and there is no shell: no variables, patterns, pipes or redirections.", entry)
}

// shellManifest is the manifest of an allowed program that no artifact stands
// for: what the model is offered of it (SHL-24).
func shellManifest(entry string) []byte {
	text := func(s string) string {
		quoted, _ := json.Marshal(s) // a JSON string is a YAML string
		return string(quoted)
	}
	return fmt.Appendf(nil, `name: %s
version: %s
runtime: tool
implementation: native
description: %s
input_schema:
  type: object
  properties:
    command: {type: string}
  required: [command]
`, text(entry), text(shellVersion), text(shellUse(entry)))
}

// writePrograms writes a generic manifest for each allowed program that no
// artifact stands for (TOL-5, ART-117).
func (s *staging) writePrograms() error {
	for _, entry := range s.programs() {
		dir := session.ToolsDir + "/" + entry
		if err := s.held.runtime.Mkdir(dir); err != nil {
			return workfs.Fault(err, "cannot lay out the tools")
		}
		if err := s.writeStaged(dir+"/"+session.ManifestName, shellManifest(entry)); err != nil {
			return err
		}
	}
	return nil
}

// programs are the names of shell.allow that no artifact has, each once.
func (s *staging) programs() []string {
	var out []string
	for _, entry := range s.policy.ShellAllow {
		taken := slices.ContainsFunc(s.artifacts, func(a staged) bool { return a.entry.ToolName() == entry })
		if !taken && !slices.Contains(out, entry) {
			out = append(out, entry)
		}
	}
	return out
}

// checkPrograms refuses allowed programs with the name of a tool the runtime
// answers itself (SHL-28).
func (s *staging) checkPrograms() error {
	if s.capsule.Capabilities == nil || s.capsule.Capabilities.Shell == nil {
		return nil
	}
	for i, entry := range s.capsule.Capabilities.Shell.Allow {
		if slices.Contains(session.ReservedToolNames(), entry) {
			key := fmt.Sprintf("capabilities.shell.allow[%d]", i)
			return diag.Errorf("E-CAP-013", "%s: the program %s has the name of a tool the runtime answers itself", key, diag.Quote(entry)).
				Hint("allow it under another name").In("check").About(s.capsule.Subject(key)).Name("artifact", entry)
		}
	}
	return nil
}
