package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/spend"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
	"github.com/mur-capsules/mur/mur-launch/internal/model/tokens"
)

// BenchmarkTurn is P7: a whole turn of the loop with a history of so many
// messages, its lines in a real trace, and a model and a tool that take no time.
// What is not in it: the driver, its engine, and what the tool does.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchTurns(b, n) })
	}
}

func benchTurns(b *testing.B, history int) {
	counter := tokens.New(func(string, error) {})
	root, err := workfs.OpenRoot(b.TempDir(), workfs.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	log, err := trace.Create(root, trace.Options{SessionID: "ses_1"})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	t := tracer{log.Owner("http")}
	start := trace.SessionStart{EffectiveGrants: trace.Raw(`{"declared_containment":"advisory","achieved_containment":"advisory"}`)}
	if err := t.Owner.Start(start, nil); err != nil {
		b.Fatal(err)
	}
	var messages []Message
	for i := range history {
		messages = append(messages, NewUser(fmt.Sprintf("message %d: %s", i, strings.Repeat("some words of it ", 12)), ""))
	}
	// An earlier turn has counted them, and one more message behind them.
	messages = append(messages, NewUser("x", ""))
	newRequests(frame(), counter).occupancy(messages)
	messages = messages[:history]
	w := newWorld(b)
	w.ask = says(calls("1"))
	parts := Parts{
		Model: w, Spend: spend.NewMeter(nil, nil, nil), Desk: instant{}, Trace: t, Sink: silent{}, Counter: counter,
		Mask: func(s string) string { return s }, Warn: func(diag.Warning) {},
	}
	b.ResetTimer()
	out := Run(context.Background(), parts, frame(), Task{ID: "tsk_1", Text: "go", History: messages, MaxTurns: int64(b.N)})
	b.StopTimer()
	if out.Status != MaxTurns || out.Turns != int64(b.N) {
		b.Fatalf("%+v", out)
	}
}

type tracer struct{ *trace.Owner }

func (t tracer) Write(p trace.Payload) error { _, err := t.Owner.Write(p); return err }
func (t tracer) WriteTurn(l trace.Inference, b *trace.Bodies) error {
	_, err := t.Owner.WriteTurn(l, b)
	return err
}

type instant struct{}

func (instant) Resolve(dispatch.Call) dispatch.Target { return dispatch.Target{Kind: dispatch.Guest} }
func (instant) Dispatch(context.Context, dispatch.Target, dispatch.Call) dispatch.Answer {
	return dispatch.Answer{Text: "a result", Fence: "tool:t"}
}

type silent struct{}

func (silent) Turn(int64)                        {}
func (silent) Chunk(wasmhost.ChunkKind, string)  {}
func (silent) End()                              {}
func (silent) Answered(TurnReport)               {}
func (silent) Artifact(name, fence, text string) {}
func (silent) Final(string)                      {}
