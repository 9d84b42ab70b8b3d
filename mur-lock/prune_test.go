package main

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/store"
)

// kept is the address a bundle is kept by.
const kept = "oci://registry.example/team/p:0.1.0"

var bundleOptions = bundle.Options{Limits: artifact.LimitsOf(nil), Host: artifact.Host()}

// keepBundle makes the bundle of a project with one skill, and puts it into the
// murmur home as a file with an address, unpacked for sessions too.
func (w *world) keepBundle() {
	w.t.Helper()
	w.run("pack", "../a", "-o", "../a.mur.zip")
	data, err := os.ReadFile(w.dir + "/a.mur.zip")
	if err != nil {
		w.t.Fatal(err)
	}
	ref, _ := artifact.ParseRef("local/a@1.0.0")
	it, err := store.NewItem(data, ref, "", bundleOptions.Limits, "a")
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := bundle.Make(bundle.Parts{
		Manifest: []byte("name: p\nversion: 0.1.0\nartifacts:\n  - {name: local/a, version: 1.0.0, runtime: skill}\n"),
		Lock:     lockfile.Lock{Entries: []lockfile.Entry{store.Pin(ref, it.SHA256, it.Manifest.Kind, "")}},
		Files:    []bundle.File{{Path: "capsule.wasm", Data: []byte("\x00asm\x01\x00\x00\x00")}},
		Items:    []*store.Item{it},
	}, bundleOptions)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx := context.Background()
	s := bundle.ShelfOf(w.home)
	if err := s.Put(ctx, b, kept); err != nil {
		w.t.Fatal(err)
	}
	u, err := s.Unpack(ctx, b, bundleOptions)
	if err != nil {
		w.t.Fatal(err)
	}
	u.Release()
}

// ART-200: what was installed and pinned is there, whoever prunes at the time.
func TestPruneBesideInstalls(t *testing.T) {
	w := newWorld(t, crashable(t))
	w.write("project/murmur.yaml", "name: p\nversion: 0.1.0\n")
	w.run("pack", "../a", "-o", "../a.mur.zip")
	w.run("install", "-g", "../a.mur.zip")
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if out, err := w.command(-1, "prune").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
				return
			}
		}
	})
	for range 25 {
		w.run("install", "--no-precompile", "local/a@1.0.0")
		oneOf(t, "local/a", w.holds(w.project(), "a"), "the text of a")
		w.run("unpin", "local/a")
	}
	close(done)
	wg.Wait()
	w.clean()
}
