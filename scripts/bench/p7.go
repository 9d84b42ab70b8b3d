package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

// turnLine is a line of go test -bench=Turn.
var turnLine = regexp.MustCompile(`BenchmarkTurn/(\d+)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// turn is P7: the loop's own time for a whole turn over histories of two lengths,
// its trace on disk, with a model and a tool that take no time. The package that
// has the loop measures it, since nobody else can take the guests away.
func turn(ctx context.Context, w *workshop) ([]Row, error) {
	out, err := w.output(ctx, nil, "go", "test", "-run", "^$", "-bench", "^BenchmarkTurn$", "-benchtime", "100x", "./mur-launch/internal/agent")
	if err != nil {
		return nil, err
	}
	ms := map[string]float64{}
	for _, m := range turnLine.FindAllStringSubmatch(string(out), -1) {
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		ms[m[1]] = ns / 1e6
	}
	short, long := ms["200"], ms["2000"]
	if short == 0 || long == 0 {
		return nil, fmt.Errorf("the benchmark printed no figures:\n%s", out)
	}
	peer, r := ratio(long, short)
	return []Row{
		{ID: "P7", What: "own time of a turn, history of 200 messages", Value: short, Unit: "ms", Goal: "at most 1 ms", OK: judged(short <= 1)},
		{ID: "P7", What: "the same with 2,000 messages", Value: long, Unit: "ms", Peer: "200 messages", PeerValue: peer, Ratio: r, Goal: "linear: near 10 times, at most 12", OK: judged(*r <= 12)},
	}, nil
}
