package app

import (
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine/escape"
	"github.com/mur-capsules/mur/lib/policy"
)

// CON-273: a boundary that did not hold wins over a resource.
func TestEscapeStatus(t *testing.T) {
	held := escape.Finding{ID: "CON-P1", Kind: escape.Boundary, Status: escape.Held}
	boundary := escape.Finding{ID: "CON-P2", Kind: escape.Boundary, Status: escape.Differs, Owed: "EACCES", Answer: "ok"}
	resource := escape.Finding{ID: "CON-P111", Kind: escape.Resource, Status: escape.Differs}
	missing := escape.Finding{ID: "CON-P61", Kind: escape.Boundary, Status: escape.NotRun, Detail: "no python"}
	for want, found := range map[int][]escape.Finding{0: {held, missing}, 3: {resource, boundary}, 4: {held, resource}} {
		r := escapeReport{Classes: []classReport{{Class: policy.Advisory, Reason: "not here"}, {Class: policy.Scoped, Reached: true, Findings: found}}}
		if got := r.status(); got != want {
			t.Errorf("%v: status %d, want %d", found, got, want)
		}
		var b strings.Builder
		if err := renderEscape(&b, r); err != nil {
			t.Fatal(err)
		}
		if want == 3 && !strings.Contains(b.String(), `differs  CON-P2 : owed "EACCES", got "ok"`) || !strings.Contains(b.String(), "advisory: not here") {
			t.Errorf("printed %s", b.String())
		}
		if want == 0 && !strings.Contains(b.String(), "not run  CON-P61 : no python") {
			t.Errorf("printed %s", b.String())
		}
	}
}
