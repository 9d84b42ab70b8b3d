package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Subject is what a signature of the bundle is about.
func (b *Bundle) Subject() provenance.Subject {
	return provenance.Subject{Name: "local/" + b.Name + "@" + b.Version, SHA256: hexOf(b.Digest)}
}

// Check tells which trusted keys signed the bundle, and fails when a signature is
// demanded and there is none (ART-217).
func (b *Bundle) Check(ctx context.Context, t provenance.Trust) ([]string, error) {
	var envelopes [][]byte
	for _, a := range b.About {
		envelopes = append(envelopes, a.Layer(0))
	}
	return t.Check(ctx, t.Bundles, envelopes, b.Subject())
}

func sorted(files []File) []File {
	out := slices.Clone(files)
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// MaxBytes bounds a bundle's bytes.
func (o Options) MaxBytes() int64 { return o.Limits.ArchiveBytes() + layout.MaxManifest }

// Encode is the bundle's file: an OCI image layout in a tar.
func (b *Bundle) Encode() ([]byte, error) {
	var buf bytes.Buffer
	err := layout.WriteTar(&buf, b.Content, b.About)
	return buf.Bytes(), err
}

// Decode reads the bytes of a bundle's file. what names it in messages. The error
// is Open's.
func Decode(data []byte, what string, o Options) (*Bundle, error) {
	content, about, err := layout.ReadTar(bytes.NewReader(data), o.MaxBytes())
	if err != nil {
		return nil, diag.Errorf("E-REG-101", "%s is no bundle that can be used: %w", what, err).
			About(diag.Subject{Kind: diag.Artifact, Name: what}).
			Name("bundle", what).Name("digest", "").Name("reason", err.Error())
	}
	return Open(content, about, what, o)
}

// IsFile tells whether the file at path is called as a bundle's is, or begins as
// one's does: as a tar.
func IsFile(path string) bool {
	if strings.HasSuffix(path, Suffix) {
		return true
	}
	dir, err := workfs.OpenRoot(filepath.Dir(path), workfs.Options{Plain: true})
	if err != nil {
		return false
	}
	defer dir.Close()
	f, err := dir.Open(filepath.Base(path))
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head[257:262]) == "ustar"
}

// ReadFile reads a bundle from a file. A missing one is E-IO-001.
func ReadFile(path string, o Options) (*Bundle, error) {
	data, err := workfs.ReadFile(path, 2*o.MaxBytes())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.Errorf("E-IO-001", "there is no bundle %s", path).
			About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path).Name("what was looked for", "a bundle")
	}
	if err != nil {
		return nil, workfs.Fault(err, "cannot read the bundle")
	}
	return Decode(data, path, o)
}

// WriteFile writes a bundle to path, all or nothing.
func (b *Bundle) WriteFile(path string) error {
	data, err := b.Encode()
	if err != nil {
		return err
	}
	err = workfs.ReplaceFile(path, workfs.PublicFile, func(p *workfs.Pending) error {
		_, err := p.Write(data)
		return err
	})
	return workfs.Fault(err, "cannot write the bundle "+path)
}
