// Package app is the command line of mur-stage: it reads flags into options,
// makes one call, and prints what comes back.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine/grants"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/forms"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/mur-stage/internal/stage"
)

const description = `mur-stage reads a capsule's manifest, checks everything it asks for against
this host, verifies and compiles its artifacts, lays out its session and prints
one JSON document, which mur-launch runs.

   mur-stage | mur-launch                        stage and run the capsule here
   mur-stage --task "count the words" > s.json   stage now, look, run later
   mur-stage --capsule ana/report --capsule-version 1.0.0
                                                 stage an installed capsule
   mur-stage --bundle greeter.bundle.tar | mur-launch    run a whole capsule, offline
   mur-stage --explain-scope                     what would it be allowed to do?
   mur-stage --check                             name every refusal, stage nothing
   mur-stage --check --bundle greeter.bundle.tar    the same of a bundle
   mur-stage --discard ses_...                   throw a staged session away`

// Run runs mur-stage and returns its exit status.
func Run(ctx context.Context, env cli.Env) int {
	started := env.Now()
	return cli.Run(ctx, env, &ucli.App{
		Name:        "mur-stage",
		Usage:       "check a capsule and lay out its session",
		Description: description,
		Flags:       flags(),
		Metadata:    map[string]any{cli.Writes: session.Schema},
		// A directory may have a comma in its name.
		DisableSliceFlagSeparator: true,
		Action:                    func(c *ucli.Context) error { return run(c.Context, env, c, started) },
	})
}

func run(ctx context.Context, env cli.Env, c *ucli.Context, started time.Time) error {
	if c.Args().Present() {
		return diag.Usagef("mur-stage takes no arguments, and %s is one; see --help", diag.Quote(c.Args().First()))
	}
	for _, name := range unbuilt {
		if c.IsSet(name) {
			return diag.Usagef("--%s: this version of mur can not do that yet", name)
		}
	}
	in := stage.Input{
		Environ: env.Environ, Dir: env.Dir, Now: env.Now, Started: started, Version: cli.Version,
		Print: func(document []byte) error {
			_, err := env.Stdout.Write(document)
			return err
		},
	}
	if id := c.String("discard"); c.IsSet("discard") {
		return stage.Discard(in, id)
	}
	opts, err := options(c)
	if err != nil {
		return err
	}
	if c.Bool("check") && c.IsSet("explain-scope") {
		return diag.Usagef("--check and --explain-scope exclude each other")
	}
	host := stage.Host{Probe: probe.Host, Programs: grants.Disk{}, Formats: forms.Built(), Shell: cli.ForeseeShell}
	printer := cli.Diagnostics(env, "mur-stage", c.Bool("json"))
	if c.Bool("explain-scope") {
		report, warnings, err := stage.Explain(ctx, in, host, opts)
		if err == nil {
			if c.Bool("json") {
				enc := json.NewEncoder(env.Stdout)
				enc.SetEscapeHTML(false)
				err = enc.Encode(report)
			} else {
				err = report.WriteText(env.Stdout)
			}
		}
		return finish(printer, warnings, err)
	}
	if c.Bool("check") {
		warnings, refusals := stage.Check(ctx, in, host, opts)
		return finish(printer, warnings, errors.Join(refusals...))
	}
	warnings, err := stage.Stage(ctx, in, host, opts)
	return finish(printer, warnings, err)
}

// finish prints the refusal first, so that a program finds its code on the first
// line (SES-198), and then the warnings.
func finish(p *diag.Printer, warnings []diag.Warning, err error) error {
	var status error
	if err != nil {
		code := diag.ExitStatus(err)
		p.Error(err, code)
		status = cli.Exit(code)
	}
	for _, w := range warnings {
		p.Warn(w)
	}
	return status
}

// unbuilt are flags of the specification that this version does not have yet.
var unbuilt = []string{
	"resume", "resume-mode", "forget-session",
	"parent-workdir-snapshot", "ceiling-fd", "max-tree-tokens",
}

func flags() []ucli.Flag {
	out := []ucli.Flag{
		&ucli.StringFlag{Name: "manifest", Usage: "read the manifest at `PATH`", DefaultText: "./murmur.yaml"},
		&ucli.StringFlag{Name: "capsule", Usage: "stage the installed capsule `SCOPE/NAME` in place of a manifest"},
		&ucli.StringFlag{Name: "capsule-version", Usage: "the `VERSION` of --capsule"},
		&ucli.StringFlag{Name: "capsule-sha256", Usage: "refuse --capsule unless its archive has this `HASH`"},
		&ucli.StringFlag{Name: "bundle", Usage: "stage the bundle `REF`, a file, or the digest or oci:// address of one installed, in place of a project"},
		&ucli.StringFlag{Name: "workdir", Usage: "work in the existing folder `DIR`", DefaultText: "a fresh one beneath ./workdir"},
		&ucli.StringFlag{Name: "workdir-identity", Usage: "refuse unless the work folder has this device and inode, `DEV:INO`"},
		&ucli.StringFlag{Name: "task", Usage: "give the session a task: the bytes of the file `VALUE`, else the text itself"},
		&ucli.StringFlag{Name: "context", Usage: "run tasks under the conversation `ID`"},
		&ucli.StringSliceFlag{Name: "store", Usage: "look for artifacts in `DIR` alone; may be repeated"},
		&ucli.StringFlag{Name: "bind", Usage: "bind the door to `ADDRESS`", Value: "127.0.0.1"},
		&ucli.StringFlag{Name: "containment", Usage: "ask for at least the `CLASS` " + strings.Join(policy.ClassNames(), ", ")},
		&ucli.StringFlag{Name: "system-prompt", Usage: "use `TEXT` as the system prompt; empty for none"},
		&ucli.StringFlag{Name: "lifecycle-task-acceptance", Usage: "override lifecycle.task_acceptance with `WORD`"},
		&ucli.StringFlag{Name: "lifecycle-after-task", Usage: "override lifecycle.after_task with `WORD`"},
		&ucli.StringFlag{Name: "deadline", Usage: "end the session `SECONDS` from now at the latest"},
		&ucli.StringFlag{Name: "case-id", Usage: "record `ID` as the case of a data set"},
		&ucli.StringFlag{Name: "dataset-id", Usage: "record `ID` as the data set"},
		&ucli.BoolFlag{Name: "strict", Usage: "refuse unknown manifest keys"},
		&ucli.BoolFlag{Name: "no-env-file", Usage: "do not read .env"},
		&ucli.BoolFlag{Name: "no-lock-write", Usage: "do not write murmur.lock where there is none"},
		&ucli.BoolFlag{Name: "explain-scope", Usage: "print what the session may reach, and stage nothing"},
		&ucli.BoolFlag{Name: "check", Usage: "make every check, name every refusal, and stage nothing"},
		&ucli.StringFlag{Name: "discard", Usage: "remove the staged, unlaunched session `ID`"},
		cli.JSONFlag(),
	}
	for _, name := range unbuilt {
		out = append(out, &ucli.StringFlag{Name: name, Hidden: true})
	}
	return out
}

// options reads the flags that Stage and Explain share.
func options(c *ucli.Context) (stage.Options, error) {
	o := stage.Options{
		Manifest: c.String("manifest"), Workdir: c.String("workdir"), Context: c.String("context"),
		Stores: c.StringSlice("store"), Bind: c.String("bind"),
		TaskAcceptance: c.String("lifecycle-task-acceptance"), AfterTask: c.String("lifecycle-after-task"),
		CaseID: c.String("case-id"), DatasetID: c.String("dataset-id"),
		Strict: c.Bool("strict"), NoEnvFile: c.Bool("no-env-file"), NoLockWrite: c.Bool("no-lock-write"),
	}
	for _, name := range []string{"manifest", "workdir", "context", "bind", "containment", "lifecycle-task-acceptance", "lifecycle-after-task"} {
		if c.IsSet(name) && strings.TrimSpace(c.String(name)) == "" {
			return o, diag.Usagef("--%s needs a value", name)
		}
	}
	if c.IsSet("task") {
		o.Task = ptr(c.String("task"))
	}
	if c.IsSet("system-prompt") {
		o.SystemPrompt = ptr(strings.TrimSpace(c.String("system-prompt")))
	}
	var err error
	if o.Containment, err = policy.ParseClass(c.String("containment")); err != nil {
		return o, diag.Usagef("--containment: %v", err)
	}
	if o.Capsule, err = capsuleRef(c); err != nil {
		return o, err
	}
	o.CapsuleSHA256 = c.String("capsule-sha256")
	if o.Bundle, err = bundleRef(c); err != nil {
		return o, err
	}
	if c.IsSet("workdir-identity") {
		if o.WorkdirIdentity, err = identity(c.String("workdir-identity")); err != nil {
			return o, diag.Usagef("--workdir-identity: %v", err)
		}
	}
	if c.IsSet("deadline") {
		if o.DeadlineSecs, err = seconds(c.String("deadline")); err != nil {
			return o, diag.Usagef("--deadline: %v", err)
		}
	}
	return o, nil
}

// bundleRef reads --bundle. A bundle is a whole capsule: nothing else says what to
// stage or where artifacts are.
func bundleRef(c *ucli.Context) (string, error) {
	if !c.IsSet("bundle") {
		return "", nil
	}
	for _, name := range []string{"manifest", "capsule", "store"} {
		if c.IsSet(name) {
			return "", diag.Usagef("--bundle and --%s exclude each other", name)
		}
	}
	ref := strings.TrimSpace(c.String("bundle"))
	if ref == "" {
		return "", diag.Usagef("--bundle needs a value")
	}
	return ref, nil
}

// capsuleRef reads --capsule and what stands only beside it.
func capsuleRef(c *ucli.Context) (*artifact.Ref, error) {
	if !c.IsSet("capsule") {
		for _, name := range []string{"capsule-version", "capsule-sha256"} {
			if c.IsSet(name) {
				return nil, diag.Usagef("--%s stands beside --capsule", name)
			}
		}
		return nil, nil
	}
	if c.IsSet("manifest") {
		return nil, diag.Usagef("--capsule and --manifest exclude each other")
	}
	ref, err := artifact.ParseRef(c.String("capsule") + "@" + c.String("capsule-version"))
	if err != nil {
		return nil, diag.Usagef("--capsule and --capsule-version: %v", err)
	}
	if c.IsSet("capsule-sha256") && !lockfile.IsHash(c.String("capsule-sha256")) {
		return nil, diag.Usagef("--capsule-sha256: 64 lower-case hex digits are needed")
	}
	return &ref, nil
}

func identity(text string) (*session.Identity, error) {
	dev, ino, ok := strings.Cut(text, ":")
	d, derr := strconv.ParseUint(dev, 10, 64)
	i, ierr := strconv.ParseUint(ino, 10, 64)
	if !ok || derr != nil || ierr != nil {
		return nil, errors.New("device and inode are needed as two decimal numbers, DEV:INO")
	}
	return &session.Identity{Dev: d, Ino: i}, nil
}

// seconds reads a whole number from 1; what is larger than a deadline can be
// counts as the longest one (SES-174).
func seconds(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-") {
		return 1<<63 - 1, nil
	}
	if err != nil || n < 1 {
		return 0, errors.New("a whole number of seconds from 1 is needed")
	}
	return n, nil
}

func ptr[T any](v T) *T { return &v }
