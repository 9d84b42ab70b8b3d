package main

import (
	"context"
	"os"
	"path/filepath"
)

// example builds, packs and pins examples/repo-report once and returns its
// manifest.
func (w *workshop) example(ctx context.Context) (string, error) {
	dir := filepath.Join(w.root, "examples", "repo-report")
	_, err := w.output(ctx, nil, "sh", filepath.Join(dir, "build.sh"))
	return filepath.Join(dir, "murmur.yaml"), err
}

// source is a small folder of source code for the example to report on: a copy,
// since the report is written into it.
func (w *workshop) source() (string, error) {
	dir := filepath.Join(w.dir, "source")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, os.CopyFS(dir, os.DirFS(filepath.Join(w.root, "lib", "diag")))
}

// stage stages the example over the source and returns the document.
func (w *workshop) stage(ctx context.Context, manifest string) ([]byte, error) {
	source, err := w.source()
	if err != nil {
		return nil, err
	}
	return w.output(ctx, nil, w.bin("mur-stage"), "--manifest", manifest, "--workdir", source)
}

// warmStage is P4: the whole mur-stage process over the example, with its
// compiled forms on disk; beside it the first one, which compiles.
func warmStage(ctx context.Context, w *workshop) ([]Row, error) {
	manifest, err := w.example(ctx)
	if err != nil {
		return nil, err
	}
	run := func() error {
		_, err := w.stage(ctx, manifest)
		return err
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "home", "compiled")); err != nil {
		return nil, err
	}
	cold, err := median(1, run)
	if err != nil {
		return nil, err
	}
	warm, err := median(31, run)
	if err != nil {
		return nil, err
	}
	nothing, err := median(31, func() error {
		_, err := w.output(ctx, nil, w.bin("mur-stage"), "--version")
		return err
	})
	if err != nil {
		return nil, err
	}
	peer, r := ratio(warm, nothing)
	coldPeer, coldRatio := ratio(cold, warm)
	return []Row{
		{ID: "P4", What: "mur-stage of the example, warm, whole process", Value: warm, Unit: "ms", Peer: "mur-stage --version", PeerValue: peer, Ratio: r, Goal: "at most 60 ms", OK: judged(warm <= 60)},
		{ID: "P4", What: "the same with an empty compile cache", Value: cold, Unit: "ms", Peer: "warm", PeerValue: coldPeer, Ratio: coldRatio, Goal: "printed"},
	}, nil
}
