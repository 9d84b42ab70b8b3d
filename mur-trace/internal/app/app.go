// Package app is the command line of mur-trace: flags become options, options
// one call of the room that does the work, its result text or JSON.
package app

import (
	"context"
	"fmt"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-trace/internal/query"
	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/render"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

const name = "mur-trace"

// Run runs mur-trace and returns its exit status.
func Run(ctx context.Context, env cli.Env) int {
	a := &ucli.App{
		Name:  name,
		Usage: "show, compare, filter and verify what sessions recorded",
		Description: "A session is named by its id, the last characters of it, @1 for the newest, a path of a\n" +
			"trace or a records directory, or - for a trace on standard input.",
		Commands: []*ucli.Command{
			showCommand(env), stepsCommand(env), diffCommand(env), reportCommand(env), filterCommand(env), tailCommand(env), verifyCommand(env), whyCommand(env), exportCommand(env), htmlCommand(env),
		},
	}
	return cli.Run(ctx, env, a)
}

// placeFlags say where sessions are looked for.
func placeFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "workdir", Usage: "the workdir root whose sessions are meant (default: ./workdir when it exists, else .)"},
		&ucli.StringFlag{Name: "records", Usage: "the directory that holds the ses_ directories"},
	}
}

func plainFlag() ucli.Flag {
	return &ucli.BoolFlag{Name: "plain", Usage: "no colour and no lines, on a terminal too"}
}

func finder(env cli.Env, c *ucli.Context) (*source.Finder, error) {
	if c.IsSet("workdir") && c.IsSet("records") {
		return nil, diag.Usagef("--workdir and --records exclude each other")
	}
	return &source.Finder{Env: env, Records: c.String("records"), Workdir: c.String("workdir")}, nil
}

// oneTrace resolves the command's only argument, by default the newest session.
func oneTrace(env cli.Env, c *ucli.Context) (source.Trace, error) {
	if c.NArg() > 1 {
		return source.Trace{}, diag.Usagef("one session at a time; see --help")
	}
	f, err := finder(env, c)
	if err != nil {
		return source.Trace{}, err
	}
	all, err := f.FindAll(c.Args().Slice(), "@1")
	if err != nil {
		return source.Trace{}, err
	}
	return all[0], nil
}

func text(env cli.Env, c *ucli.Context) *render.Text {
	return render.NewText(env.Stdout, c.Bool("plain"), env.Getenv)
}

// tell writes a note to standard error; under --json it has the machine form of
// a plain warning, so that the stream stays one object a line (DIA-23).
func tell(env cli.Env, c *ucli.Context, format string, args ...any) {
	if c.Bool("json") {
		cli.Diagnostics(env, name, true).Warn(diag.Warningf("", "trace", format, args...))
		return
	}
	fmt.Fprintf(env.Stderr, "note: "+format+"\n", args...)
}

// note tells what a reader tolerated.
func note(env cli.Env, c *ucli.Context, r *record.Record) {
	if n := r.Notes.MalformedLines; len(n) > 0 {
		tell(env, c, "%s", query.Malformed(r.Trace, n))
	}
	if r.Notes.TornTail {
		tell(env, c, "%s: the last line was not written to its end", r.Trace.Path)
	}
	if len(r.Notes.OtherSessions) > 0 {
		tell(env, c, "%s holds other sessions too: %s", r.Trace.Path, strings.Join(r.Notes.OtherSessions, ", "))
	}
}
