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
	// Another program's is beside that one, wherever a link to it lies.
	elsewhere := t.TempDir()
	for _, name := range []string{"mur-launch", "mur-shell"} {
		if err := os.WriteFile(filepath.Join(elsewhere, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "mur-launch")
	if err := os.Symlink(filepath.Join(elsewhere, "mur-launch"), link); err != nil {
		t.Fatal(err)
	}
	if got, err := ForeseeShell([]string{"PATH=" + filepath.Dir(link)}); err != nil || got != filepath.Join(elsewhere, "mur-shell") {
		t.Errorf("beside the mur-launch of PATH: %q, %v", got, err)
	}
	for self, want := range map[string]string{filepath.Join(elsewhere, "mur-launch"): elsewhere, link: elsewhere, "": dir, "/none/mur-launch": dir} {
		if got, _ := SiblingOf(self, environ, "mur-shell"); got != filepath.Join(want, "mur-shell") {
			t.Errorf("beside %q: %q", self, got)
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
