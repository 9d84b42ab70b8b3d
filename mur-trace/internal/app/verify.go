package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/render"
	"github.com/mur-capsules/mur/mur-trace/internal/verify"
)

func verifyCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "verify",
		Usage:     "check that a record is the one that was sealed",
		ArgsUsage: "[address]",
		Description: "exits 0 verified, 1 changed, 3 unsealed, 4 unverifiable, 5 absent\n\n" +
			"mur-trace verify\n" +
			"mur-trace verify ./evidence/ses_.../ --public-key host.pub --blobs --json",
		Flags: append(placeFlags(), cli.JSONFlag(), plainFlag(),
			&ucli.StringFlag{Name: "public-key", Usage: "the `file` with the sealing host's public key (default: this host's)"},
			&ucli.BoolFlag{Name: "blobs", Usage: "check the stored bodies too"},
			&ucli.BoolFlag{Name: "invariants", Usage: "check what the trace's writers promise of it"},
		),
		Action: func(c *ucli.Context) error { return runVerify(env, c) },
	}
}

func runVerify(env cli.Env, c *ucli.Context) error {
	dir, err := recordsDir(env, c)
	if err != nil {
		return err
	}
	key, err := publicKey(env, c.String("public-key"))
	if err != nil {
		return err
	}
	res, err := verify.Record(dir, verify.Options{Key: key, Blobs: c.Bool("blobs"), Invariants: c.Bool("invariants")})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		enc := json.NewEncoder(env.Stdout)
		enc.SetEscapeHTML(false)
		err = enc.Encode(res)
	} else {
		err = verify.Text(render.NewText(env.Stdout, c.Bool("plain"), env.Getenv), res)
	}
	switch {
	case err != nil:
		return err
	case res.Verdict == verify.Changed:
		return res.Err()
	default:
		return exit(res.Verdict.ExitStatus())
	}
}

// recordsDir is the directory to verify: an address's records, or a directory
// given by path even when no trace is left in it.
func recordsDir(env cli.Env, c *ucli.Context) (string, error) {
	if c.NArg() > 1 {
		return "", diag.Usagef("one record at a time; see --help")
	}
	f, err := finder(env, c)
	if err != nil {
		return "", err
	}
	address := "@1"
	if c.NArg() == 1 {
		address = c.Args().First()
	}
	if addr, err := session.ParseAddress(address); err == nil {
		if path, ok := addr.Path(); ok && filepath.Base(path) == trace.FileName {
			address = filepath.Dir(path) + "/" // verify what lies beside it too
		}
	}
	t, err := f.Find(address)
	if err != nil {
		return "", err
	}
	if t.RecordsDir == "" {
		return "", diag.Errorf("E-TRC-002", "%s is no records directory", diag.Quote(address)).
			Hint("verify a session, a records directory, or the trace.jsonl in one").Name("selector", address)
	}
	return t.RecordsDir, nil
}

// publicKey reads the key a seal is checked with: the file named, else this
// host's, else none (TRC-179).
func publicKey(env cli.Env, path string) (trace.PublicKey, error) {
	named := path != ""
	if !named {
		home, err := workfs.FindHome(env.Environ)
		if err != nil {
			return nil, nil
		}
		path = home.Join(trace.KeyDir + "/" + trace.PublicFile)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, workfs.Fault(err, "cannot read the public key")
	}
	key, err := trace.ParsePublicKey(text)
	if err != nil {
		return nil, diag.Errorf("E-IO-003", "the public key %s can not be used: %w", path, err).
			About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path).Name("reason", fmt.Sprint(err)).
			Hint("a key is the content of a %s: 64 hex digits", strings.TrimPrefix(trace.PublicFile, "/"))
	}
	return key, nil
}
