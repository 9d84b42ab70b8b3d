package app

import (
	"cmp"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/store/oci"
	"github.com/mur-capsules/mur/lib/store/remote"

	"github.com/mur-capsules/mur/mur-lock/internal/bundle"
	"github.com/mur-capsules/mur/mur-lock/internal/pack"
	"github.com/mur-capsules/mur/mur-lock/internal/precompile"
	"github.com/mur-capsules/mur/mur-lock/internal/progress"
	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

func packCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "pack",
		Usage:     "make an archive of a source directory",
		ArgsUsage: "[<source dir>]\n   mur-lock pack --skill [<name>] <folder or zip>",
		Description: "Packs murmur.yaml and what it lists under requires_files, and nothing else. The same\n" +
			"files give the same bytes. Nothing is compiled.\n\n" +
			"mur-lock pack                                this directory, into <name>-<version>.mur.zip\n" +
			"mur-lock pack tools/scan --output dist/      another one, into a directory\n" +
			"mur-lock pack --skill ./my-skill             a folder with a SKILL.md and no manifest\n" +
			"mur-lock pack --skill review ./x.zip --version 1.2.0 --summary 'How we review'",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "the archive, ending in .mur.zip, or a directory for it"},
			&ucli.BoolFlag{Name: "skill", Usage: "wrap a folder or zip that holds a skill's text; the archive goes to the working directory"},
			&ucli.StringFlag{Name: "version", Usage: "with --skill and no manifest: the version (default 0.1.0)"},
			&ucli.StringFlag{Name: "summary", Usage: "with --skill and no manifest: the description"},
			&ucli.BoolFlag{Name: "strict", Usage: "refuse unknown keys in murmur.yaml"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				return doPack(c, p, warn)
			})
		},
	}
}

func doPack(c *ucli.Context, p *project.Places, warn func(diag.Warning)) (report.Report, error) {
	o := pack.Options{Dir: p.Dir, Strict: c.Bool("strict"), Limits: p.Limits, Warn: warn}
	if out := c.String("output"); out != "" {
		o.Output = p.Abs(out)
	}
	args := c.Args().Slice()
	if !c.Bool("skill") {
		if err := atMost(c, 1); err != nil {
			return report.Report{}, err
		}
		for _, f := range []string{"version", "summary"} {
			if c.IsSet(f) {
				return report.Report{}, diag.Usagef("--%s needs --skill", f)
			}
		}
		o.Source = p.Dir
		if len(args) == 1 {
			o.Source = p.Abs(args[0])
		}
		row, err := pack.Pack(c.Context, o)
		return one(o.Source, row, err)
	}
	defaults := artifact.SkillDefaults{Version: c.String("version"), Summary: c.String("summary")}
	switch len(args) {
	case 1:
	case 2:
		defaults.Name = args[0]
	default:
		return report.Report{}, diag.Usagef("--skill takes a folder or zip, and a name before it if wanted; see --help")
	}
	o.Source = p.Abs(args[len(args)-1])
	row, err := pack.Skill(c.Context, o, defaults)
	return one(o.Source, row, err)
}

func publishCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "publish",
		Usage:     "store an archive in the global store or a registry",
		ArgsUsage: "[<zip>]",
		Description: "A published version is never overwritten.\n\n" +
			"mur-lock publish                             what mur-lock pack made of this project\n" +
			"mur-lock publish dist/scan-0.1.0.mur.zip     any archive, as local/scan@0.1.0\n" +
			"mur-lock publish --scope ana x-1.0.0.mur.zip\n" +
			"mur-lock publish --registry oci://ghcr.io/ana x-1.0.0.mur.zip",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "registry", Usage: "local, oci://<registry>/<path>/<scope>, or a source of config.yaml", Value: "local"},
			scopeFlag(),
			&ucli.StringFlag{Name: "platform", Usage: "the platform of a native program", DefaultText: "this host's"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atMost(c, 1); err != nil {
					return report.Report{}, err
				}
				o := pack.PublishOptions{Scope: c.String("scope"), Platform: c.String("platform")}
				if o.Platform != "" {
					if err := artifact.CheckPlatform(o.Platform); err != nil {
						return report.Report{}, diag.Usagef("--platform: %s", err)
					}
				}
				if c.NArg() == 1 {
					o.Archive = p.Abs(c.Args().First())
				}
				line := progress.On(env.Stderr)
				defer line.Clear()
				var err error
				if o.Registry, err = registryOf(env, c, p, warn, line); err != nil {
					return report.Report{}, err
				}
				row, err := pack.Publish(c.Context, p, o)
				return one(cmp.Or(o.Archive, p.Root), row, err)
			})
		},
	}
}

// registryOf is the registry of --registry, nil for the global store.
func registryOf(env cli.Env, c *ucli.Context, p *project.Places, warn func(diag.Warning), line *progress.Line) (*pack.Registry, error) {
	where := c.String("registry")
	if where == "local" {
		return nil, nil
	}
	if c.IsSet("scope") {
		return nil, diag.Usagef("--scope: in a registry the scope is the last part of its path")
	}
	far, err := openRemote(env, p, warn)
	if err != nil {
		return nil, err
	}
	base, err := placeOf(far, "registry", where)
	if err != nil {
		return nil, err
	}
	return &pack.Registry{Client: far.Registry, Base: base, Progress: line.Report()}, nil
}

// placeOf is the place in a registry that a flag names: a source of config.yaml, or
// an address.
func placeOf(far *remote.Remote, flag, where string) (oci.Base, error) {
	if base, ok := far.Base(where); ok {
		return base, nil
	}
	if !strings.HasPrefix(where, oci.Scheme) {
		return oci.Base{}, diag.Usagef("--%s: %s is neither an oci:// address nor a source of type oci in config.yaml", flag, diag.Quote(where))
	}
	return oci.ParseBase(where)
}

func precompileCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "precompile",
		Usage:     "compile the payloads of archives into the murmur home",
		ArgsUsage: "<zip>...",
		Description: "Staging then compiles nothing. Exits 1 when one can not be compiled, after all were tried.\n\n" +
			"mur-lock precompile dist/scan-0.1.0.mur.zip\n" +
			"mur-lock precompile --json *.mur.zip | jq -r '.artifacts[].outcome'",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "workdir", Usage: "the work folder of the sessions to come; a murmur home inside it keeps no forms"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atLeastOne(c, "an archive"); err != nil {
					return report.Report{}, err
				}
				workdir := c.String("workdir")
				if workdir != "" {
					workdir = p.Abs(workdir)
				}
				var archives []string
				for _, a := range c.Args().Slice() {
					archives = append(archives, p.Abs(a))
				}
				return precompile.Archives(c.Context, p, workdir, archives)
			})
		},
	}
}

func bundleCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "bundle",
		Usage: "make one file, or one artifact of a registry, of the whole capsule",
		Description: "A bundle holds murmur.yaml, murmur.lock, the capsule's own files that murmur.yaml names and\n" +
			"every pinned artifact: all a session runs, and nothing of this host. Every artifact must be\n" +
			"pinned and installed. mur-stage --bundle runs it without a network.\n\n" +
			"mur-lock bundle                              into <name>-<version>.bundle.tar\n" +
			"mur-lock bundle --push oci://ghcr.io/ana     into a registry\n" +
			"mur-lock bundle --from oci://ghcr.io/ana/greeter:1.0.0 -o greeter.bundle.tar",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "the file to write"},
			&ucli.StringFlag{Name: "push", Usage: "push it to oci://<registry>/<path>/<scope>, or to a source of config.yaml"},
			&ucli.StringFlag{Name: "from", Usage: "take this bundle, a file or an oci:// address, and not the project's"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atMost(c, 0); err != nil {
					return report.Report{}, err
				}
				far, err := openRemote(env, p, warn)
				if err != nil {
					return report.Report{}, err
				}
				line := progress.On(env.Stderr)
				defer line.Clear()
				o := bundle.Options{From: c.String("from"), Client: far.Registry, Progress: line.Report(), Warn: warn}
				if out := c.String("output"); out != "" {
					o.Output = p.Abs(out)
				}
				if where := c.String("push"); where != "" {
					base, err := placeOf(far, "push", where)
					if err != nil {
						return report.Report{}, err
					}
					o.Push = &base
				}
				row, err := bundle.Run(c.Context, p, o)
				return one(cmp.Or(o.From, p.Root), row, err)
			})
		},
	}
}
