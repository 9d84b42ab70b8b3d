// Package sign signs archives and bundles with a local key (ART-214).
package sign

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/store/oci"
	"github.com/mur-capsules/mur/lib/workfs"

	makebundle "github.com/mur-capsules/mur/mur-lock/internal/bundle"
	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Files signs each archive or bundle; a bundle is told by what it begins with,
// whatever it is called. What the key has signed already is left as it is. The
// error is one of the key.
func Files(ctx context.Context, p *project.Places, keyFile string, files []string) (report.Report, error) {
	key, err := provenance.ReadPrivate(keyFile)
	if err != nil {
		return report.Report{}, err
	}
	var rep report.Report
	for _, path := range files {
		sign := archive
		if bundle.IsFile(path) {
			sign = whole
		}
		row, err := sign(ctx, p, key, path)
		row.Path = path
		if row.Name == "" {
			row.Name = path
		}
		if err != nil {
			rep.Rows = append(rep.Rows, row.Fail(err))
			continue
		}
		row.Outcome, row.SignedBy = report.Signed, []string{key.ID()}
		row.Text = fmt.Sprintf("signed %s@%s (sha256 %s) with %s: %s", row.Name, row.Version, row.SHA256, key.ID(), row.Text)
		rep.Rows = append(rep.Rows, row)
	}
	return rep, nil
}

// by reports whether a key has signed a subject already.
func by(ctx context.Context, key *provenance.PrivateKey, envelopes [][]byte, s provenance.Subject) bool {
	return slices.ContainsFunc(envelopes, func(e []byte) bool {
		id, _ := provenance.Signer(ctx, e, []*provenance.PublicKey{&key.PublicKey}, s)
		return id != ""
	})
}

// archive signs an archive in the file beside it.
func archive(ctx context.Context, p *project.Places, key *provenance.PrivateKey, path string) (report.Row, error) {
	data, err := workfs.ReadFile(path, p.Limits.ArchiveBytes())
	if err != nil {
		return report.Row{}, workfs.Fault(err, "cannot read the archive")
	}
	it, err := store.NewItem(data, artifact.Ref{Full: names.Full{Scope: names.Local}}, p.Host, p.Limits, path)
	if err != nil {
		return report.Row{}, err
	}
	row := report.Row{Name: it.Ref.Full.Name, Version: it.Ref.Version, SHA256: it.SHA256, Text: path + store.SignatureSuffix}
	envelopes, err := project.Beside(path)
	subject := provenance.Subject{Name: it.Ref.Full.Name + "@" + it.Ref.Version, SHA256: it.SHA256}
	if err != nil || by(ctx, key, envelopes, subject) {
		return row, err
	}
	envelope, err := provenance.Sign(ctx, key, subject)
	if err != nil {
		return row, err
	}
	err = workfs.ReplaceFile(path+store.SignatureSuffix, workfs.PublicFile, func(w *workfs.Pending) error {
		_, err := w.Write(append(bytes.Join(append(envelopes, envelope), []byte("\n")), '\n'))
		return err
	})
	return row, workfs.Fault(err, "cannot write the signature")
}

// whole signs a bundle in its own file.
func whole(ctx context.Context, p *project.Places, key *provenance.PrivateKey, path string) (report.Row, error) {
	b, err := bundle.ReadFile(path, makebundle.OptionsOf(p))
	if err != nil {
		return report.Row{}, err
	}
	row := report.Row{Name: b.Name, Version: b.Version, SHA256: strings.TrimPrefix(b.Digest, layout.Prefix), Digest: b.Digest, Text: path}
	var envelopes [][]byte
	for _, a := range b.About {
		envelopes = append(envelopes, a.Layer(0))
	}
	if by(ctx, key, envelopes, b.Subject()) {
		return row, nil
	}
	envelope, err := provenance.Sign(ctx, key, b.Subject())
	if err != nil {
		return row, err
	}
	about, err := oci.Attestation(envelope, b.Content.Describe())
	if err != nil {
		return row, err
	}
	signed := *b
	signed.About = append(slices.Clone(b.About), about)
	return row, signed.WriteFile(path)
}
