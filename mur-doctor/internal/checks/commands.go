package checks

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/session"
)

// commandNames are the six.
var commandNames = []string{"mur-stage", "mur-launch", "mur-shell", "mur-trace", "mur-lock", "mur-doctor"}

// versionTime bounds a command that only prints its version.
const versionTime = 5 * time.Second

// answer is what a command said of itself.
type answer struct {
	path     string // "" when it is nowhere
	version  string // "" when it did not say
	document string // the one it writes or reads, "" when it did not say
	err      error
}

// gatherCommands asks the other five for their versions, side by side. hasProject says
// that there is something to stage and to launch.
func gatherCommands(ctx context.Context, env cli.Env, hasProject bool) []Check {
	answers := make(map[string]answer, len(commandNames))
	var mu sync.Mutex
	var wg sync.WaitGroup
	launch, _ := cli.Sibling(env.Environ, "mur-launch")
	for _, name := range commandNames {
		if name == "mur-doctor" {
			continue
		}
		wg.Go(func() {
			path, _ := cli.Sibling(env.Environ, name)
			if name == "mur-shell" && launch != "" {
				path, _ = cli.SiblingOf(launch, env.Environ, name) // the one that would be started
			}
			a := answer{path: path}
			if path != "" {
				text, err := askVersion(ctx, env, path)
				a = heard(name, path, text, err)
			}
			mu.Lock()
			defer mu.Unlock()
			answers[name] = a
		})
	}
	wg.Wait()
	rows := make([]Check, len(commandNames))
	for i, name := range commandNames {
		rows[i] = commandRow(name, answers, hasProject)
	}
	return rows
}

func askVersion(ctx context.Context, env cli.Env, path string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, versionTime)
	defer stop()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.Dir, cmd.WaitDelay = env.Environ, env.Dir, time.Second
	var out bytes.Buffer
	cmd.Stdout = &limited{w: &out, left: 4096}
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not answer within %s", versionTime)
	}
	return out.String(), err
}

// saying is what each of the six prints with --version.
var saying = regexp.MustCompile(`^(mur-[a-z]+) (\S+)(?: \(.*?(?:, (?:writes|reads) (\S+))?\))?$`)

// heard takes what the command name at path said to --version apart.
func heard(name, path, said string, err error) answer {
	a := answer{path: path}
	m := saying.FindStringSubmatch(strings.TrimSpace(said))
	switch {
	case err != nil:
		a.err = fmt.Errorf("%s can not say its version: %w", path, err)
	case m == nil || m[1] != name:
		a.err = fmt.Errorf("%s is not %s", path, name)
	default:
		a.version, a.document = m[2], m[3]
	}
	return a
}

// commandRow judges a command beside the others. What a launch refuses is worded as it
// does: a mur-shell of another version than mur-launch, and a document of another schema
// than mur-launch reads. Nothing else refuses another version. Without mur-stage or
// mur-launch no project runs; without mur-shell some do, and mur-stage --check says
// which (SES-271).
func commandRow(name string, answers map[string]answer, hasProject bool) Check {
	const together = "install the six commands of one version into one directory"
	if name == "mur-doctor" {
		return ok("command", "this program, version "+cli.Version).about(name)
	}
	a, stage, launch := answers[name], answers["mur-stage"], answers["mur-launch"]
	row := Check{Name: "command", Subject: name, Status: Warning, Remedy: together}
	switch {
	case a.path == "":
		row.Message = "is neither beside this program nor on PATH"
		if hasProject && (name == "mur-stage" || name == "mur-launch") {
			row.Status, row.Message = Failed, row.Message+", and no project runs without it"
		}
	case a.err != nil:
		row.Status, row.Message = Failed, a.err.Error()
		if name == "mur-shell" {
			row.Code = "E-RUN-014" // it could prepare no session
		}
	case name == "mur-shell" && launch.version != "" && a.version != launch.version:
		return fault("command", Failed, cli.OtherShell(a.path, a.version, launch.version)).about(name)
	case name == "mur-launch" && a.document != "" && stage.document != "" && a.document != stage.document:
		return fault("command", Failed, session.OtherSchema("standard input", stage.document, a.document)).about(name)
	case a.version != cli.Version:
		row.Message = fmt.Sprintf("%s is version %s and this program is %s; ", a.path, a.version, cli.Version)
		if (name == "mur-stage" || name == "mur-launch") && a.document == "" {
			row.Message += "whether it understands the documents of the others is not known"
		} else {
			row.Message += "nothing refuses that, but what is said here of one version may not hold for the other"
		}
	default:
		return ok("command", fmt.Sprintf("version %s, %s", a.version, a.path)).about(name)
	}
	return row
}

// limited writes no more than left bytes and takes the rest for written.
type limited struct {
	w    *bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(l.left, len(b))
	l.left -= n
	l.w.Write(b[:n])
	return len(b), nil
}
