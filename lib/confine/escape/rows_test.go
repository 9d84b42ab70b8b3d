//go:build linux && cgo

package escape_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine/escape"
)

const project = "../../.."

// Every row of the specification is tried here, or in a test that is there. CON-271
func TestEveryRowHasAPlace(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(project, "docs/spec/ids.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, r := range escape.Rows() {
		if tried[r.ID] {
			t.Errorf("%s stands twice in the table", r.ID)
		}
		tried[r.ID] = true
	}
	elsewhere := escape.Elsewhere()
	var all []string
	for line := range strings.Lines(string(text)) {
		id, _, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(id, "CON-P") {
			continue
		}
		all = append(all, id)
		place, there := elsewhere[id]
		switch {
		case there && tried[id]:
			t.Errorf("%s is tried here and elsewhere", id)
		case there:
			source, err := os.ReadFile(filepath.Join(project, place.File))
			if err != nil || !strings.Contains(string(source), "func "+place.Test+"(") {
				t.Errorf("%s: there is no %s in %s: %v", id, place.Test, place.File, err)
			}
		case !tried[id]:
			t.Errorf("%s is tried nowhere", id)
		}
	}
	for _, ids := range []map[string]bool{tried, keys(elsewhere)} {
		for id := range ids {
			if !slices.Contains(all, id) {
				t.Errorf("the specification has no %s", id)
			}
		}
	}
}

func keys[V any](m map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}
