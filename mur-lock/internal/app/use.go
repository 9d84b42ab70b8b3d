package app

import (
	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-lock/internal/install"
	"github.com/mur-capsules/mur/mur-lock/internal/pins"
	"github.com/mur-capsules/mur/mur-lock/internal/progress"
	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

func installCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "install",
		Usage:     "bring artifacts into the project store and pin them",
		ArgsUsage: "[<scope>/<name>[@<version>] | oci://<address> | github:<owner>/<repo>@<tag> | <path>]...",
		Description: "Without arguments everything murmur.yaml declares is installed. Artifacts come from the\n" +
			"project store, the global store, the sources of config.yaml, a registry or a path; what is\n" +
			"installed by path is not pinned. What is stored already is not fetched again.\n\n" +
			"mur-lock install                             all this project declares\n" +
			"mur-lock install local/scan@0.1.0            one, by name and version\n" +
			"mur-lock install local/scan                  the newest the stores have\n" +
			"mur-lock install oci://ghcr.io/ana/scan:0.1.0\n" +
			"mur-lock install ./dist/scan-0.1.0.mur.zip   a file, as local/scan\n" +
			"mur-lock install -g ./scan-0.1.0.mur.zip     into the global store",
		Flags: []ucli.Flag{
			globalFlag("install into the global store and pin nothing"), scopeFlag(),
			&ucli.BoolFlag{Name: "no-precompile", Usage: "compile nothing; the first staging does"},
			&ucli.BoolFlag{Name: "all-platforms", Usage: "fetch every platform's variant of the references from the sources into the global store"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				far, err := openRemote(env, p, warn)
				if err != nil {
					return report.Report{}, err
				}
				line := progress.On(env.Stderr)
				defer line.Clear()
				run := install.Install
				if c.Bool("all-platforms") {
					if err := atLeastOne(c, "a reference"); err != nil {
						return report.Report{}, err
					}
					run = install.AllPlatforms
				}
				return run(c.Context, p, install.Options{
					Args: c.Args().Slice(), Global: c.Bool("global"), Scope: c.String("scope"),
					Remote: far, Progress: line.Report(), Precompile: !c.Bool("no-precompile"),
					Warn: func(w diag.Warning) { line.Clear(); warn(w) },
				})
			})
		},
	}
}

func verifyCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "verify",
		Usage: "compare murmur.yaml, murmur.lock and the stores",
		Description: "Changes nothing. Exits 1 when anything differs.\n\n" +
			"mur-lock verify\n" +
			"mur-lock verify --json | jq '.artifacts[] | select(.error)'",
		Flags: []ucli.Flag{cli.JSONFlag()},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atMost(c, 0); err != nil {
					return report.Report{}, err
				}
				if _, err := openRemote(env, p, warn); err != nil {
					return report.Report{}, err
				}
				return pins.Verify(c.Context, p, warn)
			})
		},
	}
}

func pinCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "pin",
		Usage:     "pin what the stores hold, without fetching",
		ArgsUsage: "<scope>/<name>@<version>...",
		Description: "Also adopts what a session pulled.\n\n" +
			"mur-lock pin local/scan@0.1.0\n" +
			"mur-lock pin --update local/scan@0.2.0       accept another version or other bytes",
		Flags: []ucli.Flag{
			&ucli.BoolFlag{Name: "update", Usage: "accept another version or hash than the one pinned"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atLeastOne(c, "a reference"); err != nil {
					return report.Report{}, err
				}
				return pins.Pin(c.Context, p, c.Args().Slice(), c.Bool("update"))
			})
		},
	}
}

func unpinCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:        "unpin",
		Usage:       "remove entries from murmur.lock",
		ArgsUsage:   "<scope>/<name>...",
		Description: "The stores keep what they hold.\n\nmur-lock unpin local/scan",
		Flags:       []ucli.Flag{cli.JSONFlag()},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atLeastOne(c, "a name"); err != nil {
					return report.Report{}, err
				}
				return pins.Unpin(c.Context, p, c.Args().Slice())
			})
		},
	}
}

func listCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "list",
		Usage: "list what a store holds",
		Description: "mur-lock list                                the project store\n" +
			"mur-lock list -g                             the global store\n" +
			"mur-lock list --all --contract murmur:tool/  tools in both, whatever their version",
		Flags: []ucli.Flag{
			globalFlag("list the global store"),
			&ucli.BoolFlag{Name: "all", Usage: "list both stores, with a column that says which"},
			&ucli.StringFlag{Name: "contract", Usage: "only artifacts with an interface whose name begins so"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atMost(c, 0); err != nil {
					return report.Report{}, err
				}
				if c.Bool("global") && c.Bool("all") {
					return report.Report{}, diag.Usagef("--global and --all exclude each other")
				}
				return pins.List(c.Context, p, pins.ListOptions{
					Global: c.Bool("global"), All: c.Bool("all"), Contract: c.String("contract"),
				})
			})
		},
	}
}

func diffCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "diff",
		Usage: "tell what an install would change, and why",
		Description: "Changes nothing and asks no network.\n\n" +
			"mur-lock diff\n" +
			"mur-lock diff --exit-code || mur-lock install",
		Flags: []ucli.Flag{
			&ucli.BoolFlag{Name: "exit-code", Usage: "exit 1 when anything would change"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			changed := false
			err := run(env, c, func(p *project.Places, warn func(diag.Warning)) (rep report.Report, err error) {
				if err := atMost(c, 0); err != nil {
					return report.Report{}, err
				}
				rep, changed, err = pins.Diff(c.Context, p)
				return rep, err
			})
			if err == nil && changed && c.Bool("exit-code") {
				return cli.Exit(diag.ExitError)
			}
			return err
		},
	}
}

func pruneCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "prune",
		Usage: "take out of the project store what is neither declared nor pinned, or free unused bundles",
		Description: "What a session that runs or can be launched uses stays. The global store, which other\n" +
			"projects use too, is left alone. With --bundles it is the murmur home's bundles that are\n" +
			"looked through, and the project is not: what was unpacked goes, which a staging unpacks\n" +
			"again, and files no address leads to; with --all every bundle that no session uses.\n\n" +
			"mur-lock prune --dry-run\n" +
			"mur-lock prune\n" +
			"mur-lock prune --bundles\n" +
			"mur-lock prune --bundles --all               those installed by an address too",
		Flags: []ucli.Flag{
			&ucli.BoolFlag{Name: "bundles", Usage: "free what the murmur home keeps of bundles that no session uses"},
			&ucli.BoolFlag{Name: "all", Usage: "with --bundles: also bundles an address leads to, which then must be installed again"},
			&ucli.BoolFlag{Name: "dry-run", Usage: "only tell what would be pruned"},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atMost(c, 0); err != nil {
					return report.Report{}, err
				}
				switch {
				case c.Bool("bundles"):
					return pins.PruneBundles(c.Context, p, c.Bool("all"), c.Bool("dry-run"))
				case c.Bool("all"):
					return report.Report{}, diag.Usagef("--all needs --bundles")
				}
				return pins.Prune(c.Context, p, c.Bool("dry-run"))
			})
		},
	}
}
