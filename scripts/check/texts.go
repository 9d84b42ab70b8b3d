package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

var (
	// Not after a hyphen: E-MAN-003 is a code, MAN-3 a requirement.
	idPattern   = regexp.MustCompile(`(?:^|[^-A-Z])((?:MAN|SES|ART|CON|SHL|AGT|TOL|HOK|WIT|TRC|DIA|DOR|DEL)-P?\d+)\b`)
	codePattern = regexp.MustCompile(`"([EW]-[A-Z]+-\d{3})"`)
)

// checkIDs reports requirement ids cited in Go files that docs/spec does not
// have, and ids.tsv rows that disagree with the parts.
func checkIDs(root string) ([]string, error) {
	known := map[string]bool{}
	var doubled []string
	parts, err := filepath.Glob(filepath.Join(root, "docs/spec/*.md"))
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			return nil, err
		}
		for _, id := range definedIDs(string(text)) {
			if known[id] {
				doubled = append(doubled, fmt.Sprintf("%s: %s stands twice in docs/spec", filepath.Base(part), id))
			}
			known[id] = true
		}
	}
	breaches, err := eachLine(root, func(where, line string) (out []string) {
		for _, m := range idPattern.FindAllStringSubmatch(line, -1) {
			if id := m[1]; !known[id] {
				out = append(out, fmt.Sprintf("%s: %s is not in docs/spec", where, id))
			}
		}
		return out
	}, "*.go")
	if err != nil {
		return nil, err
	}
	breaches = append(breaches, doubled...)
	table, err := os.ReadFile(filepath.Join(root, "docs/spec/ids.tsv"))
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		id, _, _ := strings.Cut(line, "\t")
		listed[id] = true
	}
	for id := range known {
		if !listed[id] {
			breaches = append(breaches, fmt.Sprintf("docs/spec/ids.tsv: lacks %s", id))
		}
	}
	return breaches, nil
}

// definedIDs finds "[MAN-12]" at the start of a list item or table row, and the
// probe rows "| CON-P1 |".
func definedIDs(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, "-| *0123456789.")
		m := idPattern.FindStringSubmatch(rest)
		if m == nil {
			continue
		}
		if id := m[1]; strings.HasPrefix(rest, "["+id+"]") || strings.HasPrefix(rest, id+" ") || strings.HasPrefix(rest, id+"]") {
			out = append(out, id)
		}
	}
	return out
}

// notWhole is a row of the table in docs/spec/README.md: which row, what is tried,
// and what is not and why.
var notWhole = regexp.MustCompile("(?m)^\\| `([A-Z]{3}-P\\d+)` \\|([^|\n]*)\\|([^|\n]*)\\|$")

// checkRows reports probe and acceptance rows, "CON-P1" and the like, that no Go file
// or testscript names and the table of rows that are not tried whole leaves out.
func checkRows(root string) ([]string, error) {
	table, err := os.ReadFile(filepath.Join(root, "docs/spec/ids.tsv"))
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(root, "docs/spec/README.md"))
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	_, err = eachLine(root, func(where, line string) []string {
		if !strings.HasPrefix(where, "scripts/check/") { // it names rows to try itself
			for _, m := range idPattern.FindAllStringSubmatch(line, -1) {
				named[m[1]] = true
			}
		}
		return nil
	}, "*.go", "*.txtar")
	if err != nil {
		return nil, err
	}
	return rowBreaches(string(table), string(readme), named), nil
}

func rowBreaches(table, readme string, named map[string]bool) []string {
	var out []string
	rows, excused := map[string]bool{}, map[string]bool{}
	for _, m := range notWhole.FindAllStringSubmatch(readme, -1) {
		excused[m[1]] = true
		if strings.TrimSpace(m[2]) == "" || strings.TrimSpace(m[3]) == "" {
			out = append(out, fmt.Sprintf("docs/spec/README.md: %s stands there without what is tried or why not more", m[1]))
		}
	}
	for line := range strings.Lines(table) {
		id, _, _ := strings.Cut(line, "\t")
		if !strings.Contains(id, "-P") {
			continue
		}
		rows[id] = true
		if !named[id] && !excused[id] {
			out = append(out, fmt.Sprintf("%s: no test or attempt names it, nor the table of docs/spec/README.md", id))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(excused)) {
		if !rows[id] {
			out = append(out, fmt.Sprintf("docs/spec/README.md: %s is no row of docs/spec", id))
		}
	}
	return out
}

// checkCodes reports diagnostic codes written in Go files that lib/diag does
// not know.
func checkCodes(root string) ([]string, error) {
	return eachLine(root, func(where, line string) (out []string) {
		for _, m := range codePattern.FindAllStringSubmatch(line, -1) {
			if !diag.Known(diag.Code(m[1])) && !strings.HasPrefix(m[1], "E-XXX") {
				out = append(out, fmt.Sprintf("%s: %s is not in the table of lib/diag", where, m[1]))
			}
		}
		return out
	}, "*.go")
}

// eachLine calls f with every line of every file git knows whose name is like one of
// the patterns.
func eachLine(root string, f func(where, line string) []string, patterns ...string) ([]string, error) {
	cmd := exec.Command("git", append([]string{"ls-files", "--cached", "--others", "--exclude-standard"}, patterns...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var breaches []string
	for _, name := range strings.Fields(string(out)) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not yet committed
			continue
		}
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			breaches = append(breaches, f(fmt.Sprintf("%s:%d", name, n), line)...)
		}
	}
	return breaches, nil
}
