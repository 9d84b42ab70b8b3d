package bundle

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store"
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

// Shelf is where a murmur home keeps bundles: beneath bundles/, each as the file
// <hex>.tar and, unpacked for sessions, as the directory <hex>; and in refs/ which
// digest an address stood for when it was fetched.
type Shelf struct{ home workfs.Home }

// ShelfOf is the shelf of a home; it creates nothing.
func ShelfOf(home workfs.Home) Shelf { return Shelf{home} }

const (
	shelfDir = "bundles"
	refsDir  = "refs"
)

func (s Shelf) options() workfs.Options { return workfs.Options{Plain: true} }

func hexOf(digest string) string { return strings.TrimPrefix(digest, layout.Prefix) }

// refName is the file that says what an address stood for.
func refName(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return refsDir + "/" + hex.EncodeToString(sum[:])
}

// Put keeps a bundle, under an address too when ref is not empty.
func (s Shelf) Put(b *Bundle, ref string) error {
	data, err := b.Encode()
	if err != nil {
		return err
	}
	dir, err := s.home.Open(shelfDir, s.options())
	if err != nil {
		return err
	}
	defer dir.Close()
	err = dir.WriteFile(hexOf(b.Digest)+".tar", data)
	if err == nil && ref != "" {
		err = dir.WriteFile(refName(ref), []byte(b.Digest+"\n"))
	}
	return workfs.Fault(err, "cannot keep the bundle")
}

// Find reads the bundle that ref names: a digest, an address with a digest, or an
// address as it was fetched by. An unknown one is E-REG-001. No network is asked.
func (s Shelf) Find(ref string, o Options) (*Bundle, error) {
	absent := func() error {
		return diag.Errorf("E-REG-001", "the murmur home has no bundle %s", diag.Quote(ref)).
			Hint("fetch it first: mur-lock install %s", ref).
			About(diag.Subject{Kind: diag.Artifact, Name: ref}).Name("name@version", ref)
	}
	dir, err := s.home.OpenExisting(shelfDir, s.options())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent()
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	digest := ref
	if i := strings.LastIndex(ref, "@"); i >= 0 {
		digest = ref[i+1:]
	}
	if !layout.IsDigest(digest) {
		text, err := dir.ReadFile(refName(ref), 256)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, absent()
		}
		if err != nil {
			return nil, workfs.Fault(err, "cannot read the murmur home's bundles")
		}
		if digest = strings.TrimSpace(string(text)); !layout.IsDigest(digest) {
			return nil, absent()
		}
	}
	name := hexOf(digest) + ".tar"
	data, err := dir.ReadFile(name, 2*o.MaxBytes())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent()
	}
	if err != nil {
		return nil, workfs.Fault(err, "cannot read the murmur home's bundles")
	}
	b, err := Decode(data, dir.Join(name), o)
	if err == nil && b.Digest != digest {
		err = diag.Errorf("E-REG-002", "%s is not the bundle it is called by: expected %s, actual %s", dir.Join(name), digest, b.Digest).
			Hint("fetch it again: mur-lock install %s", ref).
			About(diag.Subject{Kind: diag.Artifact, Name: ref}).Name("name@version", ref).
			Name("record", dir.Join(name)).Name("expected", digest).Name("actual", b.Digest)
	}
	return b, err
}

// Unpack lays a bundle out as a project directory in the murmur home, with its
// artifacts in that project's store, and returns the directory. Files that are
// there with the right bytes are left alone, all others are replaced, each at
// once; so it is safe to call again, and by several processes.
func (s Shelf) Unpack(ctx context.Context, b *Bundle, o Options) (string, error) {
	dir, err := s.home.Open(shelfDir+"/"+hexOf(b.Digest), s.options())
	if err != nil {
		return "", err
	}
	defer dir.Close()
	files := append([]File{{manifest.FileName, b.ManifestText}, {lockfile.FileName, b.LockText}}, b.Files...)
	for _, f := range files {
		if have, err := dir.ReadFile(f.Path, int64(len(f.Data))+1); err == nil && bytes.Equal(have, f.Data) {
			continue
		}
		if err := dir.WriteFile(f.Path, f.Data); err != nil {
			return "", workfs.Fault(err, fmt.Sprintf("cannot unpack the bundle %s", b.Digest))
		}
	}
	kept := store.OfProject(dir.Path(), o.Limits)
	for _, it := range b.Items {
		have, err := kept.Resolve(ctx, it.Ref, it.Platform)
		if err == nil && have.SHA256 == it.SHA256 {
			continue
		}
		if _, err := kept.Put(ctx, it, true); err != nil {
			return "", err
		}
	}
	return dir.Path(), nil
}
