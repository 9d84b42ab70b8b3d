package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// packLarge measures mur-lock pack of 100 MB, half of it incompressible, against
// zip -9 of the same files; both compress as well as they can.
func packLarge(ctx context.Context, w *workshop) ([]Row, error) {
	dir := filepath.Join(w.dir, "large")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	manifest := "name: large\nversion: 1.0.0\nruntime: skill\nrequires_files:\n  - skill.md\n"
	files := []string{"murmur.yaml", "skill.md"}
	for i := range 10 {
		data := make([]byte, 10_000_000)
		rand.Read(data)
		if i%2 == 1 {
			data = []byte(hex.EncodeToString(data[:len(data)/2]))
		}
		name := fmt.Sprintf("data-%d.bin", i)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return nil, err
		}
		manifest += "  - " + name + "\n"
		files = append(files, name)
	}
	if err := os.WriteFile(filepath.Join(dir, "skill.md"), []byte("large"), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "murmur.yaml"), []byte(manifest), 0o644); err != nil {
		return nil, err
	}
	out := filepath.Join(w.dir, "large.mur.zip")
	took, err := median(3, func() error { return w.in(ctx, dir, w.bin("mur-lock"), "pack", "-o", out) })
	if err != nil {
		return nil, err
	}
	row := Row{ID: "P16", What: "pack 100 MB", Value: took, Unit: "ms", Peer: "zip -9", Goal: "1x"}
	if _, err := exec.LookPath("zip"); err != nil {
		row.Peer = "zip is not on this host"
		return []Row{row}, nil
	}
	other := filepath.Join(w.dir, "large.zip")
	peer, err := median(3, func() error {
		if err := os.RemoveAll(other); err != nil {
			return err
		}
		return w.in(ctx, dir, "zip", append([]string{"-q", "-9", other}, files...)...)
	})
	if err != nil {
		return nil, err
	}
	row.PeerValue, row.Ratio = ratio(took, peer)
	row.OK = judged(*row.Ratio <= 1)
	return []Row{row}, nil
}
