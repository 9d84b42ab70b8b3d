package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/trace/tracegen"
	"github.com/mur-capsules/mur/lib/workfs"
)

// traceBytes is the size of the generated set; MUR_BENCH_TRACE_MB sets another.
func traceBytes() int64 {
	if mb, err := strconv.ParseInt(os.Getenv("MUR_BENCH_TRACE_MB"), 10, 64); err == nil && mb > 0 {
		return mb << 20
	}
	return 1 << 30
}

// sessionBytes is the size of one generated session: 10 MB is a long day's.
const sessionBytes = 10 << 20

// traceSet makes the set once for all figures.
func traceSet(w *workshop) (dir string, files []string, err error) {
	dir = filepath.Join(w.dir, "traces")
	if _, err := os.Stat(dir); err != nil {
		if _, err := tracegen.Set(dir, traceBytes(), sessionBytes, 1); err != nil {
			return "", nil, err
		}
	}
	files, err = filepath.Glob(filepath.Join(dir, "*", trace.FileName))
	return dir, files, err
}

// run is one run of a program: how long, and its most memory in MiB.
type run struct{ seconds, mib float64 }

func (w *workshop) run(ctx context.Context, name string, args ...string) (run, error) {
	cmd := w.command(ctx, name, args...)
	cmd.Stdout = io.Discard
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return run{}, fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, stderr.String())
	}
	r := run{seconds: time.Since(start).Seconds()}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.mib = float64(u.Maxrss) / 1024
	}
	return r, nil
}

// best is the quickest of n runs, and the most memory any took.
func (w *workshop) best(ctx context.Context, n int, name string, args ...string) (run, error) {
	var out run
	for i := range n {
		r, err := w.run(ctx, name, args...)
		if err != nil {
			return out, err
		}
		if i == 0 || r.seconds < out.seconds {
			out.seconds = r.seconds
		}
		out.mib = max(out.mib, r.mib)
	}
	return out, nil
}

// gojqVersion is the newest version whose own command can be built with nothing
// but released modules; mur-trace filter uses a later one as its engine.
const gojqVersion = "v0.12.17"

// gojq builds the engine's own command; "" and why when it can not be had.
func (w *workshop) gojq(ctx context.Context) (path, why string) {
	path = filepath.Join(w.dir, "gojq")
	if _, err := os.Stat(path); err == nil {
		return path, ""
	}
	cmd := w.command(ctx, "go", "install", "github.com/itchyny/gojq/cmd/gojq@"+gojqVersion)
	cmd.Env = append(cmd.Env, "GOBIN="+w.dir)
	if err := cmd.Run(); err != nil {
		return "", "gojq (can not be built here)"
	}
	return path, ""
}

// jqPeers are the programs a figure of traces is held against.
func (w *workshop) jqPeers(ctx context.Context) (found map[string]string, missing []string) {
	found = map[string]string{}
	if jq, err := exec.LookPath("jq"); err == nil {
		found["jq"] = jq
	} else {
		missing = append(missing, "jq (not on this host)")
	}
	if path, why := w.gojq(ctx); why == "" {
		found["gojq"] = path
	} else {
		missing = append(missing, why)
	}
	return found, missing
}

// against makes a row for each peer, the same work in all, and one for memory.
func (w *workshop) against(ctx context.Context, id, what string, ours run, goalTimes float64, args []string) ([]Row, error) {
	rows := []Row{{ID: id, What: what + ", most memory", Value: ours.mib, Unit: "MiB", Goal: "< 64", OK: judged(ours.mib < 64)}}
	found, missing := w.jqPeers(ctx)
	for _, name := range []string{"jq", "gojq"} {
		path, ok := found[name]
		if !ok {
			continue
		}
		peer, err := w.run(ctx, path, args...)
		if err != nil {
			return nil, err
		}
		r := Row{ID: id, What: what, Value: ours.seconds, Unit: "s", Peer: name}
		r.PeerValue, r.Ratio = ratio(ours.seconds, peer.seconds)
		if name == "jq" {
			r.Goal = fmt.Sprintf("%g times as fast", goalTimes)
			r.OK = judged(ours.seconds*goalTimes <= peer.seconds)
		}
		rows = append(rows, r)
	}
	for _, m := range missing {
		rows = append(rows, Row{ID: id, What: what, Value: ours.seconds, Unit: "s", Peer: m})
	}
	return rows, nil
}

// reportInJQ computes, per session and over all, what `report` does but for
// redundant calls, whose rules jq would need far longer for.
const reportInJQ = `
def stats: length as $n | (add / $n) as $m |
  {mean: $m, stddev: ((map(. - $m | . * .) | add / $n) | sqrt), min: min, max: max, n: $n};
[reduce inputs as $e ({};
  ($e.session_id) as $s
  | if $e.event_type == "session_end" then .[$s].end = $e
    elif $e.event_type == "tool_call" then (if $e.status == "ok" then .[$s].ok += 1 else .[$s].bad += 1 end)
    elif $e.event_type == "task_end" then .[$s].tasks += [[$e.turns, $e.input_tokens, $e.output_tokens, $e.duration_ms]]
    else . end)
 | to_entries[] | select(.value.end) | .value]
| {turns: (map(.end.total_turns) | stats), duration_ms: (map(.end.duration_ms) | stats),
   input_tokens: (map(.end.total_input_tokens) | stats), output_tokens: (map(.end.total_output_tokens) | stats),
   tool_calls: (map(.end.total_tool_calls) | stats), tool_success_rate: (map(.ok / (.ok + .bad)) | stats),
   shell_calls: (map(.end.total_shell_calls) | stats), exit_status: (group_by(.end.exit_status) | map({(.[0].end.exit_status): length}) | add),
   tasks: ([.[].tasks[]] | {turns: (map(.[0]) | stats), input_tokens: (map(.[1]) | stats), output_tokens: (map(.[2]) | stats), duration_ms: (map(.[3]) | stats)})}`

// traceReport is P6: statistics over a set of sessions.
func traceReport(ctx context.Context, w *workshop) ([]Row, error) {
	dir, files, err := traceSet(w)
	if err != nil {
		return nil, err
	}
	ours, err := w.best(ctx, 3, w.bin("mur-trace"), "report", "--records", dir, "--json")
	if err != nil {
		return nil, err
	}
	rows, err := w.against(ctx, "P6", fmt.Sprintf("mur-trace report, %d sessions, %d MB", len(files), traceBytes()>>20), ours, 10,
		append([]string{"-n", reportInJQ}, files...))
	if err != nil {
		return nil, err
	}
	show, err := traceShow(ctx, w)
	return append(rows, show...), err
}

// traceShow measures one very long session, as text.
func traceShow(ctx context.Context, w *workshop) ([]Row, error) {
	dir := filepath.Join(w.dir, "long")
	if _, _, err := tracegen.Session(dir, 200<<20, 1); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ours, err := w.best(ctx, 3, w.bin("mur-trace"), "show", "--records", dir)
	if err != nil {
		return nil, err
	}
	return []Row{
		{ID: "P6", What: "mur-trace show, one session of 200 MB", Value: ours.seconds, Unit: "s", Goal: "< 1", OK: judged(ours.seconds < 1)},
		{ID: "P6", What: "mur-trace show, one session of 200 MB, most memory", Value: ours.mib, Unit: "MiB", Goal: "< 100", OK: judged(ours.mib < 100)},
	}, nil
}

// traceFilter is P12: a filter that wants one kind of event.
func traceFilter(ctx context.Context, w *workshop) ([]Row, error) {
	_, files, err := traceSet(w)
	if err != nil {
		return nil, err
	}
	args := append([]string{"filter", "--type", "shell"}, files...)
	ours, err := w.best(ctx, 3, w.bin("mur-trace"), append(args, ".exit_code")...)
	if err != nil {
		return nil, err
	}
	return w.against(ctx, "P12", fmt.Sprintf("mur-trace filter --type shell, %d MB", traceBytes()>>20), ours, 5,
		append([]string{"-c", `select(.event_type == "shell") | .exit_code`}, files...))
}

// traceAppend is P13: what one event costs its writer.
func traceAppend(_ context.Context, w *workshop) ([]Row, error) {
	dir := filepath.Join(w.dir, "append")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	records, err := workfs.OpenRoot(dir, workfs.Options{})
	if err != nil {
		return nil, err
	}
	defer records.Close()
	log, err := trace.Create(records, trace.Options{SessionID: ids.New(ids.Session)})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	owner := log.Owner("http")
	if err := owner.Start(tracegen.Example("session_start").(trace.SessionStart), nil); err != nil {
		return nil, err
	}
	call := tracegen.Example("tool_call").(trace.ToolCall)
	call.Input = trace.Raw(`{"path":"src/main.go","text":"` + strings.Repeat("func main() { return } ", 40) + `"}`)
	const n = 20000
	start := time.Now()
	for range n {
		if _, err := owner.Write(call); err != nil {
			return nil, err
		}
	}
	chained := float64(time.Since(start).Microseconds()) / n

	plain, err := os.OpenFile(filepath.Join(dir, "plain.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	start = time.Now()
	for range n {
		line, err := json.Marshal(call)
		if err != nil {
			return nil, err
		}
		if _, err := plain.Write(append(line, '\n')); err != nil {
			return nil, err
		}
	}
	bare := float64(time.Since(start).Microseconds()) / n
	r := Row{ID: "P13", What: "append one event of 1.3 KB, chained and locked", Value: chained, Unit: "µs", Peer: "its fields without chain and lock", Goal: "< 20", OK: judged(chained < 20)}
	r.PeerValue, r.Ratio = ratio(chained, bare)
	return []Row{r}, nil
}
