// Package app is mur-shell at its edge: flags in, one command or one session
// served, its result out.
package app

import (
	"context"
	"errors"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

const description = `Runs commands under a policy: which programs may start, which files and hosts
they reach, how much they may use. Inside a session mur-launch does so through
"mur-shell serve"; "mur-shell run" confines one command of yours.

   mur-shell run -- make test                  this folder writable, no network
   mur-shell run --network example.com -- curl -s https://example.com/
   mur-shell run --policy policy.yaml -- npm ci
   mur-shell run --containment sealed --explain-scope -- git status
   mur-shell why --network example.com -- /etc/passwd git example.com:443
   mur-shell staged.json -- git log            a command on a session's terms

Exit status of run: the command's own, 124 after a time-out, 125 when mur-shell
itself refused or failed, 126 when the program can not be executed, 127 when it
was not found.`

// Run runs mur-shell and returns its exit status.
func Run(ctx context.Context, env cli.Env) int {
	defer room.Settle()
	return cli.RunWith(ctx, env, &ucli.App{
		Name:        "mur-shell",
		Usage:       "run commands under a policy",
		UsageText:   "mur-shell run [options] -- WORD...\nmur-shell <document> -- WORD...",
		Description: description,
		Flags:       []ucli.Flag{cli.JSONFlag()},
		Commands:    []*ucli.Command{runCommand(env), resolveCommand(env), checkCommand(env), whyCommand(env), serveCommand(env)},
		Action: func(c *ucli.Context) error {
			words := c.Args().Slice()
			switch {
			case len(words) == 0:
				return diag.Usagef("a command is needed; see --help")
			case len(words) < 3 || words[1] != "--":
				return diag.Usagef("unknown command %s; see --help", diag.Quote(words[0]))
			}
			r := request{staged: words[0], words: words[2:], json: c.Bool("json")}
			if err := r.needCommand(false, false); err != nil {
				return err
			}
			return run(c.Context, env, r)
		},
	}, exitStatus)
}

// exitStatus is 125 for every failure of mur-shell's own (SHL-146).
func exitStatus(err error) int {
	var status *startFailure
	switch {
	case err == nil:
		return diag.ExitOK
	case errors.As(err, &status):
		return status.status
	default:
		return diag.ExitNoShell
	}
}

// startFailure is a program that could not be started (SHL-76).
type startFailure struct {
	status  int // 126 or 127
	message string
}

func (f *startFailure) Error() string { return f.message }
