// Package app is the command line of mur-doctor: flags in, one report out.
package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/mur-doctor/internal/checks"
)

// Run runs mur-doctor: 0 when no check failed, warnings allowed, else 1; 2 for a
// usage error (SES-196, DIA-36).
func Run(ctx context.Context, env cli.Env) int {
	return cli.Run(ctx, env, &ucli.App{
		Name:      "mur-doctor",
		Usage:     "say what this host can do and what is wrong with a project",
		UsageText: "mur-doctor [--manifest <path>] [--strict] [--fix] [--json]\nmur-doctor --escape [--containment <class>] [--result <path>] [--json]",
		Description: `Looks at the host, at the mur commands, at what killed sessions left and,
where there is a murmur.yaml, at the project. It creates and downloads nothing,
and changes something only with --fix. Exit status 1 when a check failed.

Examples:
  mur-doctor                                  this host, and ./murmur.yaml if there is one
  mur-doctor --manifest ~/report/murmur.yaml  another project
  mur-doctor --fix                            remove leftovers, close open modes, and say so
  mur-doctor --escape                         try to break out of confined commands on this host
  mur-doctor --json | jq '.checks[] | select(.status != "ok")'`,
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "manifest", Usage: "the project's manifest `FILE` (default: ./murmur.yaml if it exists)"},
			&ucli.BoolFlag{Name: "strict", Usage: "an unknown key in the manifest is a failure"},
			&ucli.BoolFlag{Name: "fix", Usage: "put right what is safe to: modes, leftovers of killed sessions and writers; never what a user wrote"},
			&ucli.BoolFlag{Name: "escape", Usage: "run the suite of escape probes in a throw-away folder; exit status 3 when a boundary did not hold, 4 when a limit did not"},
			&ucli.StringFlag{Name: "containment", Aliases: []string{"class"}, Usage: "with --escape: one `CLASS`, advisory, scoped or sealed (default: each that this host reaches)"},
			&ucli.StringFlag{Name: "result", Usage: "with --escape: write the findings as JSON to `FILE`, if the class was reached"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			if c.Args().Present() {
				return diag.Usagef("mur-doctor takes no argument, found %s; see --help", diag.Quote(c.Args().First()))
			}
			if c.Bool("escape") {
				return escapeAction(c, env)
			}
			if c.IsSet("containment") || c.IsSet("result") {
				return diag.Usagef("--containment and --result belong to --escape")
			}
			report := checks.Run(ctx, env, checks.Options{Manifest: c.String("manifest"), Strict: c.Bool("strict"), Fix: c.Bool("fix")})
			if err := render(env.Stdout, report, c.Bool("json")); err != nil {
				return err
			}
			if report.Failed() {
				return cli.Exit(diag.ExitError)
			}
			return nil
		},
	})
}

func render(w io.Writer, r *checks.Report, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	for _, c := range r.Checks {
		head := string(c.Status)
		if c.Fixed != "" {
			head = "fixed"
		}
		if c.Code != "" {
			head += "[" + string(c.Code) + "]"
		}
		if _, err := fmt.Fprintf(w, "%-18s %s: %s\n", head, strings.TrimSpace(c.Name+" "+c.Subject), strings.ReplaceAll(c.Message, "\n", "\n  ")); err != nil {
			return err
		}
		if c.Fixed != "" {
			if _, err := fmt.Fprintf(w, "  done: %s\n", c.Fixed); err != nil {
				return err
			}
		}
		if c.Remedy != "" {
			if _, err := fmt.Fprintf(w, "  hint: %s\n", c.Remedy); err != nil {
				return err
			}
		}
	}
	return nil
}
