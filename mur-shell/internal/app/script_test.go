package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest"
)

func TestMain(m *testing.M) { murtest.Main(m) }

// reading is what this host can do.
var reading = sync.OnceValue(probe.Host)

// classes are the confined classes this host reaches; a test of one it does not
// reach is skipped with the reason.
func needs(t *testing.T, class string) {
	t.Helper()
	r := reading()
	switch {
	case r.Tier() != confine.TierSealed && class == "sealed":
		t.Skipf("this host can not compose a root: %v", r.SealedBlocker)
	case r.Tier() != confine.TierSealed && r.Tier() != confine.TierScoped:
		t.Skipf("this host has no Landlock or no seccomp: %+v", r)
	case !r.NetNS:
		t.Skipf("this host gives no network namespace: %v", r.NetworkBlocker)
	case r.Root != nil && r.Root.RunAs == nil:
		t.Skipf("as root commands can get no other user here: %v", r.Root.Blocker)
	}
}

// programs is a PATH that holds the system's own programs alone.
const programs = "/usr/bin:/bin"

// The scripts run the real mur-shell in a folder project beside the home. Beside
// the usual commands they have:
//
//	exits STATUS PROGRAM ARG...   run a program that must end with a status
//	field PATH VALUE              compare a member of the JSON line on stdout
//	empty DIR                     a directory that holds nothing, or is not there
func TestScripts(t *testing.T) {
	shell := murtest.Command(t, "mur-shell")
	needs(t, "scoped")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("MURMUR_HOME", "")
			env.Setenv("PATH", filepath.Dir(shell)+":"+programs)
			env.Cd = filepath.Join(env.WorkDir, "project")
			for _, d := range []string{"home", "project"} {
				if err := os.MkdirAll(filepath.Join(env.WorkDir, d), 0o755); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "field": field, "empty": empty},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "sealed":
				return reading().Tier() == confine.TierSealed, nil
			case "cgroup":
				return reading().Cgroup.Version != nil, nil
			case "root":
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("no condition %s", cond)
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("%s ended with %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: field PATH VALUE")
	}
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("stdout is no JSON: %v", err)
	}
	for _, key := range strings.Split(args[0], ".") {
		m, ok := v.(map[string]any)
		if !ok {
			ts.Fatalf("no %s", args[0])
		}
		if v, ok = m[key]; !ok {
			ts.Fatalf("no %s", args[0])
		}
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	ts.Check(enc.Encode(v))
	b := strings.TrimSuffix(text.String(), "\n")
	if same := b == args[1] || fmt.Sprint(v) == args[1]; same == neg {
		ts.Fatalf("%s is %s, compared with %s", args[0], b, args[1])
	}
}

func empty(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	if (len(entries) == 0) == neg {
		ts.Fatalf("%s holds %d entries", args[0], len(entries))
	}
}
