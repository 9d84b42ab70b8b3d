package app

import (
	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-trace/internal/otel"
	"github.com/mur-capsules/mur/mur-trace/internal/record"
)

func exportCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "export",
		Usage:     "turn a session into OpenTelemetry spans",
		ArgsUsage: "[address]",
		Description: "Without an endpoint the spans go to standard output, in OTLP's JSON form.\n\n" +
			"mur-trace export --otel @1 > spans.json\n" +
			"mur-trace export --otel @1 --endpoint http://127.0.0.1:4318",
		Flags: append(placeFlags(),
			&ucli.BoolFlag{Name: "otel", Usage: "the form: OTLP spans with GenAI attribute names"},
			&ucli.StringFlag{Name: "endpoint", Usage: "send them over OTLP/HTTP to the collector at this `url`"}),
		Action: func(c *ucli.Context) error {
			if !c.Bool("otel") {
				return diag.Usagef("--otel is needed: it is the form to export to; see --help")
			}
			t, err := oneTrace(env, c)
			if err != nil {
				return err
			}
			r, err := record.Load(t, record.Options{})
			if err != nil {
				return err
			}
			defer r.Close()
			note(env, c, r)
			endpoint := c.String("endpoint")
			if endpoint == "" {
				_, err := otel.Write(c.Context, r, env.Stdout)
				return err
			}
			n, err := otel.Send(c.Context, r, endpoint)
			if err != nil {
				return diag.Errorf("E-IO-003", "the session can not be exported to %s: %w", diag.Quote(endpoint), err).
					Name("path", endpoint).Name("reason", err.Error())
			}
			tell(env, c, "sent %d spans", n)
			return nil
		},
	}
}
