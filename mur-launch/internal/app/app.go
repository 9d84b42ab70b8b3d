// Package app is mur-launch at its edge: flags in, one launch, its result out.
package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/mur-launch/internal/launch"
)

const description = `Reads a staged-session document and runs its capsule. The document comes from
standard input, from a file, or from the session directory of a session id.

A script capsule runs once. When it is over, standard output holds one JSON
object on one line: how it ended and where its records are. What the capsule
itself writes to its standard output is kept as out/result.txt in the records
directory and shown on standard error. With --json a line that says where the
session runs comes first.

An agent capsule works on its task and prints the answer, which out/result.txt
holds too; with --stream it is printed as it comes. With --json standard output
has the two lines of a script capsule instead.

A signal ends the session in order, within 20 seconds for an agent capsule; a
second one ends it at once.

Examples:
   mur-stage | mur-launch
   mur-stage | mur-launch --task 'what does this project do?' --stream
   mur-stage --workdir ~/src/app > staged.json && mur-launch staged.json
   mur-stage | mur-launch | jq -r .records_dir`

// Run runs mur-launch and returns its exit status.
func Run(ctx context.Context, env cli.Env) int {
	return cli.Run(ctx, env, &ucli.App{
		Name:        "mur-launch",
		Usage:       "run a staged session",
		ArgsUsage:   "[document | session id | -]",
		Description: description,
		Metadata:    map[string]any{cli.Reads: session.Schema},
		// A comma is part of a file's name.
		DisableSliceFlagSeparator: true,
		Flags: []ucli.Flag{
			cli.JSONFlag(),
			&ucli.BoolFlag{Name: "verbose", Usage: "say where the session works and keeps its records"},
			&ucli.StringFlag{Name: "task", Usage: "give an agent this `TASK`: a file's bytes, else the text itself"},
			&ucli.BoolFlag{Name: "stream", Usage: "print an agent's text as it comes (with --json on standard error)"},
			&ucli.Int64Flag{Name: "deadline", Usage: "end an agent's session after so many `SECONDS`, or earlier when it was staged so"},
			&ucli.BoolFlag{Name: "no-env-file", Usage: "do not load the .env file the document names"},
			&ucli.StringSliceFlag{Name: "input", Usage: "put a file into the work folder first, as `PLACE=FILE`; may be repeated"},
		},
		Action: func(c *ucli.Context) error {
			if c.Args().Len() > 1 {
				return diag.Usagef("one document at most, not %d; see --help", c.Args().Len())
			}
			opt := launch.Options{Input: c.Args().First(), NoEnvFile: c.Bool("no-env-file"), Verbose: c.Bool("verbose")}
			if c.IsSet("task") {
				task := c.String("task")
				opt.Task = &task
			}
			if c.IsSet("deadline") {
				n := c.Int64("deadline")
				if n < 1 {
					return diag.Usagef("--deadline is %d, and must be at least 1", n)
				}
				opt.Deadline = time.Duration(min(n, 1<<32)) * time.Second
			}
			if c.Bool("stream") {
				if opt.Stream = env.Stdout; c.Bool("json") {
					opt.Stream = env.Stderr
				}
			}
			for _, text := range c.StringSlice("input") {
				in, err := launch.ParseInput(text)
				if err != nil {
					return err
				}
				opt.Inputs = append(opt.Inputs, in)
			}
			return action(c.Context, env, opt, c.Bool("json"), c.Bool("verbose"))
		},
	})
}

func action(ctx context.Context, env cli.Env, opt launch.Options, asJSON, verbose bool) error {
	opt.Warn = cli.Diagnostics(env, "mur-launch", asJSON).Warn
	opt.Announce = func(s launch.Start) {
		if asJSON {
			_ = printLine(env.Stdout, s)
			return
		}
		fmt.Fprintf(env.Stderr, "session: %s\n", s.SessionID)
		if verbose {
			fmt.Fprintf(env.Stderr, "workdir: %s\nrecords: %s\n", s.Workdir, s.RecordsDir)
		}
	}
	outcome, err := launch.Run(ctx, env, opt)
	if err != nil {
		return err
	}
	switch {
	case asJSON || !outcome.Agent:
		err = printLine(env.Stdout, result(outcome))
	case opt.Stream == nil && outcome.Text != "":
		_, err = io.WriteString(env.Stdout, strings.TrimSuffix(outcome.Text, "\n")+"\n")
	}
	if err != nil {
		return err
	}
	if outcome.Err != nil {
		return outcome.Err
	}
	return nil
}

// ended is the object a launch ends with. Ending and ExitStatus are the same
// word, under the names people and traces know it by.
type ended struct {
	Event      string   `json:"event"`
	SessionID  string   `json:"session_id"`
	Ending     string   `json:"ending"`
	ExitStatus string   `json:"exit_status"`
	RecordsDir string   `json:"records_dir"`
	Result     *string  `json:"result"` // beneath RecordsDir
	ToolCalls  int64    `json:"tool_calls"`
	DurationMS int64    `json:"duration_ms"`
	Error      *problem `json:"error"`
}

type problem struct {
	Code    any    `json:"code"`
	Message string `json:"message"`
}

func result(o *launch.Outcome) ended {
	e := ended{
		Event: "ended", SessionID: o.SessionID, Ending: o.Ending, ExitStatus: o.Ending,
		RecordsDir: o.RecordsDir, ToolCalls: o.ToolCalls, DurationMS: o.Duration.Milliseconds(),
	}
	if o.Result != "" {
		e.Result = &o.Result
	}
	if o.Err != nil {
		e.Error = &problem{Code: o.Err.Names["code"], Message: o.Err.Message}
	}
	return e
}

func printLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
