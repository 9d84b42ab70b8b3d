package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tools packs n tools of about size bytes each, incompressible, publishes them to
// the workshop's global store without compiling them, and makes a project that
// declares them all. It returns the project's directory.
func (w *workshop) tools(ctx context.Context, name string, n, size int) (string, error) {
	made := filepath.Join(w.dir, name+"-made")
	project := filepath.Join(w.dir, name)
	if err := os.MkdirAll(project, 0o755); err != nil {
		return "", err
	}
	manifest := "name: many\nversion: 1.0.0\nartifacts:\n"
	args := []string{"install", "-g", "--no-precompile"}
	for i := range n {
		tool := fmt.Sprintf("%s-%d", name, i)
		dir := filepath.Join(made, tool)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		text := fmt.Sprintf("name: %s\nversion: 1.0.0\nruntime: tool\nrequires_files: [t.wasm]\n", tool)
		if err := os.WriteFile(filepath.Join(dir, "murmur.yaml"), []byte(text), 0o644); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, "t.wasm"), module(size), 0o644); err != nil {
			return "", err
		}
		archive := filepath.Join(made, tool+".mur.zip")
		if _, err := w.output(ctx, nil, w.bin("mur-lock"), "pack", dir, "-o", archive); err != nil {
			return "", err
		}
		args = append(args, archive)
		manifest += fmt.Sprintf("  - {name: local/%s, version: 1.0.0}\n", tool)
	}
	if err := os.WriteFile(filepath.Join(project, "murmur.yaml"), []byte(manifest), 0o644); err != nil {
		return "", err
	}
	_, err := w.output(ctx, nil, w.bin("mur-lock"), args...)
	return project, err
}

// module is the smallest tool that is a core module, with random bytes in a custom
// section.
func module(size int) []byte {
	filler := make([]byte, size)
	rand.Read(filler)
	wasm := "\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x03\x01\x00\x01" +
		"\x07\x13\x02\x06memory\x02\x00\x06_start\x00\x00" + "\x0a\x04\x01\x02\x00\x0b"
	section := append([]byte{1, 'x'}, filler...)
	return append(append(append([]byte(wasm), 0), binary.AppendUvarint(nil, uint64(len(section)))...), section...)
}

// in runs a command in a directory.
func (w *workshop) in(ctx context.Context, dir, name string, args ...string) error {
	cmd := w.command(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return nil
}

// verifyMany measures mur-lock verify of 1,000 artifacts of 256 KiB against
// sha256sum over the same bytes, both with a warm page cache.
func verifyMany(ctx context.Context, w *workshop) ([]Row, error) {
	const n = 1000
	project, err := w.tools(ctx, "verify", n, 256<<10)
	if err != nil {
		return nil, err
	}
	lock := w.bin("mur-lock")
	if err := w.in(ctx, project, lock, "install", "--no-precompile"); err != nil {
		return nil, err
	}
	took, err := median(5, func() error { return w.in(ctx, project, lock, "verify") })
	if err != nil {
		return nil, err
	}
	row := Row{ID: "P14", What: fmt.Sprintf("verify %d artifacts of 256 KiB", n), Value: took, Unit: "ms", Peer: "sha256sum", Goal: "1.2x"}
	if _, err := exec.LookPath("sha256sum"); err != nil {
		row.Peer = "sha256sum is not on this host"
		return []Row{row}, nil
	}
	peer, err := median(5, func() error {
		return w.in(ctx, project, "sh", "-c", "find .murmur/artifacts -name '*.mur.zip' -print0 | xargs -0 sha256sum")
	})
	if err != nil {
		return nil, err
	}
	row.PeerValue, row.Ratio = ratio(took, peer)
	row.OK = judged(*row.Ratio <= 1.2)
	return []Row{row}, nil
}
