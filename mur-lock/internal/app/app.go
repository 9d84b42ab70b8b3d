// Package app is the command line of mur-lock: flags become options, options one
// call of the room that does the work, and its report text or JSON.
package app

import (
	"cmp"
	"context"
	"errors"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store/remote"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

const name = "mur-lock"

// Run runs mur-lock and returns its exit status.
func Run(ctx context.Context, env cli.Env) int {
	a := &ucli.App{
		Name:  name,
		Usage: "pack, publish, install, pin and verify artifacts",
		Description: "An artifact is a .mur.zip: a tool, driver, hook, skill or whole capsule, named\n" +
			"<scope>/<name>@<version>. A project keeps those it uses in .murmur/artifacts and pins\n" +
			"their hashes in murmur.lock; nothing else is ever run.",
		Commands: []*ucli.Command{
			packCommand(env), publishCommand(env), installCommand(env),
			verifyCommand(env), pinCommand(env), unpinCommand(env), listCommand(env), precompileCommand(env),
			diffCommand(env), pruneCommand(env), bundleCommand(env),
			signCommand(env), keyCommand(env),
		},
	}
	return cli.Run(ctx, env, a)
}

// run is one command: its rows go to standard output, its failures to standard
// error, each with its own code, and any failure makes the status 1.
func run(env cli.Env, c *ucli.Context, do func(p *project.Places, warn func(diag.Warning)) (report.Report, error)) error {
	d := cli.Diagnostics(env, name, c.Bool("json"))
	warn := func(w diag.Warning) {
		w.Phase = cmp.Or(w.Phase, c.Command.Name)
		d.Warn(w)
	}
	p, err := project.Find(env)
	if err != nil {
		return inPhase(c, err)
	}
	rep, err := do(p, warn)
	if err != nil {
		return inPhase(c, err)
	}
	if err := rep.Write(env.Stdout, c.Bool("json")); err != nil {
		return err
	}
	return inPhase(c, rep.Err())
}

// openRemote opens what config.yaml names: the sources, and in p whose signatures
// count.
func openRemote(env cli.Env, p *project.Places, warn func(diag.Warning)) (*remote.Remote, error) {
	cfg, warnings, err := config.Load(p.Home, env.Dir)
	for _, w := range warnings {
		warn(w)
	}
	if err != nil {
		return nil, err
	}
	if p.Trust, err = provenance.Open(cfg.Trust.Artifacts(), cfg.Trust.Bundles(), cfg.Trust.Keys); err != nil {
		return nil, err
	}
	return remote.Open(cfg.Registry, remote.Options{
		Environ: env.Environ, Limits: p.Limits, UserAgent: "mur-lock/" + cli.Version, Attested: p.Trust.Wanted(),
	}), nil
}

// inPhase marks errors as met by the command (DIA-16).
func inPhase(c *ucli.Context, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			_ = inPhase(c, e)
		}
		return err
	}
	var e *diag.Error
	if errors.As(err, &e) {
		e.In(c.Command.Name)
	}
	return err
}

// one makes a report of a command that works on one artifact, known as what until
// its name is. A usage error is the command's, every other one the artifact's.
func one(what string, row report.Row, err error) (report.Report, error) {
	var usage *diag.UsageError
	if errors.As(err, &usage) {
		return report.Report{}, err
	}
	if row.Name == "" {
		row.Name = what
	}
	if err != nil {
		row = row.Fail(err)
	}
	return report.Report{Rows: []report.Row{row}}, nil
}

func scopeFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "scope", Value: names.Local, Usage: "the scope an artifact taken from a file gets"}
}

func globalFlag(usage string) ucli.Flag {
	return &ucli.BoolFlag{Name: "global", Aliases: []string{"g"}, Usage: usage}
}

// atMost refuses more arguments than a command takes.
func atMost(c *ucli.Context, n int) error {
	if c.NArg() > n {
		return diag.Usagef("unexpected argument %s; see --help", diag.Quote(c.Args().Get(n)))
	}
	return nil
}

// atLeastOne refuses a command without arguments.
func atLeastOne(c *ucli.Context, what string) error {
	if c.NArg() == 0 {
		return diag.Usagef("%s is needed; see --help", what)
	}
	return nil
}
