package app

import (
	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/why"
)

func whyCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "why",
		Usage:     "tell how an event came to be, and what decided a refusal",
		ArgsUsage: "<event> [address]",
		Description: "An event is named by its id, the last characters of it, or :n for the one on line n.\n\n" +
			"mur-trace why \"$(mur-trace filter --type call_denied -r .event_id | head -1)\"",
		Flags: append(placeFlags(), cli.JSONFlag(), plainFlag()),
		Action: func(c *ucli.Context) error {
			if c.NArg() < 1 || c.NArg() > 2 {
				return diag.Usagef("an event and at most one session are needed; see --help")
			}
			f, err := finder(env, c)
			if err != nil {
				return err
			}
			traces, err := f.FindAll(c.Args().Slice()[1:], "@1")
			if err != nil {
				return err
			}
			r, err := record.Load(traces[0], record.Options{Unframed: true})
			if err != nil {
				return err
			}
			defer r.Close()
			note(env, c, r)
			a, err := why.Explain(r, c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return why.JSON(env.Stdout, a)
			}
			return why.Text(text(env, c), a)
		},
	}
}
