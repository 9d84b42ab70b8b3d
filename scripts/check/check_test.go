package main

import (
	"slices"
	"strings"
	"testing"
)

func TestImportBreaches(t *testing.T) {
	for _, tc := range []struct {
		name    string
		from    string
		imports []string
		want    string // part of the one breach; empty: none
	}{
		{"allowed", "lib/session", []string{module + "lib/ids", "fmt"}, ""},
		{"not among what it may", "lib/ids", []string{module + "lib/session"}, "not among what it may"},
		{"lib knows no command", "lib/session", []string{module + "mur-stage/internal/stage"}, "lib knows no command"},
		{"unplanned room", "lib/helpers", nil, "nobody planned"},
		{"command into command", "mur-launch/internal/app", []string{module + "mur-stage/internal/app"}, "meet in documents"},
		{"own rooms", "mur-launch/internal/app", []string{module + "mur-launch/internal/launch", module + "lib/cli"}, ""},
		{"heavy in its leaf", "lib/wasmhost/core/onwazero", []string{"github.com/tetratelabs/wazero/api"}, ""},
		{"heavy elsewhere", "mur-stage/internal/stage", []string{"github.com/tetratelabs/wazero"}, "which is for lib/wasmhost/core"},
	} {
		got := importBreaches(listed{ImportPath: module + tc.from, Imports: tc.imports})
		if tc.want == "" && len(got) > 0 || tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)) {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

func TestDefinedIDs(t *testing.T) {
	text := "- [MAN-1] a, see MAN-9\n| [ART-7] | b |\n| CON-P12 | c |\ntext about SES-3\n- [DOR-1503] d\n"
	if got, want := definedIDs(text), []string{"MAN-1", "ART-7", "CON-P12", "DOR-1503"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRowBreaches(t *testing.T) {
	const table = "id\tfile\ntier\nCON-1\tcontainment.md\nCON-P1\tcontainment.md\nCON-P2\tcontainment.md\nSHL-P3\tshell.md\n"
	for _, tc := range []struct {
		name   string
		readme string
		named  []string
		want   []string // parts of the breaches
	}{
		{"all named", "", []string{"CON-P1", "CON-P2", "SHL-P3"}, nil},
		{"one missing", "", []string{"CON-P1", "SHL-P3"}, []string{"CON-P2: no test"}},
		{"excused", "| `CON-P2` | a half | the rest waits |\n", []string{"CON-P1", "SHL-P3"}, nil},
		{"excused for nothing", "| `CON-P2` | a half | |\n", []string{"CON-P1", "SHL-P3"}, []string{"CON-P2 stands there without"}},
		{"mentioned only", "CON-P2 is written of\n", []string{"CON-P1", "SHL-P3"}, []string{"CON-P2: no test"}},
		{"unknown", "| `CON-P9` | a | b |\n", []string{"CON-P1", "CON-P2", "SHL-P3"}, []string{"CON-P9 is no row"}},
	} {
		named := map[string]bool{}
		for _, id := range tc.named {
			named[id] = true
		}
		got := rowBreaches(table, tc.readme, named)
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q", tc.name, got)
			continue
		}
		for i, w := range tc.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: %q lacks %q", tc.name, got[i], w)
			}
		}
	}
}
