package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

// files makes n traces of different lengths and returns them and all their
// text together.
func files(t *testing.T, n int) ([]source.Trace, string) {
	t.Helper()
	dir := t.TempDir()
	var traces []source.Trace
	var all strings.Builder
	for i := range n {
		var text strings.Builder
		fmt.Fprintf(&text, `{"event_type":"session_start","session_id":"s%d","n":%d}`+"\n", i, i)
		for j := range (i*37)%400 + 1 {
			fmt.Fprintf(&text, `{"event_type":"x","session_id":"s%d","file":%d,"line":%d,"pad":%q}`+"\n", i, i, j, strings.Repeat("p", j%700))
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", i))
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		traces = append(traces, source.Trace{Path: path})
		all.WriteString(text.String())
	}
	return traces, all.String()
}

func filter(t *testing.T, expression string, traces []source.Trace, pre Prefilter) (string, string, Outcome, error) {
	t.Helper()
	x, err := Compile(expression)
	if err != nil {
		t.Fatal(err)
	}
	return run(x, traces, pre)
}

func run(x *Expression, traces []source.Trace, pre ...Prefilter) (string, string, Outcome, error) {
	var out, errs bytes.Buffer
	f := Filter{Expression: x, Out: &out, Err: &errs}
	if len(pre) > 0 {
		f.Prefilter = pre[0]
	}
	got, err := f.Run(context.Background(), traces)
	return out.String(), errs.String(), got, err
}

// TRC-171, TRC-173, TRC-206: files are read on every core and printed in order.
func TestFilterKeepsTheOrder(t *testing.T) {
	traces, all := files(t, 60)
	for range 3 {
		for _, expression := range []string{".", "select(true)"} {
			if out, errs, got, err := filter(t, expression, traces, Prefilter{}); out != all || errs != "" || err != nil || !got.True {
				t.Fatalf("%s: %d bytes of %d, %q, %v", expression, len(out), len(all), errs, err)
			}
		}
	}
	out, _, _, err := filter(t, "[$session.n, .file, $index]", traces, Prefilter{Types: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var n, file, index int
		if _, err := fmt.Sscanf(line, "[%d,%d,%d]", &n, &file, &index); err != nil || n != file || index < 1 {
			t.Fatalf("line %d: %s", i, line)
		}
	}
}

// A fault ends the filter where it stands: what came before is printed.
func TestFilterStopsInOrder(t *testing.T) {
	traces, all := files(t, 40)
	traces[20].Path = filepath.Join(t.TempDir(), "nothing.jsonl")
	out, _, _, err := filter(t, ".", traces, Prefilter{})
	if diag.CodeOf(err) != "E-IO-001" || !strings.HasPrefix(all, out) || !strings.Contains(out, `"file":19`) || strings.Contains(out, `"file":21`) {
		t.Fatalf("%v after %d bytes", err, len(out))
	}
	traces, _ = files(t, 40)
	out, errs, got, err := filter(t, `if .file == 7 then ("enough" | halt_error(3)) else .n end`, traces, Prefilter{})
	if err != nil || !got.Halted || got.Status != 3 || strings.TrimSpace(errs) != "enough" || strings.Contains(out, "8") {
		t.Fatalf("%+v %q %v %s", got, errs, err, out)
	}
	x, err := Compile(".")
	if err != nil {
		t.Fatal(err)
	}
	f := Filter{Expression: x, Out: failing{}, Err: failing{}}
	if _, err := f.Run(context.Background(), traces); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Run(ctx, traces); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }
