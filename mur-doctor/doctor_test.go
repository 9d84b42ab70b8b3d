package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/mur-doctor/internal/app"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mur-doctor": func() { cli.Main(app.Run) }})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			home := env.WorkDir + "/home"
			env.Setenv("HOME", home)
			env.Setenv("MURMUR_HOME", home+"/.murmur")
			return os.MkdirAll(home, 0o755)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, nil
		},
	})
}
