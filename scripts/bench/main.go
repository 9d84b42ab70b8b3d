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
	"os/signal"
	"path/filepath"
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
	w, err := newWorkshop()
	if err != nil {
		return err
	}
	defer w.close()
	rows := []Row{}
	known := false
	for _, f := range figures {
		if only != "" && f.id != only {
			continue
		}
		known = true
		fmt.Fprintf(os.Stderr, "measuring %s\n", f.id)
		got, err := f.run(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", f.id, err)
		}
		rows = append(rows, got...)
	}
	if !known {
		return fmt.Errorf("no figure %q", only)
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
