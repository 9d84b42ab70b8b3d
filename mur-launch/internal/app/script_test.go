package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/mur-launch/internal/app"
)

func TestMain(m *testing.M) {
	testscript.Main(testMain{m}, map[string]func(){"mur-launch": func() { cli.Main(app.Run) }})
}

// testMain removes what murtest built.
type testMain struct{ m *testing.M }

func (t testMain) Run() int {
	defer murtest.Clean()
	return t.m.Run()
}

// guest builds the capsule and the tool of the scripts, one program.
var guest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "mur-launch-guest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "../launch/testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return os.ReadFile(out)
})

// The scripts say what mur-launch does with what the real mur-stage prints; each
// begins with the requirements it proves. Beside the usual commands they have:
//
//	guest FILE               write the test guest, see ../launch/testdata/guest
//	field FILE PATH VALUE    compare a member of a JSON file
//	document FILE            take ID and RECORDS from a staged document
//	flip IN OUT PATH         change one byte of a hash in a JSON text
//	signal NAME              send a signal to the launch of session $ID
//	waitfor FILE             wait until a file is there and not empty
//	there ID                 a process of the session lives
//	gone ID                  no process, mount or cgroup of the session is left
//	killshell ID             kill the session's mur-shell
func TestScripts(t *testing.T) {
	path := os.Getenv("PATH")
	for _, name := range []string{"mur-stage", "mur-lock", "mur-trace", "mur-shell"} {
		path = filepath.Dir(murtest.Command(t, name)) + ":" + path
	}
	if _, err := guest(); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("MURMUR_HOME", "")
			env.Setenv("PATH", env.Getenv("PATH")+":"+path)
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"guest": writeGuest, "field": field, "document": document, "waitfor": waitFor, "flip": flip, "signal": signal,
			"there": there, "gone": gone, "killshell": killShell,
		},
		Condition: func(cond string) (bool, error) {
			host := hostOf()
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "netns":
				return host.NetNS, nil
			case "cgroup":
				return host.Cgroup.Version != nil, nil
			case "commands":
				return host.NetNS && host.Cgroup.Version != nil, nil
			case "scoped":
				return confine.Decide(host, policy.Scoped, nil).Refusal() == nil, nil
			case "sealed":
				return confine.Decide(host, policy.Sealed, nil).Refusal() == nil, nil
			}
			return false, fmt.Errorf("no condition is called %q", cond)
		},
		RequireExplicitExec: true,
	})
}

func writeGuest(ts *testscript.TestScript, _ bool, args []string) {
	wasm, err := guest()
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, wasm, 0o644))
}

func document(ts *testscript.TestScript, _ bool, args []string) {
	var d struct {
		SessionID   string `json:"session_id"`
		Directories struct{ Session, Records struct{ Path string } }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &d))
	ts.Setenv("ID", d.SessionID)
	ts.Setenv("SESSION", d.Directories.Session.Path)
	ts.Setenv("RECORDS", d.Directories.Records.Path)
}

func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
	}
	ts.Fatalf("%s did not appear", path)
}

func flip(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	hash := member(ts, args[0], args[2])
	other := "0"
	if hash[0] == '0' {
		other = "1"
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Replace(text, hash, other+hash[1:], 1)), 0o600))
}

func signal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	pid, err := strconv.Atoi(member(ts, "home/.murmur/running/"+ts.Getenv("ID")+".json", "pid"))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, signals[args[0]]))
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	if got := member(ts, args[0], args[1]); (got == args[2]) == neg {
		ts.Fatalf("%s is %s, want %s (negated: %v)", args[1], got, args[2], neg)
	}
}

// member is a member of a JSON file, as text.
func member(ts *testscript.TestScript, file, path string) string {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &v))
	for _, key := range strings.Split(path, ".") {
		at, isObject := v.(map[string]any)
		next, ok := at[key]
		if !isObject || !ok {
			ts.Fatalf("no member %s of %s", key, path)
		}
		v = next
	}
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	ts.Check(err)
	return string(text)
}

// hostOf reads the host once.
var hostOf = sync.OnceValue(probe.Host)

// traces are what of a session the system shows: processes whose command line,
// environment or group names it, mounts and groups.
func traces(id string) (found []string, shell int) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range procs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		for _, file := range []string{"cmdline", "environ", "cgroup"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil || !strings.Contains(string(text), id) {
				continue
			}
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			words := strings.Split(string(line), "\x00")
			if len(words) > 1 && words[1] == "serve" {
				shell = pid
			}
			found = append(found, fmt.Sprintf("process %d (%s names it): %q", pid, file, words))
			break
		}
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, id) {
				found = append(found, "mount "+line)
			}
		}
	}
	for _, dir := range hostOf().Cgroup.Hierarchies {
		groups, _ := filepath.Glob(filepath.Join(dir, "murmur-"+id+"*"))
		found = append(found, groups...)
	}
	return found, shell
}

func there(ts *testscript.TestScript, _ bool, args []string) {
	if found, shell := traces(args[0]); shell == 0 || len(found) < 3 {
		ts.Fatalf("of session %s there is only %q", args[0], found)
	}
}

// gone waits until nothing of a session is left: 10 s, or as long as is said.
func gone(ts *testscript.TestScript, _ bool, args []string) {
	limit := 10 * time.Second
	if len(args) > 1 {
		var err error
		limit, err = time.ParseDuration(args[1])
		ts.Check(err)
	}
	var found []string
	if !murtest.Within(limit, func() bool {
		found, _ = traces(args[0])
		return len(found) == 0
	}) {
		ts.Fatalf("after %s is left of session %s:\n%s", limit, args[0], strings.Join(found, "\n"))
	}
}

func killShell(ts *testscript.TestScript, _ bool, args []string) {
	_, pid := traces(args[0])
	if pid == 0 {
		ts.Fatalf("session %s has no mur-shell", args[0])
	}
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
}
