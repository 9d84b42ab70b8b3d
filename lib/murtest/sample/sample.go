// Package sample has what the tests of commands make projects of: the smallest
// guest, and an artifact that is packed and stored as mur-lock would. It is for
// tests alone and asks no network.
package sample

import (
	"bytes"
	"context"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// CoreGuest is the smallest core module that can be a guest: it exports a memory
// and a _start that does nothing. Nobody may change it.
var CoreGuest = bytes.Join([][]byte{
	{0, 'a', 's', 'm', 1, 0, 0, 0},
	{1, 4, 1, 0x60, 0, 0}, // type 0: () -> ()
	{3, 2, 1, 0},          // function 0 has type 0
	{5, 3, 1, 0, 1},       // a memory of one page
	{7, 19, 2, // exports
		6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0,
		6, '_', 's', 't', 'a', 'r', 't', 0, 0},
	{10, 4, 1, 2, 0, 0x0b}, // its body is empty
}, nil)

// Publish packs the artifact in dir and stores it in the project store of root
// under scope, by the name and version of its manifest, whatever stands there.
func Publish(root, scope, dir string) error {
	limits := artifact.LimitsOf(nil)
	held, err := workfs.OpenRoot(dir, workfs.Options{Plain: true})
	if err != nil {
		return err
	}
	defer held.Close()
	text, err := held.ReadFile(manifest.FileName, 0)
	if err != nil {
		return err
	}
	m, _, err := manifest.ParseArtifact(dir, text, manifest.ArtifactOptions{})
	if err != nil {
		return err
	}
	plan, err := artifact.PlanPack(held, text, m, filepath.Join(dir, "out.mur.zip"), limits)
	if err != nil {
		return err
	}
	data, err := plan.Build(limits)
	if err != nil {
		return err
	}
	item, err := store.NewItem(data, artifact.Ref{Full: names.Full{Scope: scope}}, artifact.Host(), limits, dir)
	if err != nil {
		return err
	}
	_, err = store.OfProject(root, limits).Put(context.Background(), item, true)
	return err
}
