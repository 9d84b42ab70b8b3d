package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unpredicted are the codes that mur-stage, mur-launch, mur-shell and their library
// raise and that no row of brokenProjects has, each with the reason.
var unpredicted = map[string]string{
	"E-BLD-001": "of mur-lock pack; no store takes such an archive",
	"E-BLD-002": "of mur-lock pack",
	"E-BLD-004": "of mur-lock pack; no store takes such an archive",
	"E-CAP-005": "a host's, see TestPredictionsWithMechanismsTakenAway",
	"E-CAP-015": "of a delegation, which no launch makes yet; see the scripts of mur-doctor",
	"E-REG-001": "of a fetch or a named bundle; an artifact of a project is E-RUN-008",
	"E-REG-003": "of mur-lock publish",
	"E-REG-004": "of mur-lock publish and install",
	"E-REG-005": "of mur-lock pin and install",
	"E-REG-006": "of a fetch: what a source answers",
	"E-REG-101": "of --bundle, which is no project",
	"E-RUN-005": "of a document that mur-stage did not make",
	"E-RUN-007": "of a running session: its record can not be written",
	"E-RUN-011": "of a running command: a limit it reaches",
	"E-RUN-012": "a host's, see TestPredictionsWithMechanismsTakenAway",
	"E-RUN-013": "of a running session: the size of its work folder",
	"E-RUN-014": "of a host that changed its mind after the probe, or of a mur-shell that does not work, see TestVersionsThatDiffer",
	"E-RUN-027": "of a running session: what its provider says to the key",
	"E-RUN-040": "how a session ended",
	"E-RUN-046": "of a document with a formation, which mur-stage refuses with E-RUN-044",
	"E-RUN-101": "of --workdir-identity, which mur-doctor is not given",
	"E-RUN-102": "of --deadline, which mur-doctor is not given",
	"E-RUN-103": "of a running session: a link in a place that is held",
	"E-RUN-104": "of --workdir, which mur-doctor is not given",
	"E-RUN-105": "a build's, see TestWithoutCgo",
	"E-SHL-101": "of a running command: what it names is not granted",
	"E-STG-101": "of a document that mur-stage of this version did not make, see TestVersionsThatDiffer",
	"E-STG-102": "of what changed between staging and launch",
	"E-STG-103": "of a session that is launched or was",
	"E-STG-104": "of a host that changed between staging and launch",
	"E-TRC-002": "of an address of a session",
	"E-TRC-102": "of an expression of mur-trace",
}

// Every code a launch of a project could meet is predicted, or is none that could be
// known ahead: a new one must be placed. DIA-36, DIA-208
func TestEveryCodeHasItsPlace(t *testing.T) {
	var raised []string
	for _, module := range []string{"lib", "mur-stage", "mur-launch", "mur-shell"} {
		raised = append(raised, codesIn(t, filepath.Join("..", module))...)
	}
	slices.Sort(raised)
	raised = slices.Compact(raised)
	for _, code := range raised {
		predicted := slices.ContainsFunc(brokenProjects(), func(b broken) bool { return b.code == code })
		if _, reason := unpredicted[code]; reason == predicted {
			t.Errorf("%s: has a broken project: %t, has a reason to have none: %t", code, predicted, reason)
		}
	}
	for code := range unpredicted {
		if !slices.Contains(raised, code) {
			t.Errorf("%s is raised nowhere", code)
		}
	}
}

var quotedCode = regexp.MustCompile(`"(E-[A-Z]+-\d+)"`)

// codesIn are the codes that the programs of a module name, the list of all codes left
// out.
func codesIn(t *testing.T, module string) (codes []string) {
	err := filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return err
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "diag/codes.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range quotedCode.FindAllSubmatch(text, -1) {
			codes = append(codes, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return codes
}
