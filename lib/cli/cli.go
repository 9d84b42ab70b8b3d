// Package cli is what the six commands share at their edge: streams as fields,
// common flags, version, signals, and how a diagnostic reaches standard error.
// It, the main packages and their internal/app are the only places that know
// urfave/cli.
//
// A command's main is one line, cli.Main(app.Run), and its internal/app builds
// an *cli.App of urfave/cli whose actions return errors: a *diag.Error, a
// *diag.UsageError, or Exit(status) when everything has been said already.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/diag"
)

// Version is the version of the tool set; the six commands always carry the
// same one.
const Version = "0.1.0"

// Writes and Reads are the keys of an app's Metadata under which a command names the
// document it hands to another one, or takes from it. They stand in what --version
// prints, so that mur-doctor can tell whether two versions understand each other
// (DIA-207).
const (
	Writes = "writes"
	Reads  = "reads"
)

// Env is everything a command takes from its process. Tests build their own.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Args           []string // without the program's name
	Environ        []string // KEY=VALUE
	Dir            string   // working directory, absolute
	Now            func() time.Time
}

// Getenv returns the last value of a variable in e.Environ, or "".
func (e *Env) Getenv(key string) string {
	v, _ := e.LookupEnv(key)
	return v
}

// LookupEnv returns the last value of a variable in e.Environ and whether it is
// set at all.
func (e *Env) LookupEnv(key string) (string, bool) {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if v := e.Environ[i]; len(v) > len(key) && v[len(key)] == '=' && v[:len(key)] == key {
			return v[len(key)+1:], true
		}
	}
	return "", false
}

// Main runs a command with the process's own streams and ends the process with
// the status it returns. The context ends at the first SIGINT or SIGTERM; a
// second one ends the process by the signal's default action. A broken pipe is
// an error of the write, never a signal (DIA-9).
func Main(run func(context.Context, Env) int) {
	os.Exit(runOS(run))
}

func runOS(run func(context.Context, Env) int) int {
	// Notify and not Ignore: children must not inherit an ignored SIGPIPE.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	dir, err := os.Getwd()
	if err != nil {
		p := diag.Printer{W: os.Stderr}
		p.Error(diag.Errorf("E-IO-003", "the working directory can not be had: %w", err), diag.ExitError)
		return diag.ExitError
	}
	return run(ctx, Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Args: os.Args[1:], Environ: os.Environ(), Dir: dir, Now: time.Now,
	})
}

// exitError ends a command with a status and prints nothing.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Exit returns an error that ends the command with status and prints nothing
// more.
func Exit(status int) error { return exitError(status) }

// JSONFlag is the --json flag of every command: results on standard output and
// diagnostics on standard error as JSON (DIA-12, DIA-23).
func JSONFlag() ucli.Flag {
	return &ucli.BoolFlag{Name: "json", Usage: "print results and diagnostics as JSON"}
}

// Run runs app in env and returns the exit status: what the action returned is
// rendered to env.Stderr in the form of DIA section 1, a usage error exits 2,
// and a panic is printed with its place and exits 1 (DIA-37). Flags may stand
// before or after arguments, up to "--".
func Run(ctx context.Context, env Env, app *ucli.App) int {
	return RunWith(ctx, env, app, diag.ExitStatus)
}

// RunWith is Run for a command whose failures end it with statuses of its own:
// exit is asked for every error but Exit.
func RunWith(ctx context.Context, env Env, app *ucli.App, exit func(error) int) (status int) {
	asJSON := wantsJSON(env.Args)
	p := &diag.Printer{W: env.Stderr, JSON: asJSON, Command: app.Name, Now: env.Now}
	defer func() {
		if r := recover(); r != nil {
			err := fmt.Errorf("internal failure: %v\n%s", r, bytes.TrimSpace(debug.Stack()))
			status = exit(err)
			p.Error(err, status)
		}
	}()
	prepare(app, env)
	err := app.RunContext(ctx, append([]string{app.Name}, reorder(app.Flags, app.Commands, env.Args)...))
	var said exitError
	switch {
	case err == nil:
		return diag.ExitOK
	case errors.As(err, &said):
		return int(said)
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // the reader has gone: nobody to tell
	}
	status = exit(err)
	p.Error(err, status)
	return status
}

// Diagnostics returns the printer an action of app writes its warnings with.
func Diagnostics(env Env, command string, asJSON bool) *diag.Printer {
	return &diag.Printer{W: env.Stderr, JSON: asJSON, Command: command, Now: env.Now}
}

func prepare(app *ucli.App, env Env) {
	app.Reader, app.Writer, app.ErrWriter = env.Stdin, env.Stdout, env.Stderr
	app.Version = Version
	app.HideHelpCommand = true
	app.ExitErrHandler = func(*ucli.Context, error) {}
	app.OnUsageError = usage
	if app.Action == nil && len(app.Commands) > 0 {
		app.Action = needCommand
	}
	var each func([]*ucli.Command)
	each = func(cmds []*ucli.Command) {
		for _, c := range cmds {
			c.OnUsageError = usage
			c.HideHelpCommand = true
			sayDefaults(c.Flags)
			each(c.Subcommands)
		}
	}
	sayDefaults(app.Flags)
	each(app.Commands)
}

// sayDefaults makes the help of flags silent about a default that tells nothing:
// what is off unless asked for says so by being a flag, and a number nobody gave is
// no zero.
func sayDefaults(flags []ucli.Flag) {
	for _, f := range flags {
		switch f := f.(type) {
		case *ucli.BoolFlag:
			f.DisableDefaultText = !f.Value
		case *ucli.IntFlag:
			if f.Value == 0 && f.DefaultText == "" {
				f.DefaultText = "none"
			}
		case *ucli.Int64Flag:
			if f.Value == 0 && f.DefaultText == "" {
				f.DefaultText = "none"
			}
		}
	}
}

func usage(_ *ucli.Context, err error, _ bool) error {
	return diag.Usagef("%s; see --help", err)
}

func needCommand(c *ucli.Context) error {
	if c.Args().Present() {
		return diag.Usagef("unknown command %s; see --help", diag.Quote(c.Args().First()))
	}
	return diag.Usagef("a command is needed; see --help")
}

func init() {
	ucli.VersionFlag = &ucli.BoolFlag{Name: "version", Usage: "print the version", DisableDefaultText: true}
	ucli.VersionPrinter = func(c *ucli.Context) {
		build := fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version())
		for _, verb := range []string{Writes, Reads} {
			if document, ok := c.App.Metadata[verb]; ok {
				build += fmt.Sprintf(", %s %s", verb, document)
			}
		}
		fmt.Fprintf(c.App.Writer, "%s %s (%s)\n", c.App.Name, c.App.Version, build)
	}
}
