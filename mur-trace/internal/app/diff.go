package app

import (
	"errors"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-trace/internal/diff"
	"github.com/mur-capsules/mur/mur-trace/internal/eval"
	"github.com/mur-capsules/mur/mur-trace/internal/record"
)

func diffCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "diff",
		Usage:     "compare two sessions",
		ArgsUsage: "[<before> <after>]",
		Description: "mur-trace diff                   the newest session against the one before it\n" +
			"mur-trace diff 4f2a 91bc --json",
		Flags: append(placeFlags(), cli.JSONFlag(), plainFlag(),
			&ucli.BoolFlag{Name: "eval", Usage: "compare what scoring hooks said of them"}),
		Action: func(c *ucli.Context) error {
			if c.NArg() != 0 && c.NArg() != 2 {
				return diag.Errorf("E-TRC-002", "two sessions are compared, and %d are named", c.NArg()).
					Hint("name both, or neither for the two newest")
			}
			f, err := finder(env, c)
			if err != nil {
				return err
			}
			traces, err := f.FindAll(c.Args().Slice(), "@2", "@1")
			if err != nil {
				return err
			}
			before, err := record.Load(traces[0], record.Options{})
			if err != nil {
				return err
			}
			defer before.Close()
			after, err := record.Load(traces[1], record.Options{})
			if err != nil {
				return err
			}
			defer after.Close()
			note(env, c, before)
			note(env, c, after)
			if c.Bool("eval") {
				return diffEval(env, c, before, after)
			}
			if c.Bool("json") {
				return diff.JSON(env.Stdout, before, after)
			}
			return diff.Text(text(env, c), before, after)
		},
	}
}

func diffEval(env cli.Env, c *ucli.Context, before, after *record.Record) error {
	b, errB := eval.Read(before.ID, before.Trace.RecordsDir)
	a, errA := eval.Read(after.ID, after.Trace.RecordsDir)
	if err := errors.Join(errB, errA); err != nil {
		return err
	}
	if c.Bool("json") {
		return eval.CompareJSON(env.Stdout, b, a)
	}
	return eval.CompareText(text(env, c), b, a)
}
