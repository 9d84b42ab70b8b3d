package app_test

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// makeBundle makes a bundle of the project in a directory: bundle FILE DIR
// [PATH...], with the files of PATH; $DIGEST is its digest.
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
		it, err := store.NewItem(f.Bytes, ref, artifact.Host(), limits, ref.String())
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
	ts.Check(bundle.ShelfOf(home).Put(b, args[1]))
}
