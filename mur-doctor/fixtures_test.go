package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// coreGuest is the smallest core module that can be a guest: it exports a memory
// and a _start that does nothing.
var coreGuest = bytes.Join([][]byte{
	{0, 'a', 's', 'm', 1, 0, 0, 0},
	{1, 4, 1, 0x60, 0, 0}, // type 0: () -> ()
	{3, 2, 1, 0},          // function 0 has type 0
	{5, 3, 1, 0, 1},       // a memory of one page
	{7, 19, 2, // exports
		6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0,
		6, '_', 's', 't', 'a', 'r', 't', 0, 0},
	{10, 4, 1, 2, 0, 0x0b}, // its body is empty
}, nil)

// put packs dir and stores it in the project store of root under scope, whatever
// stands there.
func put(root, scope, dir string) error {
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

// write writes files beneath dir; those that end in .wasm and say "core" are the
// smallest guest.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		data := []byte(text)
		if filepath.Ext(name) == ".wasm" && text == "core" {
			data = coreGuest
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeGuest is the command "wasm FILE", putScript "publish SCOPE DIR".
func writeGuest(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(write(ts.MkAbs("."), map[string]string{args[0]: "core"}))
}

func putScript(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(put(ts.MkAbs("."), args[0], ts.MkAbs(args[1])))
}
