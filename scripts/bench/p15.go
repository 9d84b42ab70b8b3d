package main

import (
	"context"
	"os"
	"path/filepath"
)

// installMany measures mur-lock install of 50 artifacts of 1 MiB: warm, when the
// project store has them, and from the global store.
func installMany(ctx context.Context, w *workshop) ([]Row, error) {
	project, err := w.tools(ctx, "install", 50, 1<<20)
	if err != nil {
		return nil, err
	}
	install := func() error { return w.in(ctx, project, w.bin("mur-lock"), "install") }
	if err := install(); err != nil { // compiles
		return nil, err
	}
	warm, err := median(5, install)
	if err != nil {
		return nil, err
	}
	copied, err := median(3, func() error {
		if err := os.RemoveAll(filepath.Join(project, ".murmur")); err != nil {
			return err
		}
		return install()
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		{ID: "P15", What: "warm install of 50 artifacts of 1 MiB", Value: warm, Unit: "ms", Peer: "none", Goal: "500 ms", OK: judged(warm <= 500)},
		{ID: "P15", What: "the same from the global store, synced to disk", Value: copied, Unit: "ms", Peer: "none"},
	}, nil
}
