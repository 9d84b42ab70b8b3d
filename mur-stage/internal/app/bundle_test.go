package app_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/oci"
	"github.com/mur-capsules/mur/lib/workfs"
)

// makeBundle makes a bundle of the project in a directory: bundle FILE DIR
// [PATH...], with the files of PATH; $DIGEST is its digest. Native programs are for
// $PLATFORM where that is set.
func makeBundle(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[1])
	text, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	ts.Check(err)
	m, _, err := manifest.Parse(manifest.FileName, text, manifest.Options{})
	ts.Check(err)
	limits := artifact.LimitsOf(nil)
	parts := bundle.Parts{Manifest: text}
	for _, e := range m.Artifacts {
		if e.Source != "" {
			continue
		}
		ref := artifact.Ref{Full: e.Name, Version: e.Version}
		f, err := store.OfProject(dir, limits).Resolve(context.Background(), ref, artifact.Host())
		ts.Check(err)
		it, err := store.NewItem(f.Bytes, ref, cmp.Or(ts.Getenv("PLATFORM"), artifact.Host()), limits, ref.String())
		ts.Check(err)
		parts.Items = append(parts.Items, it)
		parts.Lock.Entries = append(parts.Lock.Entries, store.Pin(ref, f.SHA256, it.Manifest.Kind, it.Platform))
	}
	for _, p := range args[2:] {
		data, err := os.ReadFile(filepath.Join(dir, p))
		ts.Check(err)
		parts.Files = append(parts.Files, bundle.File{Path: p, Data: data})
	}
	b, err := bundle.Make(parts, bundle.Options{Limits: limits, Host: artifact.Host()})
	ts.Check(err)
	ts.Check(b.WriteFile(ts.MkAbs(args[0])))
	ts.Setenv("DIGEST", b.Digest)
}

// shelve puts a bundle's file into the murmur home: shelve FILE ADDRESS.
func shelve(ts *testscript.TestScript, neg bool, args []string) {
	home, err := workfs.FindHome([]string{"HOME=" + ts.Getenv("HOME"), "MURMUR_HOME=" + ts.Getenv("MURMUR_HOME")})
	ts.Check(err)
	b, err := bundle.ReadFile(ts.MkAbs(args[0]), bundle.Options{Limits: artifact.LimitsOf(nil), Host: artifact.Host()})
	ts.Check(err)
	ts.Check(bundle.ShelfOf(home).Put(context.Background(), b, args[1]))
}

// unused checks that the murmur home keeps a bundle that can be removed.
func unused(ts *testscript.TestScript, neg bool, args []string) {
	home, err := workfs.FindHome([]string{"HOME=" + ts.Getenv("HOME"), "MURMUR_HOME=" + ts.Getenv("MURMUR_HOME")})
	ts.Check(err)
	found, _, err := bundle.ShelfOf(home).Unused(true)
	ts.Check(err)
	if (len(found) > 0) == neg {
		ts.Fatalf("unused: %+v", found)
	}
}

// signAs signs a bundle's file, or an artifact of a directory's project store, with
// a fresh key: sign FILE NAME, sign DIR NAME SCOPE/NAME@VERSION. NAME.pub is the
// key to trust.
func signAs(ts *testscript.TestScript, neg bool, args []string) {
	ctx := context.Background()
	base := ts.MkAbs(args[1])
	_, err := provenance.MakePair(base)
	ts.Check(err)
	key, err := provenance.ReadPrivate(base + ".key")
	ts.Check(err)
	limits := artifact.LimitsOf(nil)
	if len(args) == 3 {
		ref, err := artifact.ParseRef(args[2])
		ts.Check(err)
		s := store.OfProject(ts.MkAbs(args[0]), limits)
		f, err := s.Resolve(ctx, ref, artifact.Host())
		ts.Check(err)
		it, err := store.NewItem(f.Bytes, ref, artifact.Host(), limits, ref.String())
		ts.Check(err)
		envelope, err := provenance.Sign(ctx, key, provenance.Subject{Name: ref.String(), SHA256: f.SHA256})
		ts.Check(err)
		it.Attestations = append(it.Attestations, envelope)
		_, err = s.Put(ctx, it, true)
		ts.Check(err)
		return
	}
	b, err := bundle.ReadFile(ts.MkAbs(args[0]), bundle.Options{Limits: limits, Host: artifact.Host()})
	ts.Check(err)
	envelope, err := provenance.Sign(ctx, key, b.Subject())
	ts.Check(err)
	about, err := oci.Attestation(envelope, b.Content.Describe())
	ts.Check(err)
	b.About = append(b.About, about)
	ts.Check(b.WriteFile(ts.MkAbs(args[0])))
}
