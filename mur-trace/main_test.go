package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/trace/tracegen"
	"github.com/mur-capsules/mur/lib/workfs"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mur-trace": main})
}

// The behaviour of the command, as scripts: testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("MURMUR_HOME", filepath.Join(e.WorkDir, "murmur"))
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mktrace": mktrace, "seal": seal, "status": status, "offset": offset, "generate": generate,
		},
	})
}

// mktrace <records root> <script file>: makes <root>/<session id>/trace.jsonl of
// a tracegen script, which names its session; $SESSION is its id.
func mktrace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mktrace root script")
	}
	text := ts.ReadFile(args[1])
	id := ""
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "session "); ok {
			id = strings.TrimSpace(rest)
		}
	}
	if id == "" {
		ts.Fatalf("%s names no session", args[1])
	}
	dir := filepath.Join(ts.MkAbs(args[0]), id)
	ts.Check(os.MkdirAll(dir, 0o700))
	got, err := tracegen.Script(dir, text)
	ts.Check(err)
	ts.Setenv("SESSION", got)
}

// seal <records directory> [stream]: seals the trace, or a stream of lists, with
// the host's key.
func seal(ts *testscript.TestScript, neg bool, args []string) {
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + ts.Getenv("MURMUR_HOME")})
	ts.Check(err)
	key, err := trace.LoadKey(home)
	ts.Check(err)
	root, err := workfs.OpenRoot(ts.MkAbs(args[0]), workfs.Options{})
	ts.Check(err)
	defer root.Close()
	if len(args) == 2 {
		ts.Check(trace.SealList(root, args[1], args[1], filepath.Base(args[0]), key, tracegen.Epoch))
		return
	}
	log, err := trace.Reopen(root, trace.Options{SessionID: filepath.Base(args[0])})
	ts.Check(err)
	defer log.Close()
	ts.Check(log.Seal(key, nil))
}

// status <n> <command>...: runs a command that must exit with exactly n.
func status(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if (got == want) == neg {
		ts.Fatalf("exit status %d", got)
	}
}

// offset <file> <line>: sets $OFFSET to the byte at which a line begins.
func offset(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	at := 0
	for i, line := range strings.SplitAfter(ts.ReadFile(args[0]), "\n") {
		if i+1 == n {
			ts.Setenv("OFFSET", strconv.Itoa(at))
			return
		}
		at += len(line)
	}
	ts.Fatalf("%s has no line %d", args[0], n)
}

// generate <directory> <bytes> <bytes a session>: makes a set of traces like
// those of real sessions.
func generate(ts *testscript.TestScript, neg bool, args []string) {
	total, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	each, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	_, err = tracegen.Set(ts.MkAbs(args[0]), total, each, 1)
	ts.Check(err)
}
