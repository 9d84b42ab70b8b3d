package manifest

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// MAN-8: a manifest can be parsed on a host that will never run it, since nothing here
// can look at a file, a network, an environment or a kernel.
func TestParsingLooksAtNothing(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, room := range []string{"diag", "names", "policy", "internal/strictyaml"} { // which it leans on
		more, err := filepath.Glob("../" + room + "/*.go")
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %q, %v", room, more, err)
		}
		files = append(files, more...)
	}
	may := []string{
		"bytes", "cmp", "encoding/json", "errors", "fmt", "io", "maps", "math", "net/netip", "net/url", "path", "regexp", "slices", "strconv", "strings", "sync", "time", "unicode", "unicode/utf8",
		"gopkg.in/yaml.v3", "go.yaml.in/yaml/v3", "go.yaml.in/yaml/v4",
		"github.com/mur-capsules/mur/lib/diag", "github.com/mur-capsules/mur/lib/names", "github.com/mur-capsules/mur/lib/policy", "github.com/mur-capsules/mur/lib/internal/strictyaml",
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if path, err := strconv.Unquote(imp.Path.Value); err != nil || !slices.Contains(may, path) {
				t.Errorf("%s imports %s", name, imp.Path.Value)
			}
		}
	}
}
