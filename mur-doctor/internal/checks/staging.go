package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
)

// stagingTime bounds mur-stage --check, which may validate large guests.
const stagingTime = 2 * time.Minute

// said is one line of mur-stage --check --json (DIA-12).
type said struct {
	Level   string    `json:"level"`
	Code    diag.Code `json:"code"`
	Message string    `json:"message"`
	Hints   []string  `json:"hints"`
}

// predictStaging asks mur-stage itself what it would refuse, so that nothing is
// decided or worded twice (DIA-11, DIA-199, SES-271).
func predictStaging(ctx context.Context, env cli.Env, o Options) []Check {
	path, _ := cli.Sibling(env.Environ, "mur-stage")
	if path == "" {
		return []Check{{Name: "staging", Status: Warning, Message: "what a staging would refuse is not known: mur-stage is neither beside this program nor on PATH", Remedy: "install the mur commands into one directory"}}
	}
	ctx, stop := context.WithTimeout(ctx, stagingTime)
	defer stop()
	args := []string{"--check", "--json"}
	if o.Manifest != "" {
		args = append(args, "--manifest", o.Manifest)
	}
	if o.Strict {
		args = append(args, "--strict")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env.Environ, env.Dir, time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &limited{w: &stderr, left: 4 << 20}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (ctx.Err() != nil || !errors.As(err, &exit) || exit.ExitCode() != diag.ExitError) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return []Check{{Name: "staging", Status: Warning, Message: fmt.Sprintf("what a staging would refuse is not known: %s --check failed: %v", path, err), Remedy: "install the six commands of one version into one directory"}}
	}
	return stagingRows(stderr.Bytes())
}

// hostConditions are refusals that say something about this host or this
// process and not about the project: only predicted, they do not fail the check
// (DIA-36).
var hostConditions = []diag.Code{"E-CAP-003", "E-CAP-004", "E-CAP-005", "E-CAP-006", "E-CAP-016", "E-RUN-012", "E-RUN-020", "E-RUN-044", "E-RUN-105"}

func stagingRows(lines []byte) []Check {
	var rows []Check
	refused := false
	for line := range bytes.Lines(lines) {
		var s said
		if json.Unmarshal(line, &s) != nil || s.Message == "" {
			continue
		}
		c := Check{Name: "posture", Status: Warning, Code: s.Code, Message: s.Message, Remedy: strings.Join(s.Hints, "; ")}
		if s.Level == "error" {
			refused = true
			c.Name, c.Status = "staging", Failed
			if slices.Contains(hostConditions, s.Code) {
				c.Status = Warning
			}
		}
		rows = append(rows, c)
	}
	if !refused {
		rows = append(rows, ok("staging", "mur-stage would stage this project here"))
	}
	return rows
}

// unsaid drops of more what rows say already: the same words, and that artifacts
// are missing, of which each has a row of its own.
func unsaid(rows, more []Check) []Check {
	return slices.DeleteFunc(more, func(m Check) bool {
		return m.Code != "" && slices.ContainsFunc(rows, func(c Check) bool {
			return c.Code == m.Code && (c.Message == m.Message || m.Code == "E-RUN-008")
		})
	})
}
