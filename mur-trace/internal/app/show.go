package app

import (
	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/show"
)

func showCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "show",
		Usage:     "print one session",
		ArgsUsage: "[address]",
		Description: "mur-trace show                 the newest session\n" +
			"mur-trace show @2 --json       the one before it, for programs\n" +
			"mur-trace show 4f2a            the session whose id ends so",
		Flags: append(placeFlags(), cli.JSONFlag(), plainFlag(),
			&ucli.BoolFlag{Name: "strict", Usage: "refuse malformed lines and a session that did not end"}),
		Action: func(c *ucli.Context) error {
			t, err := oneTrace(env, c)
			if err != nil {
				return err
			}
			r, err := record.Load(t, record.Options{Strict: c.Bool("strict")})
			if err != nil {
				return err
			}
			defer r.Close()
			note(env, r)
			if c.Bool("json") {
				return show.JSON(env.Stdout, r)
			}
			return show.Text(text(env, c), r)
		},
	}
}
