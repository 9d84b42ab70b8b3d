package app

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-trace/internal/query"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

func filterCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "filter",
		Usage:     "run a jq expression on each event",
		ArgsUsage: "[address...] <expression>",
		Description: "$session is the session_start, $index the number of the line, from 0.\n\n" +
			"mur-trace filter 'select(.status==\"error\")'\n" +
			"mur-trace filter @1 @2 --type tool_call -r .tool_name | sort | uniq -c\n" +
			"mur-trace filter --slurp 'map(.input_tokens // 0) | add'\n" +
			"mur-launch ... && mur-trace filter - . < trace.jsonl",
		Flags: append(placeFlags(),
			&ucli.BoolFlag{Name: "e", Aliases: []string{"exit-status"}, Usage: "exit 1 when no result was true"},
			&ucli.BoolFlag{Name: "r", Aliases: []string{"raw-output"}, Usage: "print strings without quotes"},
			&ucli.BoolFlag{Name: "slurp", Aliases: []string{"s"}, Usage: "give the expression one array of all events"},
			&ucli.StringFlag{Name: "type", Usage: "only events of these types, separated by commas"},
			&ucli.StringFlag{Name: "task", Usage: "only events of the task with this id, or ending so"},
			&ucli.Int64Flag{Name: "turn", Usage: "only events of this turn", DefaultText: "any"},
			&ucli.Int64Flag{Name: "since-ms", Usage: "only events written at or after this time, in Unix milliseconds", DefaultText: "any"},
			&ucli.Int64Flag{Name: "until-ms", Usage: "only events written at or before this time", DefaultText: "any"},
			&ucli.StringFlag{Name: "subtree", Usage: "only the event with this id and those beneath it"},
		),
		Action: func(c *ucli.Context) error { return filter(env, c) },
	}
}

func filter(env cli.Env, c *ucli.Context) error {
	args := c.Args().Slice()
	if len(args) == 0 {
		return diag.Usagef("an expression is needed; see --help")
	}
	expression, addresses := split(args)
	x, err := query.Compile(expression)
	if err != nil {
		return err
	}
	f, err := finder(env, c)
	if err != nil {
		return err
	}
	traces, err := f.FindAll(addresses, "@1")
	if err != nil {
		return err
	}
	run := query.Filter{
		Expression: x, Raw: c.Bool("r"), Slurp: c.Bool("slurp"), Out: env.Stdout, Err: env.Stderr,
		Prefilter: query.Prefilter{
			Task: c.String("task"), Subtree: c.String("subtree"),
			Turn: setInt(c, "turn"), SinceMS: setInt(c, "since-ms"), UntilMS: setInt(c, "until-ms"),
		},
	}
	if s := c.String("type"); s != "" {
		run.Prefilter.Types = strings.Split(s, ",")
	}
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // decoded events die young: a third less time for 15 MB
	}
	got, err := run.Run(c.Context, traces)
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Exit(130) // interrupted: what was printed stands
	case err != nil:
		return err
	case got.Halted:
		return exit(got.Status)
	case got.Errors > 0, c.Bool("e") && !got.True:
		return cli.Exit(1)
	}
	return nil
}

// split tells the expression from the addresses: it is the last argument, or the
// first where that can be no address. An expression with a / in it stands last.
func split(args []string) (expression string, addresses []string) {
	first := args[0]
	if len(args) > 1 && first != source.Stdin && strings.ContainsAny(first, ".[({|\"") && !strings.Contains(first, "/") && !strings.HasSuffix(first, ".jsonl") {
		return first, args[1:]
	}
	return args[len(args)-1], args[:len(args)-1]
}

func exit(status int) error {
	if status == 0 {
		return nil
	}
	return cli.Exit(status)
}

func setInt(c *ucli.Context, name string) *int64 {
	if !c.IsSet(name) {
		return nil
	}
	return new(c.Int64(name))
}
