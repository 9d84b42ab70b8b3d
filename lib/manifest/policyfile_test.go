package manifest

import (
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// SHL-137
func TestPolicyFile(t *testing.T) {
	c, warnings, err := ParsePolicy("/p.yaml", []byte(`
containment: sealed
network: {allow: ["https://example.com"], unix_sockets: true}
filesystem: {read_only: [locked]}
shell: {allow: [git, bash], baseline_env: [EDITOR]}
resources: {max_processes: 7}
`))
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	if c.Containment != policy.Sealed || len(c.Shell.Allow) != 2 || *c.Resources.MaxProcesses != 7 || c.Network.Allow[0] != "https://example.com" || c.Filesystem.ReadOnly[0] != "locked" {
		t.Errorf("got %+v", c)
	}
	for name, text := range map[string]string{
		"other key":      "env: {allow: [A]}",
		"a manifest":     "capabilities: {shell: {allow: [git]}}",
		"path in allow":  "shell: {allow: [/bin/sh]}",
		"zero":           "resources: {max_processes: 0}",
		"no such class":  "containment: strict",
		"no mapping":     "[]",
		"hook key":       "filesystem: {records: true}",
		"unknown nested": "shell: {allow: [git], deny: [x]}",
	} {
		if _, _, err := ParsePolicy("/p.yaml", []byte(text)); diag.CodeOf(err) != "E-MAN-003" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, _, err := ParsePolicy("/p.json", []byte(`{"shell":{"allow":["sh"]}}`)); err != nil || c.Shell.Allow[0] != "sh" {
		t.Errorf("JSON: %v %v", c, err)
	}
}
