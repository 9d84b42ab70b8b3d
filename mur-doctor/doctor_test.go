package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/mur-doctor/internal/app"
)

func TestMain(m *testing.M) {
	play()
	testscript.Main(testMain{m}, map[string]func(){"mur-doctor": func() { cli.Main(app.Run) }})
}

// testMain removes what murtest built.
type testMain struct{ m *testing.M }

func (t testMain) Run() int {
	defer murtest.Clean()
	return t.m.Run()
}

// The scripts say what mur-doctor reports; each begins with the requirements it
// proves. mur-stage and mur-launch are on PATH.
func TestScript(t *testing.T) {
	path := filepath.Dir(murtest.Command(t, "mur-stage"))
	murtest.Command(t, "mur-launch")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("MURMUR_HOME", filepath.Join(home, ".murmur"))
			env.Setenv("PATH", env.Getenv("PATH")+":"+path)
			return os.MkdirAll(home, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"wasm": writeGuest, "publish": putScript},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, nil
		},
		RequireExplicitExec: true,
	})
}
