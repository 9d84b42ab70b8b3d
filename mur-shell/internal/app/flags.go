package app

import (
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/mur-shell/internal/terms"
)

// request is what run, resolve and why were asked for.
type request struct {
	staged  string
	opts    terms.Options
	words   []string // the entry and its arguments
	tool    string   // or an entry and a text for it
	command string
	timeout time.Duration
	stdin   bool
	json    bool
	explain bool
}

func termFlags() []ucli.Flag {
	return []ucli.Flag{
		cli.JSONFlag(),
		&ucli.StringFlag{Name: "staged", Usage: "take the terms of a staged-session document `FILE`, - for standard input"},
		&ucli.StringFlag{Name: "policy", Usage: "take the terms of a policy `FILE`, - for standard input"},
		&ucli.StringSliceFlag{Name: "allow", Usage: "a `PROGRAM` that may run, by name or absolute path (repeat)"},
		&ucli.StringFlag{Name: "workdir", Usage: "the work `FOLDER`, which commands may write (default: the current one)"},
		&ucli.StringFlag{Name: "containment", Usage: "the weakest `CLASS` to accept: unconfined, advisory, scoped, sealed"},
		&ucli.StringSliceFlag{Name: "network", Usage: "a host commands may reach: `HOST`, HOST:PORT, https://HOST (repeat)"},
		&ucli.BoolFlag{Name: "unix-sockets", Usage: "allow Unix sockets"},
		&ucli.BoolFlag{Name: "workdir-exec", Usage: "allow to execute what lies in the work folder"},
		&ucli.StringSliceFlag{Name: "read-only", Usage: "a `PATH` of the work folder that commands should not write (repeat)"},
		&ucli.StringSliceFlag{Name: "env", Usage: "a `VARIABLE` to pass on (repeat)"},
		&ucli.StringSliceFlag{Name: "limit", Usage: "a resource limit `FIELD=N` (repeat)"},
	}
}

func runFlags() []ucli.Flag {
	return append(termFlags(),
		&ucli.StringFlag{Name: "tool", Usage: "the `ENTRY` that --command is for, as a shell tool takes it"},
		&ucli.StringFlag{Name: "command", Usage: "the `TEXT` for --tool"},
		&ucli.IntFlag{Name: "timeout", Usage: "end the command after `SECONDS`"},
		&ucli.BoolFlag{Name: "stdin", Usage: "hand standard input to the command"},
		&ucli.BoolFlag{Name: "explain-scope", Usage: "print what the command could reach, and start nothing"},
	)
}

// requestOf reads flags and words.
func requestOf(c *ucli.Context) (request, error) {
	class, err := policy.ParseClass(c.String("containment"))
	if err != nil {
		return request{}, diag.Usagef("--containment: %s", err)
	}
	r := request{
		staged: c.String("staged"), words: c.Args().Slice(), tool: c.String("tool"), command: c.String("command"),
		stdin: c.Bool("stdin"), json: c.Bool("json"), explain: c.Bool("explain-scope"),
		opts: terms.Options{
			Policy: c.String("policy"), Allow: c.StringSlice("allow"), Workdir: c.String("workdir"), Containment: class,
			Network: c.StringSlice("network"), UnixSockets: c.Bool("unix-sockets"), WorkdirExec: c.Bool("workdir-exec"),
			ReadOnly: c.StringSlice("read-only"), Env: c.StringSlice("env"), Limits: c.StringSlice("limit"),
		},
	}
	if c.IsSet("timeout") {
		if c.Int("timeout") <= 0 {
			return r, diag.Usagef("--timeout needs a number of seconds above 0")
		}
		r.timeout = time.Duration(c.Int("timeout")) * time.Second
	}
	if r.staged != "" {
		for _, name := range []string{"policy", "allow", "workdir", "network", "unix-sockets", "workdir-exec", "read-only", "env", "limit"} {
			if c.IsSet(name) {
				return r, diag.Usagef("--%s can not be combined with --staged: the document decides", name)
			}
		}
	}
	return r, nil
}

// needCommand checks that there is one command, in one of its two forms.
func (r *request) needCommand(setTool, setCommand bool) error {
	switch {
	case setTool != setCommand:
		return diag.Usagef("--tool and --command belong together")
	case setTool && len(r.words) > 0:
		return diag.Usagef("a command is given by --tool and --command or after --, not by both")
	case !setTool && len(r.words) == 0 && !r.explain:
		return diag.Usagef("a command is needed after --; see --help")
	}
	r.opts.First = r.tool
	if len(r.words) > 0 {
		r.opts.First = r.words[0]
	}
	return nil
}
