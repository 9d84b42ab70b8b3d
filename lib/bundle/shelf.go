package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Shelf is where a murmur home keeps bundles: beneath bundles/, each as the file
// <hex>.tar and, unpacked for sessions, as the directory <hex>; and in refs/ which
// digest an address stood for when it was fetched. Who writes a bundle there, or
// stages it, holds a shared lock on <hex>.guard; who removes it, an exclusive one.
type Shelf struct{ home workfs.Home }

// ShelfOf is the shelf of a home; it creates nothing.
func ShelfOf(home workfs.Home) Shelf { return Shelf{home} }

const (
	shelfDir = "bundles"
	refsDir  = "refs"

	fileSuffix  = ".tar"
	guardSuffix = ".guard"
	goneSuffix  = ".removing" // an unpacked bundle that nobody looks for any more
	refsGuard   = refsDir + guardSuffix
)

func (s Shelf) options() workfs.Options { return workfs.Options{Plain: true} }

func hexOf(digest string) string { return strings.TrimPrefix(digest, layout.Prefix) }

// refName is the file that says what an address stood for.
func refName(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return refsDir + "/" + hex.EncodeToString(sum[:])
}

// Put keeps a bundle, under an address too when ref is not empty.
func (s Shelf) Put(ctx context.Context, b *Bundle, ref string) error {
	data, err := b.Encode()
	if err != nil {
		return err
	}
	dir, err := s.home.Open(shelfDir, s.options())
	if err != nil {
		return err
	}
	defer dir.Close()
	hold, err := dir.Share(ctx, hexOf(b.Digest)+guardSuffix)
	if err != nil {
		return workfs.Fault(err, "cannot keep the bundle")
	}
	defer hold.Unlock()
	err = dir.WriteFile(hexOf(b.Digest)+fileSuffix, data)
	if err == nil && ref != "" {
		err = writeRef(ctx, dir, ref, b.Digest)
	}
	return workfs.Fault(err, "cannot keep the bundle")
}

// writeRef remembers what an address stands for. Whoever removes an address reads
// it under the same guard, so none is removed that leads elsewhere by now.
func writeRef(ctx context.Context, dir *workfs.Root, ref, digest string) error {
	guard, err := dir.Lock(ctx, refsGuard)
	if err != nil {
		return err
	}
	defer guard.Unlock()
	return dir.WriteFile(refName(ref), []byte(digest+"\n"))
}

// readRef reads the digest an address leads to, "" when the file holds none.
func readRef(dir *workfs.Root, rel string) (string, error) {
	text, err := dir.ReadFile(rel, 256)
	if digest := strings.TrimSpace(string(text)); err == nil && layout.IsDigest(digest) {
		return digest, nil
	}
	return "", err
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
		digest, err = readRef(dir, refName(ref))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, absent()
		}
		if err != nil {
			return nil, workfs.Fault(err, "cannot read the murmur home's bundles")
		}
		if digest == "" {
			return nil, absent()
		}
	}
	name := hexOf(digest) + fileSuffix
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

// Unpacked is a bundle laid out as a project directory. Nobody removes it before
// it is released.
type Unpacked struct {
	Dir  string
	hold *workfs.Lock
}

// Release lets the directory be removed, unless a session's document names the
// bundle by then. The zero Unpacked has nothing to release.
func (u *Unpacked) Release() {
	if u.hold != nil {
		u.hold.Unlock()
		u.hold = nil
	}
}

// Unpack lays a bundle out as a project directory in the murmur home, with its
// artifacts in that project's store. Files that are there with the right bytes are
// left alone, all others are replaced, each at once; so it is safe to call again,
// and by several processes. It waits for who removes the bundle, until ctx ends.
// The caller releases what is returned.
func (s Shelf) Unpack(ctx context.Context, b *Bundle, o Options) (*Unpacked, error) {
	u, err := s.hold(ctx, b)
	if err != nil {
		return nil, workfs.Fault(err, "cannot unpack the bundle "+b.Digest)
	}
	if err := u.fill(ctx, s, b, o); err != nil {
		u.Release()
		return nil, err
	}
	return u, nil
}

func (s Shelf) hold(ctx context.Context, b *Bundle) (*Unpacked, error) {
	dir, err := s.home.Open(shelfDir, s.options())
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	hold, err := dir.Share(ctx, hexOf(b.Digest)+guardSuffix)
	return &Unpacked{hold: hold}, err
}

func (u *Unpacked) fill(ctx context.Context, s Shelf, b *Bundle, o Options) error {
	dir, err := s.home.Open(shelfDir+"/"+hexOf(b.Digest), s.options())
	if err != nil {
		return err
	}
	defer dir.Close()
	u.Dir = dir.Path()
	files := append([]File{{manifest.FileName, b.ManifestText}, {lockfile.FileName, b.LockText}}, b.Files...)
	for _, f := range files {
		if have, err := dir.ReadFile(f.Path, int64(len(f.Data))+1); err == nil && bytes.Equal(have, f.Data) {
			continue
		}
		if err := dir.WriteFile(f.Path, f.Data); err != nil {
			return workfs.Fault(err, fmt.Sprintf("cannot unpack the bundle %s", b.Digest))
		}
	}
	kept := store.OfProject(dir.Path(), o.Limits)
	for _, it := range b.Items {
		have, err := kept.Resolve(ctx, it.Ref, it.Platform)
		if err == nil && have.SHA256 == it.SHA256 {
			continue
		}
		if _, err := kept.Put(ctx, it, true); err != nil {
			return err
		}
	}
	return nil
}
