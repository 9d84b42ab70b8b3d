package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/murtest"
)

// replay is the driver of the agents' scripts, as it comes with mur.
var replay = sync.OnceValues(func() (files map[string][]byte, err error) {
	dir, err := os.MkdirTemp("", "mur-launch-replay-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "replay.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "github.com/mur-capsules/mur/drivers/replay")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	files = map[string][]byte{}
	for name, path := range map[string]string{"replay.wasm": out, "murmur.yaml": "../../../drivers/replay/murmur.yaml"} {
		if files[name], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return files, nil
})

// The scripts of agent capsules: the real mur-stage, mur-shell and replay driver.
// Beside the commands of TestScripts they have:
//
//	replay DIR               write the replay driver, ready to be packed
func TestAgentScripts(t *testing.T) {
	path := os.Getenv("PATH")
	for _, name := range []string{"mur-stage", "mur-lock", "mur-trace", "mur-shell"} {
		path = filepath.Dir(murtest.Command(t, name)) + ":" + path
	}
	if _, err := guest(); err != nil {
		t.Fatal(err)
	}
	if _, err := replay(); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "agent"),
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("MURMUR_HOME", "")
			env.Setenv("PATH", env.Getenv("PATH")+":"+path)
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"guest": writeGuest, "field": field, "document": document, "waitfor": waitFor, "signal": signal, "replay": writeReplay,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "commands" {
				host := hostOf()
				return host.NetNS && host.Cgroup.Version != nil, nil
			}
			return false, fmt.Errorf("no condition is called %q", cond)
		},
		RequireExplicitExec: true,
	})
}

func writeReplay(ts *testscript.TestScript, _ bool, args []string) {
	files, err := replay()
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for name, text := range files {
		ts.Check(os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
}
