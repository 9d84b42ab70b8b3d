package install

import (
	"context"
	"errors"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store/github"
	"github.com/mur-capsules/mur/lib/store/oci"
	"github.com/mur-capsules/mur/lib/store/source"
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
	got, err := in.remote.Registry.Get(ctx, a, in.Host, in.Limits, in.attested, in.progress)
	if err != nil {
		return fetched{}, named(ctx, a, err)
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

// named gives what a registry said the code of a single place asked: E-REG-001 or
// E-REG-006 (ART-62).
func named(ctx context.Context, a oci.Address, err error) error {
	var absent *source.AbsentError
	switch {
	case diag.CodeOf(err) != "" || ctx.Err() != nil:
		return err
	case errors.As(err, &absent):
		return diag.Errorf("E-REG-001", "there is no %s: %w", a, err).
			About(diag.Subject{Kind: diag.Artifact, Name: a.String()}).Name("name@version", a.String())
	}
	return diag.Errorf("E-REG-006", "%s: the registry did not answer: %w", a, err).
		Hint("try again later, or install what a store or a file has").
		About(diag.Subject{Kind: diag.Artifact, Name: a.String()}).Name("artifact", a.String()).Name("answers", err.Error())
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
