package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// SES-107, DIA-11: a command is found beside this program or on PATH, else it is
// said where it was looked for.
func TestSibling(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mur-shell"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mur-stage"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	environ := []string{"PATH=/none:" + dir}
	if got, err := ShellFor(environ); err != nil || got != filepath.Join(dir, "mur-shell") {
		t.Errorf("%q, %v", got, err)
	}
	if got, looked := Sibling(environ, "mur-stage"); got != "" || !strings.HasSuffix(looked, "/mur-stage and PATH") {
		t.Errorf("what can not be run was found: %q, %q", got, looked)
	}
	for _, path := range []string{"PATH=/none", "PATH=.", "PATH=", "OTHER="} {
		if got, err := ShellFor([]string{path}); diag.CodeOf(err) != "E-IO-001" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := Sibling(nil, filepath.Base(self)); got == "" {
		t.Error("nothing is found beside this program")
	}
}
