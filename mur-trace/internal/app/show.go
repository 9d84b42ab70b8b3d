package app

import (
	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-trace/internal/eval"
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
			&ucli.BoolFlag{Name: "strict", Usage: "refuse malformed lines and a session that did not end"},
			&ucli.StringFlag{Name: "body", Usage: "write one stored body: system, tools, response, message:`<i>`, or a hash"},
			&ucli.Int64Flag{Name: "turn", Usage: "the turn --body means", DefaultText: "any"},
			&ucli.StringFlag{Name: "task", Usage: "the task --turn means, when several have that turn"},
			&ucli.BoolFlag{Name: "eval", Usage: "what scoring hooks said of it"},
			&ucli.BoolFlag{Name: "tree", Usage: "the sessions it delegated to, and theirs"}),
		Action: func(c *ucli.Context) error { return runShow(env, c) },
	}
}

func runShow(env cli.Env, c *ucli.Context) error {
	asked := 0
	for _, f := range []string{"body", "eval", "tree"} {
		if c.IsSet(f) {
			asked++
		}
	}
	if asked > 1 {
		return diag.Usagef("--body, --eval and --tree exclude each other")
	}
	t, err := oneTrace(env, c)
	if err != nil {
		return err
	}
	r, err := record.Load(t, record.Options{Strict: c.Bool("strict")})
	if err != nil {
		return err
	}
	defer r.Close()
	note(env, c, r)
	switch {
	case c.IsSet("body"):
		sel := show.Selector{Body: c.String("body"), Turn: setInt(c, "turn"), Task: c.String("task")}
		return show.Body(env.Stdout, r, sel, func(s string) { tell(env, c, "%s", s) })
	case c.Bool("eval"):
		e, err := eval.Read(r.ID, t.RecordsDir)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return eval.JSON(env.Stdout, e)
		}
		return eval.Text(text(env, c), e)
	case c.Bool("tree"):
		if c.Bool("json") {
			return show.TreeJSON(env.Stdout, show.Tree(r))
		}
		return show.TreeText(text(env, c), show.Tree(r))
	case c.Bool("json"):
		return show.JSON(env.Stdout, r)
	}
	return show.Text(text(env, c), r)
}
