package manifest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mur-capsules/mur/lib/diag"
)

var update = flag.Bool("update", false, "rewrite the expectations of the bad manifests")

// said is a refusal as the golden files write it: code and place, message, hints.
func said(err error) string {
	var e *diag.Error
	if !errors.As(err, &e) {
		return "no fault\n"
	}
	place := "-"
	if e.Subject != nil && e.Subject.Line > 0 {
		place = fmt.Sprintf("%d:%d", e.Subject.Line, e.Subject.Column)
	}
	out := fmt.Sprintf("%s %s\n%s\n", e.Code, place, e.Message)
	for _, h := range e.Hints {
		out += "hint: " + h + "\n"
	}
	return out
}

// TestBadManifests holds every refusal of the parser to its exact words.
//
// MAN-9, MAN-10, MAN-11, MAN-12, MAN-13, MAN-14, MAN-15, MAN-18, MAN-19, MAN-20,
// MAN-21, MAN-22, MAN-23, MAN-25, MAN-32, MAN-33, MAN-36, MAN-37, MAN-40 to
// MAN-45, MAN-48 to MAN-52, MAN-64, MAN-67, MAN-68, MAN-71, MAN-77, MAN-80,
// MAN-87 to MAN-92, MAN-104, MAN-111, MAN-112, MAN-114 to MAN-119, MAN-129,
// MAN-145, MAN-148 to MAN-152, MAN-155 to MAN-159, MAN-164 to MAN-168, MAN-170
// to MAN-175, MAN-178 to MAN-182, MAN-184, MAN-188, MAN-193, MAN-195, MAN-197,
// MAN-198, MAN-200 to MAN-205, MAN-207 to MAN-209, MAN-217 to MAN-220, MAN-227
// to MAN-235, MAN-306, MAN-308, MAN-125, ART-8, ART-9, SHL-57, DIA-64, DIA-65, DIA-66
func TestBadManifests(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		group := strings.TrimSuffix(filepath.Base(file), ".txtar")
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(ar.Files); i += 2 {
			in, want := ar.Files[i], &ar.Files[i+1]
			name := strings.TrimSuffix(in.Name, ".yaml")
			if want.Name != name+".want" {
				t.Fatalf("%s: %s is not followed by its expectation", file, in.Name)
			}
			t.Run(group+"/"+name, func(t *testing.T) {
				c, _, err := Parse("/p/murmur.yaml", in.Data, Options{})
				if err == nil {
					t.Fatalf("accepted: %+v", c)
				}
				got := said(err)
				if *update {
					want.Data = []byte(got)
					return
				}
				if got != string(want.Data) {
					t.Errorf("got\n%swant\n%s", got, want.Data)
				}
				if strings.Contains(got, "hush") {
					t.Errorf("a secret is repeated: %s", got)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
