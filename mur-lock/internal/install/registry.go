package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store/github"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/store/oci"
	"github.com/mur-capsules/mur/lib/store/source"

	makebundle "github.com/mur-capsules/mur/mur-lock/internal/bundle"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// fromRegistry fetches what an oci:// address leads to. A tag is the version: an
// archive that says another is refused (ART-63).
func (in *installer) fromRegistry(ctx context.Context, text string) (fetched, error) {
	a, err := oci.Parse(text)
	if err != nil {
		return fetched{}, err
	}
	if a.Tag != "" && names.Reserved(a.Tag) {
		return fetched{}, diag.Errorf("E-REG-004", "%s: the version %s is reserved: it names no version", a, diag.Quote(a.Tag)).
			Hint("name the version, or leave the tag away for the newest").
			About(diag.Subject{Kind: diag.Artifact, Name: a.String()}).Name("version", a.Tag)
	}
	opts := makebundle.OptionsOf(in.Places)
	at, content, err := in.remote.Registry.Lookup(ctx, a, []string{oci.ArtifactType, bundle.Type}, in.Host, opts.MaxBytes(), in.progress)
	if err != nil {
		return fetched{}, oci.Fault(a, err)
	}
	if content.Manifest.ArtifactType == bundle.Type {
		b, err := makebundle.WithAbout(ctx, in.remote.Registry, at, content, opts)
		return fetched{bundle: b, from: at.At(content.Digest).String(), asked: a.String()}, err
	}
	got, err := in.remote.Registry.Got(ctx, at, content, in.attested)
	if err != nil {
		return fetched{}, oci.Fault(at, err)
	}
	f, err := in.read(got, source.Want{Name: a.Full(), Platform: in.Host})
	if err != nil || a.Tag == "" {
		return f, err
	}
	for _, p := range []string{"", f.item.Platform} {
		if tag, err := oci.Tag(f.item.Ref.Version, p); err == nil && tag == a.Tag {
			return f, nil
		}
	}
	return fetched{}, source.CheckInner(source.Want{Name: a.Full(), Version: a.Tag}, f.item.Ref.Version, got.From)
}

// fromRelease fetches every archive of a GitHub release.
func (in *installer) fromRelease(ctx context.Context, req artifact.Request) ([]fetched, error) {
	if _, _, err := github.ParseRepo(req.Owner + "/" + req.Repo); err != nil {
		return nil, diag.Errorf("E-IO-003", "%w", err).Name("path", req.Owner+"/"+req.Repo).Name("reason", err.Error())
	}
	all, err := in.remote.Repo(req.Owner, req.Repo).Release(ctx, req.Tag, in.Host, in.progress)
	if err != nil {
		return nil, err
	}
	var out []fetched
	for _, got := range all {
		f, err := in.read(got, source.Want{Platform: in.Host})
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// shelve keeps a bundle in the murmur home, whatever project there is.
func (in *installer) shelve(ctx context.Context, f fetched) report.Row {
	b := f.bundle
	row := report.Row{
		Name: b.Name, Version: b.Version, SHA256: strings.TrimPrefix(b.Digest, layout.Prefix),
		Outcome: report.Installed, Digest: b.Digest, Source: f.from,
	}
	var err error
	if row.SignedBy, err = b.Check(ctx, in.Trust); err != nil {
		return row.Fail(err)
	}
	for _, it := range b.Items {
		if err := it.Archive.Examine(ctx); err != nil {
			return row.Fail(artifact.Fault(it.Ref.String(), err))
		}
	}
	if err := bundle.ShelfOf(in.Home).Put(ctx, b, f.asked); err != nil {
		return row.Fail(err)
	}
	row.Text = fmt.Sprintf("installed the bundle %s@%s into the murmur home (%s); run it: mur-stage --bundle %s", b.Name, b.Version, b.Digest, f.asked)
	return row
}
