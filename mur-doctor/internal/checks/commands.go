package checks

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
)

// commandNames are the six.
var commandNames = []string{"mur-stage", "mur-launch", "mur-shell", "mur-trace", "mur-lock", "mur-doctor"}

// versionTime bounds a command that only prints its version.
const versionTime = 5 * time.Second

// gatherCommands asks the other five for their versions, side by side.
func gatherCommands(ctx context.Context, env cli.Env) []Check {
	rows := make([]Check, len(commandNames))
	var wg sync.WaitGroup
	for i, name := range commandNames {
		if name == "mur-doctor" {
			rows[i] = ok("command", "this program, version "+cli.Version).about(name)
			continue
		}
		wg.Go(func() {
			path, _ := cli.Sibling(env.Environ, name)
			text, err := "", error(nil)
			if path != "" {
				text, err = askVersion(ctx, env, path)
			}
			rows[i] = commandRow(name, path, text, err)
		})
	}
	wg.Wait()
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

// commandRow judges what a command said to --version.
func commandRow(name, path, said string, err error) Check {
	const together = "install the six commands of one version into one directory"
	row := Check{Name: "command", Subject: name, Remedy: together}
	program, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
	version, _, _ := strings.Cut(rest, " ")
	switch {
	case path == "":
		row.Status, row.Message = Warning, "is neither beside this program nor on PATH"
	case err != nil:
		row.Status, row.Message = Failed, fmt.Sprintf("%s can not say its version: %v", path, err)
	case program != name || version == "":
		row.Status, row.Message = Failed, fmt.Sprintf("%s is not %s", path, name)
	case version != cli.Version:
		row.Status, row.Message = Failed, fmt.Sprintf("%s is version %s and this program is %s; documents of one need not be read by the other", path, version, cli.Version)
	default:
		return ok("command", fmt.Sprintf("version %s, %s", version, path)).about(name)
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
