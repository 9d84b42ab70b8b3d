package app

import (
	"fmt"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/provenance"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
	"github.com/mur-capsules/mur/mur-lock/internal/sign"
)

func signCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "sign",
		Usage:     "sign archives and bundles with a local key",
		ArgsUsage: "<zip or bundle>...",
		Description: "An archive's signature is written beside it, as <zip>.sig.jsonl, and goes with it when it\n" +
			"is published or installed; a bundle's is written into its file. The format is in-toto in a\n" +
			"DSSE envelope. Who trusts whom is trust in the global config.yaml.\n\n" +
			"mur-lock sign --key ana.key scan-0.1.0.mur.zip\n" +
			"mur-lock sign --key ana.key greeter-1.0.0.bundle.tar",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "key", Usage: "the private key, a PEM file", Required: true},
			cli.JSONFlag(),
		},
		Action: func(c *ucli.Context) error {
			return run(env, c, func(p *project.Places, warn func(diag.Warning)) (report.Report, error) {
				if err := atLeastOne(c, "an archive or bundle"); err != nil {
					return report.Report{}, err
				}
				var files []string
				for _, a := range c.Args().Slice() {
					files = append(files, p.Abs(a))
				}
				return sign.Files(c.Context, p, p.Abs(c.String("key")), files)
			})
		},
	}
}

func keyCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "key",
		Usage:     "make a key pair to sign with",
		ArgsUsage: "<name>",
		Description: "Writes <name>.key, the secret, and <name>.pub, for whoever trusts it. Neither replaces a\n" +
			"file. Keys of openssl genpkey -algorithm ed25519 do as well.\n\n" +
			"mur-lock key ana",
		Action: func(c *ucli.Context) error {
			if err := atLeastOne(c, "a name"); err != nil {
				return err
			}
			if err := atMost(c, 1); err != nil {
				return err
			}
			p, err := project.Find(env)
			if err != nil {
				return err
			}
			base := p.Abs(c.Args().First())
			id, err := provenance.MakePair(base)
			if err != nil {
				return inPhase(c, err)
			}
			_, err = fmt.Fprintf(env.Stdout, "made %s.key and %s.pub (%s)\n", base, base, id)
			return err
		},
	}
}
