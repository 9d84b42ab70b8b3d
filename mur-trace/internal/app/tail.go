package app

import (
	"errors"
	"io/fs"
	"os"
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
	"github.com/mur-capsules/mur/mur-trace/internal/steps"
	"github.com/mur-capsules/mur/mur-trace/internal/tail"
)

func tailCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "tail",
		Usage:     "print the last events, and new ones as they come",
		ArgsUsage: "[address]",
		Description: "mur-trace tail -f                       until the session has ended\n" +
			"mur-trace tail -f --json | mur-trace filter - --type tool_call .tool_name",
		Flags: append(placeFlags(), cli.JSONFlag(), plainFlag(),
			&ucli.IntFlag{Name: "n", Usage: "how many `lines`", Value: 10},
			&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with each new line"},
			&ucli.BoolFlag{Name: "keep", Usage: "follow on after the session has ended"},
		),
		Action: func(c *ucli.Context) error { return runTail(env, c) },
	}
}

func runTail(env cli.Env, c *ucli.Context) error {
	n := c.Int("n")
	if n < 0 {
		return diag.Usagef("-n takes a number from 0 up, not %d", n)
	}
	t, err := oneTrace(env, c)
	if err != nil {
		return err
	}
	var f *os.File
	if stdin, ok := env.Stdin.(*os.File); ok && t.Path == source.Stdin {
		f = stdin // a pipe is followed as it is
	} else if f, err = t.OpenAt(); err != nil {
		return err
	} else {
		defer f.Close()
	}
	opt := tail.Options{Lines: n, Follow: c.Bool("follow"), Keep: c.Bool("keep"), JSON: c.Bool("json"),
		Alive: func(id string) bool { return alive(env, id) }, Every: 100 * time.Millisecond}
	return tail.Run(c.Context, f, env.Stdout, text(env, c), opt)
}

// alive reports whether a session has a running record; when that can not be
// known it may well be.
func alive(env cli.Env, id string) bool {
	home, err := workfs.FindHome(env.Environ)
	if err != nil {
		return false
	}
	_, err = os.Lstat(home.Join(session.RunningDir + "/" + id + ".json"))
	return !errors.Is(err, fs.ErrNotExist)
}

func stepsCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "steps",
		Usage:     "print the tree of tasks, turns and what they did",
		ArgsUsage: "[address]",
		Flags: append(placeFlags(), plainFlag(),
			&ucli.BoolFlag{Name: "verbose", Usage: "add the first string of each call's input"}),
		Action: func(c *ucli.Context) error {
			t, err := oneTrace(env, c)
			if err != nil {
				return err
			}
			r, err := record.Load(t, record.Options{Unframed: true})
			if err != nil {
				return err
			}
			defer r.Close()
			note(env, c, r)
			return steps.Text(text(env, c), r, c.Bool("verbose"))
		},
	}
}
