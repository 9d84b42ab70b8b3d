package app

import (
	"context"
	"errors"
	"strconv"
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"

	"github.com/mur-capsules/mur/mur-trace/internal/report"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

func reportCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "report",
		Usage:     "statistics over many sessions",
		ArgsUsage: "[address...]",
		Description: "mur-trace report                     every session of this place\n" +
			"mur-trace report --last 20 --json\n" +
			"mur-trace report --since 7d --by capsule",
		Flags: append(placeFlags(), cli.JSONFlag(), plainFlag(),
			&ucli.IntFlag{Name: "last", Usage: "only the newest `N` sessions", DefaultText: "all"},
			&ucli.StringFlag{Name: "since", Usage: "only sessions begun in the last `<n>m|h|d`"},
			&ucli.StringFlag{Name: "by", Usage: "one report for each capsule, model or exit_status"},
		),
		Action: func(c *ucli.Context) error { return runReport(env, c) },
	}
}

func runReport(env cli.Env, c *ucli.Context) error {
	f, err := finder(env, c)
	if err != nil {
		return err
	}
	r := report.Report{By: c.String("by")}
	switch r.By {
	case "", "capsule", "model", "exit_status":
	default:
		return diag.Usagef("--by takes capsule, model or exit_status, not %s", diag.Quote(r.By))
	}
	var traces []source.Trace
	if c.NArg() > 0 {
		if c.IsSet("last") || c.IsSet("since") {
			return selector("sessions are named, or chosen with --last and --since, not both")
		}
		traces, err = f.FindAll(c.Args().Slice())
	} else {
		traces, err = chosen(env, c, f, &r)
	}
	if err != nil {
		return err
	}
	if r.Sessions, r.Skipped, err = report.Read(c.Context, traces); errors.Is(err, context.Canceled) {
		return cli.Exit(130) // interrupted
	} else if err != nil {
		return err
	}
	if r.Skipped > 0 {
		tell(env, c, "left out %d sessions that are empty or did not end", r.Skipped)
	}
	if len(r.Sessions) == 0 {
		d := selector("no session to report on: %d found, %d of them empty or not ended", len(traces), r.Skipped)
		if r.Root != nil {
			d.Hint("searched: %s", *r.Root).Name("directory", *r.Root)
		}
		return d
	}
	if c.Bool("json") {
		return report.JSON(env.Stdout, r)
	}
	return report.Text(text(env, c), r)
}

// chosen are the sessions of the search directory that --last and --since
// leave, newest first.
func chosen(env cli.Env, c *ucli.Context, f *source.Finder, r *report.Report) ([]source.Trace, error) {
	last := c.Int("last")
	if c.IsSet("last") && last < 1 {
		return nil, selector("--last takes a number from 1 up, not %d", last)
	}
	var since time.Time
	if c.IsSet("since") {
		age, err := ageOf(c.String("since"))
		if err != nil {
			return nil, err
		}
		since = env.Now().Add(-age)
	}
	dir, all, err := f.All()
	if err != nil {
		return nil, err
	}
	r.Root = &dir
	var out []source.Trace
	for _, t := range all {
		if c.IsSet("last") && len(out) == last {
			break
		}
		if at, err := ids.Time(t.SessionID); err == nil && at.Before(since) {
			continue
		}
		out = append(out, t)
	}
	return out, nil
}

// ageOf reads a number of minutes, hours or days.
func ageOf(s string) (time.Duration, error) {
	if len(s) > 1 {
		unit := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[len(s)-1]]
		n, err := strconv.ParseInt(s[:len(s)-1], 10, 32)
		if err == nil && n >= 0 && unit > 0 && s[0] != '+' {
			return time.Duration(n) * unit, nil
		}
	}
	return 0, selector("--since takes a number and m, h or d, such as 90m or 7d, not %s", diag.Quote(s))
}

func selector(format string, args ...any) *diag.Error {
	return diag.Errorf("E-TRC-002", format, args...)
}
