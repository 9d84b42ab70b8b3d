package app

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
	"github.com/mur-capsules/mur/mur-shell/internal/proto"
	"github.com/mur-capsules/mur/mur-shell/internal/terms"
)

func resolveCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name: "resolve", Usage: "say what would be run, and start nothing", ArgsUsage: "-- WORD...", Flags: runFlags(),
		Action: func(c *ucli.Context) error {
			r, err := requestOf(c)
			if err != nil {
				return err
			}
			if err := r.needCommand(c.IsSet("tool"), c.IsSet("command")); err != nil {
				return err
			}
			r.explain = true
			return resolve(c.Context, env, r)
		},
	}
}

func resolve(ctx context.Context, env cli.Env, r request) error {
	t, err := settle(ctx, env, r)
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }()
	c, err := r.call(t)
	if err != nil {
		return err
	}
	binary := c.Entry
	if p, err := call.Lookup(c.Entry, env.Getenv("PATH"), t.Plan.Folders.Work); err == nil {
		binary = p.Binary
	}
	resolved := proto.ResolvedOf("", c, binary)
	resolved.Protected = t.Protects(c, nil)
	line, err := proto.Line(resolved)
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(line)
	return err
}

func checkCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name: "check", Usage: "validate a policy file or document and print what it would grant here", ArgsUsage: "FILE",
		Flags: []ucli.Flag{cli.JSONFlag(), &ucli.StringFlag{Name: "workdir", Usage: "the work `FOLDER` (default: the current one)"}},
		Action: func(c *ucli.Context) error {
			if c.Args().Len() != 1 {
				return diag.Usagef("one file is needed; see --help")
			}
			return check(c.Context, env, c.Args().First(), c.String("workdir"), c.Bool("json"))
		},
	}
}

// check prints the report also when the floor is not met, and then fails (SHL-6).
func check(ctx context.Context, env cli.Env, file, workdir string, asJSON bool) error {
	r := request{explain: true, opts: terms.Options{Policy: file, Workdir: workdir}}
	if terms.IsDocument(file, env) {
		r.staged, r.opts = file, terms.Options{}
	}
	t, err := settle(ctx, env, r)
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }()
	printer := cli.Diagnostics(env, "mur-shell", asJSON)
	for _, w := range t.Warnings {
		printer.Warn(w)
	}
	if err := explain(env, t, asJSON); err != nil {
		return err
	}
	return t.Decision.Refusal()
}

func whyCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name: "why", Usage: "say which rule decides about a path, a program or a host", ArgsUsage: "-- WHAT...", Flags: termFlags(),
		Description: `WHAT is a path (with a slash), a host with a port, or a program's name; a
prefix path:, host: or program: settles it. Takes the options of run, or a
document with --staged, and starts nothing.

   mur-shell why --policy policy.yaml -- /etc/passwd ./src curl example.com:443`,
		Action: func(c *ucli.Context) error {
			r, err := requestOf(c)
			if err != nil {
				return err
			}
			if len(r.words) == 0 {
				return diag.Usagef("a path, a program or a host:port is needed after --; see --help")
			}
			r.explain = true
			return why(c.Context, env, r)
		},
	}
}

func why(ctx context.Context, env cli.Env, r request) error {
	t, err := settle(ctx, env, r)
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }()
	answers := []confine.Answer{}
	for _, w := range r.words {
		answers = append(answers, answer(t.Plan, w))
	}
	if r.json {
		line, err := proto.Line(answers)
		if err != nil {
			return err
		}
		_, err = env.Stdout.Write(line)
		return err
	}
	for _, a := range answers {
		word := "refused"
		if a.Allowed {
			word = "allowed"
			if a.Rights != "" {
				word += ": " + a.Rights
			}
		}
		if _, err := fmt.Fprintf(env.Stdout, "%s: %s\n  %s\n", a.Subject, word, a.Rule); err != nil {
			return err
		}
	}
	return nil
}

// answer asks the plan about a word.
func answer(p confine.Plan, word string) confine.Answer {
	kind, rest, ok := strings.Cut(word, ":")
	if ok {
		switch kind {
		case "path":
			return whyPath(p, rest)
		case "program":
			return p.WhyProgram(rest)
		case "host":
			word = rest
		}
	}
	if host, port, err := net.SplitHostPort(word); err == nil {
		if n, err := strconv.Atoi(port); err == nil && !strings.Contains(host, "/") {
			return p.WhyHost(host, n)
		}
	}
	if strings.Contains(word, "/") || word == "." {
		return whyPath(p, word)
	}
	return p.WhyProgram(word)
}

func whyPath(p confine.Plan, path string) confine.Answer {
	file := p.Resolve(path)
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	return p.WhyPath(file)
}
