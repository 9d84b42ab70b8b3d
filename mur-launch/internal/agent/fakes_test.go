package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/spend"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
	"github.com/mur-capsules/mur/mur-launch/internal/model/tokens"
)

// world is all an attempt works with, played by the test.
type world struct {
	t      testing.TB
	ask    func(turn int, request string, chunk func(wasmhost.ChunkKind, string)) (Reply, error)
	answer func(dispatch.Call) dispatch.Answer
	target func(dispatch.Call) dispatch.Target
	gate   func(dispatch.Call) *Denial
	meter  *spend.Meter
	broken string // the type of line that can not be written
	fatal  error
	cancel context.CancelFunc

	requests []string
	lines    []trace.Payload
	recorded []Message
	shown    []string
	warned   []diag.Warning
	asked    []string // order of what was called
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, meter: spend.NewMeter(nil, nil, func(error) {})}
	w.answer = func(c dispatch.Call) dispatch.Answer {
		return dispatch.Answer{Text: "result of " + c.ID, Fence: "tool:" + c.Name}
	}
	w.target = func(dispatch.Call) dispatch.Target { return dispatch.Target{Kind: dispatch.Guest} }
	return w
}

func (w *world) run(task Task) Outcome {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.cancel = cancel
	counter := tokens.New(func(string, error) {})
	p := Parts{
		Model: w, Spend: w.meter, Desk: w, Trace: w, Sink: w, Record: w, Counter: counter,
		Mask:  func(s string) string { return strings.ReplaceAll(s, "sk-secret", "[redacted]") },
		Fatal: func() error { return w.fatal }, Warn: func(d diag.Warning) { w.warned = append(w.warned, d) },
	}
	if w.gate != nil {
		p.Gate = w
	}
	if task.MaxTurns == 0 {
		task.MaxTurns = 10
	}
	return Run(ctx, p, frame(), task)
}

func frame() Frame {
	return Frame{Model: "m", MaxTokens: 100, System: "be good", Tools: json.RawMessage(`[{"name":"t"}]`), CacheKey: "c:1"}
}

func (w *world) Ask(_ context.Context, request string, chunk func(wasmhost.ChunkKind, string)) (Reply, error) {
	w.asked = append(w.asked, "ask")
	w.requests = append(w.requests, request)
	return w.ask(len(w.requests)-1, request, chunk)
}

func (w *world) Resolve(c dispatch.Call) dispatch.Target { return w.target(c) }

func (w *world) Dispatch(_ context.Context, _ dispatch.Target, c dispatch.Call) dispatch.Answer {
	w.asked = append(w.asked, "dispatch "+c.ID)
	return w.answer(c)
}

func (w *world) Check(_ context.Context, _ dispatch.Target, c dispatch.Call) *Denial {
	w.asked = append(w.asked, "gate "+c.ID)
	return w.gate(c)
}

func (w *world) Write(p trace.Payload) error {
	if string(p.Type()) == w.broken {
		return errors.New("disk full")
	}
	w.lines = append(w.lines, p)
	w.asked = append(w.asked, string(p.Type()))
	return nil
}

func (w *world) WriteTurn(line trace.Inference, b *trace.Bodies) error {
	if len(b.Messages) != len(line.MessageIDs) {
		w.t.Errorf("%d bodies for %d ids", len(b.Messages), len(line.MessageIDs))
	}
	return w.Write(line)
}

func (w *world) Turn(n int64) { w.shown = append(w.shown, fmt.Sprint("turn ", n)) }
func (w *world) Chunk(k wasmhost.ChunkKind, s string) {
	w.shown = append(w.shown, fmt.Sprint("chunk ", k, s))
}
func (w *world) End()                              { w.shown = append(w.shown, "end") }
func (w *world) Answered(TurnReport)               {}
func (w *world) Artifact(name, fence, text string) { w.shown = append(w.shown, "artifact "+fence) }
func (w *world) Final(text string)                 { w.shown = append(w.shown, "final "+text) }
func (w *world) Append(m []Message)                { w.recorded = append(w.recorded, m...) }
func (w *world) types() (out string) {
	for _, l := range w.lines {
		out += " " + string(l.Type())
	}
	return strings.TrimSpace(out)
}

// says is a driver that answers with bodies in turn.
func says(bodies ...string) func(int, string, func(wasmhost.ChunkKind, string)) (Reply, error) {
	return func(turn int, _ string, _ func(wasmhost.ChunkKind, string)) (Reply, error) {
		return Reply{Body: bodies[min(turn, len(bodies)-1)]}, nil
	}
}

func done(text string) string {
	return fmt.Sprintf(`{"stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, text)
}

func calls(ids ...string) string {
	blocks := []string{`{"type":"text","text":"I try"}`}
	for _, id := range ids {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_call","id":%q,"name":"t","input":{"b":1,"a":"<&>"}}`, id))
	}
	return `{"stop_reason":"tool_call","content":[` + strings.Join(blocks, ",") + `]}`
}

// line finds the only line of a type.
func line[T trace.Payload](w *world) (found T) {
	w.t.Helper()
	n := 0
	for _, l := range w.lines {
		if x, ok := l.(T); ok {
			found, n = x, n+1
		}
	}
	if n != 1 {
		w.t.Errorf("%d lines %T in %s", n, found, w.types())
	}
	return found
}
