package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// metric is one figure of a Go benchmark: "2.058 sealed-ms".
var metric = regexp.MustCompile(`([\d.]+) ([a-z-]+)-ms`)

// commands runs a benchmark of commands in a session: the package that serves
// them measures, with its peers in turns. The figures are milliseconds.
func (w *workshop) commands(ctx context.Context, name, times string) (map[string]float64, error) {
	out, err := w.output(ctx, nil, "go", "test", "-run", "^$", "-bench", "^Benchmark"+name+"$", "-benchtime", times, "./mur-shell/internal/serve")
	if err != nil {
		return nil, err
	}
	ms := map[string]float64{}
	for _, m := range metric.FindAllStringSubmatch(string(out), -1) {
		if ms[m[2]], err = strconv.ParseFloat(m[1], 64); err != nil {
			return nil, err
		}
	}
	if len(ms) == 0 {
		return nil, fmt.Errorf("the benchmark printed no figures:\n%s", out)
	}
	return ms, nil
}

const absent = " (not on this host)"

// warmCommand is P1: a command in a running session over the same command alone;
// beside it what bubblewrap and runc add to it.
func warmCommand(ctx context.Context, w *workshop) ([]Row, error) {
	ms, err := w.commands(ctx, "Peers", "200x")
	if err != nil {
		return nil, err
	}
	bare := ms["bare"]
	rows := []Row{{ID: "P1", What: "the command alone", Value: bare, Unit: "ms", Goal: "printed"}}
	for _, class := range []string{"scoped", "sealed"} {
		over := ms[class] - bare
		row := Row{ID: "P1", What: "added by a warm " + class + " session", Value: over, Unit: "ms", Peer: "bwrap --unshare-all" + absent, Goal: "at most 1.5 ms and a third of bubblewrap's", OK: judged(over <= 1.5)}
		if b := ms["bwrap"]; b > 0 {
			row.Peer = "bwrap --unshare-all"
			row.PeerValue, row.Ratio = ratio(over, b-bare)
			row.OK = judged(over <= 1.5 && *row.Ratio <= 1.0/3)
		}
		rows = append(rows, row)
	}
	row := Row{ID: "P1", What: "the same, sealed", Value: ms["sealed"] - bare, Unit: "ms", Peer: "runc run" + absent, Goal: "printed"}
	if r := ms["runc"]; r > 0 {
		row.Peer = "runc run"
		row.PeerValue, row.Ratio = ratio(row.Value, r-bare)
	}
	return append(rows, row), nil
}

// firstCommand is P2: the first sealed command of a session.
func firstCommand(ctx context.Context, w *workshop) ([]Row, error) {
	ms, err := w.commands(ctx, "First", "30x")
	if err != nil {
		return nil, err
	}
	return []Row{
		{ID: "P2", What: "first sealed command of a session", Value: ms["first"], Unit: "ms", Goal: "under 60 ms", OK: judged(ms["first"] < 60)},
		{ID: "P2", What: "the same with the start of mur-shell serve", Value: ms["whole"], Unit: "ms", Goal: "printed"},
	}, nil
}

// largeSession is P8: a warm command with 1,000 grants, and over a work folder of
// 280,000 files.
func largeSession(ctx context.Context, w *workshop) ([]Row, error) {
	ms, err := w.commands(ctx, "Large", "200x")
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, class := range []string{"scoped", "sealed"} {
		for key, what := range map[string]string{"grants": "with 1,000 grants", "files": "in a work folder of 280,000 files"} {
			row := Row{ID: "P8", What: "warm " + class + " command " + what, Value: ms[class+"-"+key], Unit: "ms", Peer: "with neither", Goal: "ratio at most 1.1"}
			row.PeerValue, row.Ratio = ratio(row.Value, ms[class])
			row.OK = judged(*row.Ratio <= 1.1)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// standalone is P10: the whole of mur-shell run, and the whole of bubblewrap.
func standalone(_ context.Context, w *workshop) ([]Row, error) {
	work := filepath.Join(w.dir, "standalone")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	ours := func(class string) func() error {
		return func() error {
			cmd := exec.Command(w.bin("mur-shell"), "run", "--containment", class, "--", "true")
			cmd.Dir, cmd.Env = work, w.env
			return cmd.Run()
		}
	}
	bwrap, err := exec.LookPath("bwrap")
	peer := func() error {
		return exec.Command(bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", work, work, "true").Run()
	}
	var scoped, sealed, theirs sample
	for range 60 {
		for _, c := range []struct {
			into *sample
			run  func() error
			skip bool
		}{{&scoped, ours("scoped"), false}, {&theirs, peer, err != nil}, {&sealed, ours("sealed"), false}} {
			if c.skip {
				continue
			}
			ms, err := median(1, c.run)
			if err != nil {
				return nil, err
			}
			*c.into = append(*c.into, ms)
		}
	}
	rows := []Row{
		{ID: "P10", What: "mur-shell run -- true, scoped, whole process", Value: scoped.median(), Unit: "ms", Peer: "bwrap --unshare-all" + absent, Goal: "under 25 ms and at most bubblewrap's", OK: judged(scoped.median() < 25)},
		{ID: "P10", What: "the same, sealed", Value: sealed.median(), Unit: "ms", Peer: "scoped", Goal: "printed"},
	}
	rows[1].PeerValue, rows[1].Ratio = ratio(sealed.median(), scoped.median())
	if len(theirs) > 0 {
		rows[0].Peer = "bwrap --unshare-all"
		rows[0].PeerValue, rows[0].Ratio = ratio(scoped.median(), theirs.median())
		rows[0].OK = judged(scoped.median() < 25 && *rows[0].Ratio <= 1)
	}
	return rows, nil
}
