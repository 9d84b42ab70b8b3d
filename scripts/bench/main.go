// Command bench measures every figure the project states, with its peers in the
// same run, prints them as a table and writes them as JSON. A figure's id never
// changes its meaning. A peer that is not on this host is named, never left out
// silently.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// Row is one line of the table. Ratio is Value over PeerValue; both are null
// where there is no peer to run, and Peer then says why.
type Row struct {
	ID        string   `json:"id"`
	What      string   `json:"what"`
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"`
	Peer      string   `json:"peer"`
	PeerValue *float64 `json:"peer_value"`
	Ratio     *float64 `json:"ratio"`
	Goal      string   `json:"goal"`
	OK        *bool    `json:"ok"` // null where the goal can not be judged here
}

// figure is one id: what runs it.
type figure struct {
	id  string
	run func(ctx context.Context, w *workshop) ([]Row, error)
}

var figures = []figure{
	{"P1", warmCommand},
	{"P2", firstCommand},
	{"P3", callOverhead},
	{"P4", warmStage},
	{"P5", warmPipeline},
	{"P6", traceReport},
	{"P7", turn},
	{"P8", largeSession},
	{"P9", idleMemory},
	{"P10", standalone},
	{"P11", firstRequest},
	{"P12", traceFilter},
	{"P13", traceAppend},
	{"P14", verifyMany},
	{"P15", installMany},
	{"P16", packLarge},
}

func main() {
	only := flag.String("only", "", "run one figure, such as P4")
	out := flag.String("out", "", "write the rows as JSON to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, only, out string) error {
	var rows []Row
	var err error
	if only == "" {
		rows, err = each(ctx)
	} else {
		rows, err = one(ctx, only)
	}
	if err != nil {
		return err
	}
	print(rows)
	if out == "" {
		return nil
	}
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// one measures a figure.
func one(ctx context.Context, id string) ([]Row, error) {
	i := slices.IndexFunc(figures, func(f figure) bool { return f.id == id })
	if i < 0 {
		return nil, fmt.Errorf("no figure %q", id)
	}
	w, err := newWorkshop()
	if err != nil {
		return nil, err
	}
	defer w.close()
	rows, err := figures[i].run(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	return rows, nil
}

// each measures every figure in a process of its own: what one figure leaves in
// memory would count as the memory of a command that the next one starts
// (getrusage(2), ru_maxrss is kept over execve).
func each(ctx context.Context) ([]Row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mur-bench-rows-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var rows []Row
	for _, f := range figures {
		fmt.Fprintf(os.Stderr, "measuring %s\n", f.id)
		out := filepath.Join(dir, f.id+".json")
		cmd := exec.CommandContext(ctx, self, "-only", f.id, "-out", out)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.id, err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			return nil, err
		}
		var got []Row
		if err := json.Unmarshal(text, &got); err != nil {
			return nil, fmt.Errorf("%s: %w", f.id, err)
		}
		rows = append(rows, got...)
	}
	return rows, nil
}

func print(rows []Row) {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tWHAT\tVALUE\tUNIT\tPEER\tPEER VALUE\tRATIO\tGOAL\tOK")
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join([]string{r.ID, r.What, number(&r.Value), r.Unit, r.Peer, number(r.PeerValue), number(r.Ratio), r.Goal, verdict(r.OK)}, "\t"))
	}
	t.Flush()
}

func number(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *f)
}

func verdict(ok *bool) string {
	switch {
	case ok == nil:
		return "-"
	case *ok:
		return "yes"
	default:
		return "NO"
	}
}
