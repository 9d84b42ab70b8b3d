package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// Sibling finds another of the mur commands: beside the running program, links
// resolved, else in an absolute directory of PATH in environ. path is "" when it is
// nowhere; looked then names the places.
func Sibling(environ []string, name string) (path, looked string) {
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	return SiblingOf(self, environ, name)
}

// SiblingOf is Sibling as the program at self would do it; "" for one nobody knows the
// place of.
func SiblingOf(self string, environ []string, name string) (path, looked string) {
	var places []string
	if self != "" {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		beside := filepath.Join(filepath.Dir(self), name)
		if runnable(beside) {
			return beside, ""
		}
		places = append(places, beside)
	}
	env := Env{Environ: environ}
	for _, dir := range filepath.SplitList(env.Getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && runnable(path) {
			return path, ""
		}
	}
	return "", strings.Join(append(places, "PATH"), " and ")
}

// ShellFor finds mur-shell for a session that runs commands, which nothing else
// confines; without it the launch is refused with E-IO-001.
func ShellFor(environ []string) (string, error) {
	path, looked := Sibling(environ, shellName)
	return shell(path, looked)
}

// ForeseeShell is what ShellFor will say to the mur-launch that is found from here, and
// to this program where there is none.
func ForeseeShell(environ []string) (string, error) {
	launch, _ := Sibling(environ, "mur-launch")
	if launch == "" {
		return ShellFor(environ)
	}
	path, looked := SiblingOf(launch, environ, shellName)
	return shell(path, looked)
}

const shellName = "mur-shell"

func shell(path, looked string) (string, error) {
	if path != "" {
		return path, nil
	}
	return "", diag.Errorf("E-IO-001", "the session runs commands, and the program %s, which confines them, is not there: looked for it at %s", shellName, looked).
		Hint("install the mur commands into one directory").
		In("launch").About(diag.Subject{Kind: diag.Path, Name: shellName}).Name("path", shellName).Name("what was looked for", shellName)
}

// OtherShell is the refusal of a mur-launch of one version to run a session's commands
// with a mur-shell of another: they share a protocol that has no versions (SHL-14).
func OtherShell(program, version, launch string) *diag.Error {
	return diag.Errorf("E-IO-003", "%s is of version %s, and this mur-launch of %s", program, diag.Quote(version), launch).
		Hint("install the mur commands of one version into one directory").
		In("launch").About(diag.Subject{Kind: diag.Path, Name: program}).Name("path", program).Name("reason", "another version")
}

func runnable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
