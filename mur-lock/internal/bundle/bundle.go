package bundle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/store/oci"
	"github.com/mur-capsules/mur/lib/store/source"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Options of a bundle.
type Options struct {
	From     string // address of one in a registry; "" to make the project's own
	Output   string // absolute path of the file; "" for the default where one is written
	Push     *oci.Base
	Client   *oci.Client
	Progress source.Progress
	Warn     func(diag.Warning)
}

// OptionsOf say how bundles are read here.
func OptionsOf(p *project.Places) bundle.Options {
	return bundle.Options{Limits: p.Limits, Host: p.Host, Running: cli.Version}
}

// Run makes the project's bundle, or fetches another, writes it to a file, and
// pushes it when asked. Without an output a bundle that is pushed is not written.
func Run(ctx context.Context, p *project.Places, o Options) (report.Row, error) {
	b, err := get(ctx, p, o)
	if err != nil {
		return report.Row{}, err
	}
	row := report.Row{Name: b.Name, Version: b.Version, SHA256: strings.TrimPrefix(b.Digest, layout.Prefix), Outcome: report.Bundled, Digest: b.Digest}
	for _, l := range b.Content.Manifest.Layers {
		row.Files = append(row.Files, l.Title())
	}
	output := o.Output
	if output == "" && o.Push == nil {
		output = filepath.Join(p.Dir, b.Name+"-"+b.Version+bundle.Suffix)
	}
	if output != "" {
		if err := b.WriteFile(output); err != nil {
			return row, err
		}
		row.Path = output
		row.Text = fmt.Sprintf("bundled %s@%s: %s (%d files, %s)", b.Name, b.Version, output, len(row.Files), b.Digest)
	}
	if o.Push != nil {
		if row.Source, err = push(ctx, b, o); err != nil {
			return row, err
		}
		row.Text = strings.TrimPrefix(row.Text+fmt.Sprintf("\npushed %s@%s as %s", b.Name, b.Version, row.Source), "\n")
	}
	return row, nil
}

func get(ctx context.Context, p *project.Places, o Options) (*bundle.Bundle, error) {
	if o.From == "" {
		if err := p.Need(); err != nil {
			return nil, err
		}
		parts, err := gather(ctx, p, o.Warn)
		if err != nil {
			return nil, err
		}
		return bundle.Make(parts, OptionsOf(p))
	}
	if !strings.HasPrefix(o.From, oci.Scheme) {
		return bundle.ReadFile(p.Abs(o.From), OptionsOf(p))
	}
	a, err := oci.Parse(o.From)
	if err != nil {
		return nil, err
	}
	return Fetch(ctx, o.Client, a, OptionsOf(p), o.Progress)
}

// Fetch gets the bundle at an address, with what is signed about it.
func Fetch(ctx context.Context, c *oci.Client, a oci.Address, o bundle.Options, progress source.Progress) (*bundle.Bundle, error) {
	content, err := c.Pull(ctx, a, []string{bundle.Type}, o.MaxBytes(), progress)
	if err != nil {
		return nil, oci.Fault(a, err)
	}
	return WithAbout(ctx, c, a, content, o)
}

// WithAbout opens a bundle that was fetched, after fetching what is about it.
func WithAbout(ctx context.Context, c *oci.Client, a oci.Address, content *layout.Content, o bundle.Options) (*bundle.Bundle, error) {
	about, err := c.About(ctx, a, content.Describe())
	if err != nil {
		return nil, oci.Fault(a, err)
	}
	return bundle.Open(content, about, a.String(), o)
}

// push brings a bundle and what is about it to a registry and returns its address
// with its digest.
func push(ctx context.Context, b *bundle.Bundle, o Options) (string, error) {
	to := o.Push.Of(b.Name)
	var err error
	if to.Tag, err = oci.Tag(b.Version, ""); err != nil {
		return "", err
	}
	if err := o.Client.Push(ctx, to, b.Content, o.Progress); err != nil {
		return "", err
	}
	for _, x := range b.About {
		if err := o.Client.Push(ctx, to.Bare(), x, nil); err != nil {
			return "", errors.Join(fmt.Errorf("%s is pushed, and what is signed about it is not", to), err)
		}
	}
	return to.At(b.Digest).String(), nil
}
