package app

import (
	"path/filepath"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/page"
	"github.com/mur-capsules/mur/mur-trace/internal/record"
)

func htmlCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "html",
		Usage:     "write a session as one self-contained page",
		ArgsUsage: "[address]",
		Description: "mur-trace html > session.html\n" +
			"mur-trace html @2 -o session.html      readable by you alone",
		Flags: append(placeFlags(), &ucli.StringFlag{Name: "o", Usage: "write to this `file` instead of standard output"}),
		Action: func(c *ucli.Context) error {
			t, err := oneTrace(env, c)
			if err != nil {
				return err
			}
			r, err := record.Load(t, record.Options{})
			if err != nil {
				return err
			}
			defer r.Close()
			note(env, c, r)
			path := c.String("o")
			if path == "" {
				return page.Write(env.Stdout, r)
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(env.Dir, path)
			}
			err = workfs.ReplaceFile(path, workfs.PrivateFile, func(p *workfs.Pending) error { return page.Write(p, r) })
			return workfs.Fault(err, "cannot write the page")
		},
	}
}
