package checks

import (
	"os"
	"strings"
	"testing"
)

// The table of docs/spec/diagnostics.md and Names are the same. DIA-206
func TestNamesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/spec/diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| Check | About |\n|---|---|\n")
	if !ok {
		t.Fatal("diagnostics.md has no table of checks")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	want := ""
	for _, n := range Names() {
		want += "| `" + n[0] + "` | " + n[1] + " |\n"
	}
	if strings.TrimSpace(table) != strings.TrimSpace(want) {
		t.Errorf("the table in diagnostics.md is\n%s\nand should be\n%s", table, want)
	}
}
