package app

import (
	"context"
	"os"

	ucli "github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/mur-shell/internal/serve"
	"github.com/mur-capsules/mur/mur-shell/internal/terms"
)

func serveCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name: "serve", Usage: "serve a session's commands on an inherited socket, for mur-launch",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "staged", Usage: "the staged-session document `FILE`, - for standard input"},
			&ucli.IntFlag{Name: "control-fd", Usage: "the inherited socket `N`"},
			&ucli.IntFlag{Name: "facts-fd", Usage: "the descriptor `M` of the launch facts"},
		},
		Action: func(c *ucli.Context) error {
			if c.Args().Present() || !c.IsSet("staged") || c.Int("control-fd") < 3 || c.Int("facts-fd") < 3 {
				return diag.Usagef("serve needs --staged, --control-fd and --facts-fd and nothing else")
			}
			return serveSession(c.Context, env, c.String("staged"), c.Int("control-fd"), c.Int("facts-fd"))
		},
	}
}

func serveSession(ctx context.Context, env cli.Env, staged string, control, facts int) error {
	doc, err := terms.Document(staged, env)
	if err != nil {
		return err
	}
	unix.CloseOnExec(facts)
	in := os.NewFile(uintptr(facts), "facts")
	f, err := serve.ReadFacts(in)
	in.Close()
	if err != nil {
		return err
	}
	err = serve.Serve(ctx, serve.Config{ControlFD: control, Document: doc, Facts: f, Env: env, Host: host()})
	if err == nil && ctx.Err() != nil {
		return cli.Exit(128 + int(unix.SIGTERM))
	}
	return err
}
