package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// workshop is where figures are measured: the built commands and a murmur home
// of its own, so that nothing of the user's takes part.
type workshop struct {
	root string // the project
	dir  string // temporary
	env  []string
}

func newWorkshop() (*workshop, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mur-bench-")
	if err != nil {
		return nil, err
	}
	w := &workshop{root: root, dir: dir}
	w.env = append(os.Environ(), "MURMUR_HOME="+filepath.Join(dir, "home"))
	return w, nil
}

func (w *workshop) close() { _ = os.RemoveAll(w.dir) }

// bin is the path of a built command.
func (w *workshop) bin(name string) string { return filepath.Join(w.root, "bin", name) }

// command prepares a command in the workshop's environment.
func (w *workshop) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = w.env
	cmd.Dir = w.root
	return cmd
}

// output runs a command and returns its standard output; a failure carries its
// standard error.
func (w *workshop) output(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
	cmd := w.command(ctx, name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, stderr.Bytes())
	}
	return out, nil
}

// sample is a series of measurements.
type sample []float64

func (s sample) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

// median times f n times and returns the median in milliseconds.
func median(n int, f func() error) (float64, error) {
	took := make(sample, n)
	for i := range took {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(start).Microseconds()) / 1000
	}
	return took.median(), nil
}

// ratio is of a value and its peer's; there is none to a peer of 0.
func ratio(value, peer float64) (peerValue, r *float64) {
	if peer == 0 {
		return &peer, nil
	}
	q := value / peer
	return &peer, &q
}

func judged(ok bool) *bool { return &ok }
