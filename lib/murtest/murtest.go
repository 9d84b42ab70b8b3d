// Package murtest is what the tests of several modules share: the six commands
// built once, and homes that hold nothing of the user's.
package murtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// home is the user's own: the Go tool finds its caches there even when a test
// has pointed HOME elsewhere.
var home = os.Getenv("HOME")

var build struct {
	sync.Mutex
	dir  string
	done map[string]error
}

// Command builds one of the six commands and returns the path of its program.
// Within one test process a command is built once; the Go build cache makes the
// rest cheap. The directory lives until the process ends and is removed by
// Main.
func Command(t testing.TB, name string) string {
	t.Helper()
	build.Lock()
	defer build.Unlock()
	if build.dir == "" {
		dir, err := os.MkdirTemp("", "murtest-")
		if err != nil {
			t.Fatal(err)
		}
		build.dir, build.done = dir, map[string]error{}
	}
	path := filepath.Join(build.dir, name)
	err, built := build.done[name]
	if !built {
		cmd := exec.Command("go", "build", "-o", path, "github.com/mur-capsules/mur/"+name)
		cmd.Env = append(os.Environ(), "HOME="+home)
		out, buildErr := cmd.CombinedOutput()
		if buildErr != nil {
			err = fmt.Errorf("go build %s: %w\n%s", name, buildErr, out)
		}
		build.done[name] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Main runs the tests of a package that uses Command and removes what was
// built: func TestMain(m *testing.M) { murtest.Main(m) }.
func Main(m *testing.M) {
	status := m.Run()
	Clean()
	os.Exit(status)
}

// Clean removes what Command built, for a TestMain that does not end with Main.
func Clean() {
	if build.dir != "" {
		_ = os.RemoveAll(build.dir)
	}
}

// Home points HOME and MURMUR_HOME of this test at an empty directory and
// returns the murmur home, which does not exist yet.
func Home(t testing.TB) string {
	t.Helper()
	empty := t.TempDir()
	t.Setenv("HOME", empty)
	murmur := filepath.Join(empty, ".murmur")
	t.Setenv("MURMUR_HOME", murmur)
	return murmur
}
