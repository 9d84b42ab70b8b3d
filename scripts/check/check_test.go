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
