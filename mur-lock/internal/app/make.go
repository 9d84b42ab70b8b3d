package app

import (
	"cmp"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-lock/internal/pack"
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
		Usage:     "store an archive in the global store",
		ArgsUsage: "[<zip>]",
		Description: "A published version is never overwritten.\n\n" +
			"mur-lock publish                             what mur-lock pack made of this project\n" +
			"mur-lock publish dist/scan-0.1.0.mur.zip     any archive, as local/scan@0.1.0\n" +
			"mur-lock publish --scope ana x-1.0.0.mur.zip",
		Flags: []ucli.Flag{
			scopeFlag(),
			&ucli.StringFlag{Name: "platform", Usage: "the platform of a native program (default: this host's)", DefaultText: " "},
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
				row, err := pack.Publish(c.Context, p, o)
				return one(cmp.Or(o.Archive, p.Root), row, err)
			})
		},
	}
}
