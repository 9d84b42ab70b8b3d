package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine/grants"
	"github.com/mur-capsules/mur/lib/confine/memory"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
	"github.com/mur-capsules/mur/mur-shell/internal/proto"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
	"github.com/mur-capsules/mur/mur-shell/internal/terms"
)

func runCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name: "run", Usage: "run one command", ArgsUsage: "-- WORD...", Flags: runFlags(),
		Description: `Runs the first word with the others as its arguments, exactly as given. Without
--policy and --allow nothing but that program may start. The work folder is
writable; hosts are reached only when --network names them.`,
		Action: func(c *ucli.Context) error {
			r, err := requestOf(c)
			if err != nil {
				return err
			}
			if err := r.needCommand(c.IsSet("tool"), c.IsSet("command")); err != nil {
				return err
			}
			return run(c.Context, env, r)
		},
	}
}

// host is this machine.
func host() terms.Host {
	return terms.Host{Probe: probe.Host, ProbeRest: probe.WithoutNetwork, Grants: grants.Disk{}}
}

// settle makes the terms of a request. The caller closes them.
func settle(ctx context.Context, env cli.Env, r request) (*terms.Terms, error) {
	r.opts.Report = r.explain
	if r.staged != "" {
		return terms.FromDocument(ctx, r.staged, r.opts.Containment, env, host(), r.explain)
	}
	return terms.Standalone(ctx, r.opts, env, host())
}

func run(ctx context.Context, env cli.Env, r request) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	// Signals end the command first; they do not cut off the set-up's waits.
	ctx = context.WithoutCancel(ctx)

	printer := cli.Diagnostics(env, "mur-shell", r.json)
	t, err := settle(ctx, env, r)
	if err != nil {
		return r.failed(env, err)
	}
	defer func() { _ = t.Close() }()
	if r.explain {
		return explain(env, t, r.json)
	}
	// Credentials of the caller's environment are in this process's memory, which
	// no command may read (CON-118). The probe's children and the holder, which
	// must write their own id maps, have done so.
	memory.Hide()
	c, err := r.call(t)
	if err == nil {
		err = protected(c, t)
	}
	if err != nil {
		return r.failed(env, err)
	}
	rm, err := t.Room(ctx)
	for _, w := range t.Warnings {
		printer.Warn(w)
	}
	if err != nil {
		return r.failed(env, err)
	}
	defer func() { _ = rm.Close() }()
	return r.execute(ctx, env, t, rm, c, signals, printer)
}

// call makes the call and checks it against the policy (SHL-45).
func (r request) call(t *terms.Terms) (call.Call, error) {
	entry := r.opts.First
	if !t.Allows(entry) {
		return call.Call{}, diag.Errorf("E-SHL-101", "%s is not in shell.allow", diag.Quote(entry)).In("run").
			Name("command", entry).Hint("allow it with --allow %s or in the policy's shell.allow", entry)
	}
	c := call.Call{}
	if r.tool == "" {
		c = call.FromWords(r.words)
	} else {
		var err error
		if c, err = call.FromText(r.tool, r.command); err != nil {
			return c, diag.Usagef("--command: %s", err)
		}
	}
	return t.WithRecipe(c), nil
}

// protected refuses a call that names a protected path (CON-244).
func protected(c call.Call, t *terms.Terms) error {
	p := t.Protects(c, nil)
	if p == nil {
		return nil
	}
	return diag.Errorf("E-SHL-101", "%s", p).In("run").Name("command", c.Entry).Name("rule", p.Entry)
}

// failed reports a failure of mur-shell's own as an object too (SHL-147).
func (r request) failed(env cli.Env, err error) error {
	if !r.json {
		return err
	}
	var v any
	code := diag.CodeOf(err)
	switch code {
	case "E-RUN-012", "E-RUN-013", "E-RUN-014":
		v = proto.FatalOf("", err)
	case "E-SHL-101":
		reason := shellproto.ReasonNotAllowed
		if e, _ := diag.AsError(err); e.Names["rule"] != nil {
			reason = shellproto.ReasonProtectedPath
		}
		v = proto.Refuse("", reason, err.Error())
	default:
		v = proto.Refuse("", shellproto.ReasonSpawn, err.Error())
		var start *startFailure
		if errors.As(err, &start) && start.status == 127 {
			v = proto.Refuse("", shellproto.ReasonNotFound, err.Error())
		}
	}
	if line, lerr := proto.Line(v); lerr == nil {
		_, _ = env.Stdout.Write(line)
	}
	return err
}

// execute runs the call and turns how it ended into mur-shell's own end.
func (r request) execute(ctx context.Context, env cli.Env, t *terms.Terms, rm *room.Room, c call.Call, signals <-chan os.Signal, printer *diag.Printer) error {
	f := t.Plan.Folders
	environ := call.Environment(env.Environ, t.Runtime, t.Policy.ShellBaselineEnv, t.Policy.Env(), call.Folders{Work: f.Work, Home: f.Home, Tmp: f.Tmp})
	program, err := call.Lookup(c.Entry, call.Value(environ, "PATH"), f.Work)
	if err != nil {
		return r.failed(env, notStarted(c.Entry, err))
	}
	cmd := room.Command{Program: program.Path, Argv: append([]string{c.Entry}, c.Args...), Env: environ, Timeout: r.timeout}
	if r.stdin {
		cmd.Stdin = env.Stdin
	}
	var spools *logSpools
	if r.json {
		if spools, err = newLogSpools(t.Records()); err != nil {
			return r.failed(env, err)
		}
		defer spools.close()
		cmd.Stdout, cmd.Stderr = spools.out, spools.err
	} else {
		cmd.Stdout, cmd.Stderr = env.Stdout, env.Stderr
	}
	x, err := rm.Start(ctx, cmd)
	if err != nil {
		return r.failed(env, startError(program.Path, err, t))
	}
	guard := room.Watch(f.Work, t.Policy, rm.Unconfined())
	defer guard.Stop()
	ended := r.await(x, guard, signals)
	res := x.Result()
	for _, line := range t.Notes() {
		printer.Warn(diag.Warningf("", "run", "%s", line))
	}
	if breach := guard.Breach(); breach != nil {
		return r.failed(env, breach)
	}
	if res.Limit != "" {
		printer.Error(limitHit(c.Entry, res, t), res.ExitCode())
	}
	if r.json {
		d := proto.Ended(c, program.Binary, res, t.Policy, r.timeout)
		if d.Truncated {
			if path := spools.keep(c, d.ExitCode, env.Now()); path != "" {
				t.Keep()
				d.ToolResult.Metadata["full_output_path"] = path
			}
		}
		line, err := proto.Line(d)
		if err != nil {
			return err
		}
		if _, err := env.Stdout.Write(line); err != nil {
			return err
		}
	}
	switch {
	case ended != 0:
		return cli.Exit(128 + int(ended))
	case res.TimedOut:
		if !r.json {
			fmt.Fprintf(env.Stderr, "mur-shell: %s was ended after %s\n", c.Entry, r.timeout)
		}
		return cli.Exit(124)
	case !res.Known:
		return r.failed(env, errors.New("the worker ended while the command ran"))
	}
	if code := res.ExitCode(); code != 0 {
		return cli.Exit(code)
	}
	return nil
}

// await waits for the command's end; a signal ends it, a second one at once
// (SHL-143). It returns the first signal, or 0.
func (r request) await(x *room.Running, guard *room.Guard, signals <-chan os.Signal) syscall.Signal {
	var first syscall.Signal
	breached := guard.Breached()
	for {
		select {
		case <-x.Done():
			return first
		case <-breached:
			breached = nil
			x.Kill(syscall.SIGTERM)
		case s := <-signals:
			sig, _ := s.(syscall.Signal)
			if first == 0 {
				first = sig
			}
			x.Kill(sig)
		}
	}
}

// limitHit is what SHL-75 prints; the exit status stays the command's.
func limitHit(entry string, res room.Result, t *terms.Terms) error {
	return diag.Errorf("E-RUN-011", "%s: %s", entry, room.LimitNote(res.Limit, t.Policy.Resources)).In("run").
		Name("program", entry).Name("field", res.Limit).Name("evidence", fmt.Sprintf("exit code %d", res.ExitCode()))
}

// notStarted says that an entry leads to no program.
func notStarted(entry string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &startFailure{status: 126, message: fmt.Sprintf("%s is not executable", diag.Quote(entry))}
	}
	return &startFailure{status: 127, message: fmt.Sprintf("no program %s was found on PATH", diag.Quote(entry))}
}

// startError turns a failed start into an exit status and says which rule refused
// it (CON-285).
func startError(program string, err error, t *terms.Terms) error {
	var start *room.StartError
	if !errors.As(err, &start) {
		return err
	}
	f := &startFailure{status: 126, message: t.StartMessage(program, start)}
	if start.Errno == syscall.ENOENT {
		f.status = 127
	}
	return f
}

// explain prints the scope report (CON section 6).
func explain(env cli.Env, t *terms.Terms, asJSON bool) error {
	if !asJSON {
		return t.Report.WriteText(env.Stdout)
	}
	line, err := proto.Line(t.Report)
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(line)
	return err
}
