package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/spend"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// The endings of an attempt (AGT-78, SES-194).
const (
	OK              = "ok"
	Failed          = "failed"
	MaxTurns        = "max_turns_reached"
	SpendCeiling    = "spend_ceiling_reached"
	Canceled        = "canceled"
	canceledMessage = "canceled: the task was stopped before it was done"
)

// Outcome is how an attempt ended.
type Outcome struct {
	Status string
	Result string // what out/result.txt holds
	Reason string // why, for every status but ok
	Turns  int64  // it used
	// Coded is the specific diagnostic of the ending, when one applies.
	Coded *diag.Error
	// Fatal has ended the session, not this task alone.
	Fatal error
}

// failure is why an attempt failed.
type failure struct {
	cause  string // of task_failed (TRC-23)
	code   string // of the inference line, for a failed call
	reason string
	status int
	coded  *diag.Error
}

// Task is what an attempt works on. ID is empty for the run without a task.
type Task struct {
	ID       string
	History  []Message // what the context held before
	Text     string
	Fence    string // the source the text is fenced under, else empty
	MaxTurns int64  // left of the task's budget
	// Window is context.max_tokens with its threshold; 0 turns compaction off.
	Window    int64
	Threshold float64
}

// attempt is one run of the loop over a task.
type attempt struct {
	Parts
	task     Task
	frame    Frame
	requests *requests
	messages []Message
	turn     int64 // from 0

	continuation string
	acknowledged int
}

// Run runs one attempt (AGT section 8). Its end is always an Outcome; the
// context's end is the cancel of the task.
func Run(ctx context.Context, p Parts, f Frame, t Task) Outcome {
	a := &attempt{Parts: p, task: t, frame: f, requests: newRequests(f, p.Counter)}
	a.messages = append(a.messages, t.History...)
	a.enter(NewUser(t.Text, t.Fence))
	for {
		out := a.step(ctx)
		if out != nil {
			out.Turns = a.turn
			return *out
		}
	}
}

// enter appends messages to the conversation and its record.
func (a *attempt) enter(m ...Message) {
	a.messages = append(a.messages, m...)
	if a.Record != nil {
		a.Record.Append(m)
	}
}

// step is one turn, in the order of AGT section 8. Nil goes on with the next.
func (a *attempt) step(ctx context.Context) *Outcome {
	if out := a.boundary(ctx); out != nil {
		return out
	}
	request := a.requests.payload(a.messages, a.continuation, a.acknowledged)
	count := sync.OnceValue(func() int64 { return a.requests.occupancy(a.messages) })
	var bounded int64
	if a.Spend.Bounded() {
		bounded = count()
	}
	admission, err := a.Spend.Admit(ctx, bounded, a.frame.MaxTokens)
	if err != nil {
		return a.refused(ctx, err)
	}
	go count() // while the provider thinks
	a.Sink.Turn(a.turn + 1)
	reply, streamed, err := a.ask(ctx, request)
	input := count()
	if ctx.Err() != nil {
		admission.Release(input)
		return a.canceled("inference")
	}
	body := a.Mask(reply.Body)
	answer, failed := a.read(body, reply.Status, err)
	var v verdict
	output := a.Counter.Count(body)
	if failed == nil {
		admission.Settle(input, output)
		v = judge(answer)
		failed = v.failed
	} else {
		admission.Release(input)
	}
	if streamed {
		a.Sink.End()
	}
	if err := a.record(answer, failed, input, output, body); err != nil {
		return a.fatal(err)
	}
	if failed != nil {
		if failed.code == "" {
			a.turn++ // it was answered, and so a turn
		}
		return a.failed(failed)
	}
	a.remember(reply.Continuation)
	if err := a.compaction(input); err != nil {
		return a.fatal(err)
	}
	if v.final {
		return a.final(answer, v, streamed)
	}
	out := a.calls(ctx, answer, v.calls)
	a.turn++
	return out
}

// boundary is what can end an attempt between turns.
func (a *attempt) boundary(ctx context.Context) *Outcome {
	if a.Fatal != nil {
		if err := a.Fatal(); err != nil {
			return a.fatal(err)
		}
	}
	if ctx.Err() != nil {
		return a.canceled("turn")
	}
	if a.turn >= a.task.MaxTurns {
		reason := fmt.Sprintf("no answer within %d turns (inference.max_turns)", a.turn)
		return &Outcome{Status: MaxTurns, Result: "error: " + reason, Reason: reason}
	}
	return nil
}

// refused ends the attempt for a ceiling, before anything was sent (AGT-156).
func (a *attempt) refused(ctx context.Context, err error) *Outcome {
	var r *spend.Refusal
	if !errors.As(err, &r) {
		if ctx.Err() != nil {
			return a.canceled("turn")
		}
		return a.fatal(err)
	}
	line := trace.SpendCeilingReached{
		Turn: a.turn, TaskID: a.taskID(), Limit: r.Limit, Ceiling: r.Ceiling, Used: r.Used, Requested: r.Requested,
	}
	if err := a.Trace.Write(line); err != nil {
		return a.fatal(err)
	}
	return &Outcome{Status: SpendCeiling, Result: "stopped: " + r.Error(), Reason: r.Error()}
}

// ask makes the driver call. Streamed tells whether text came meanwhile
// (AGT-200).
func (a *attempt) ask(ctx context.Context, request string) (reply Reply, streamed bool, err error) {
	reply, err = a.Model.Ask(ctx, request, func(kind wasmhost.ChunkKind, text string) {
		streamed = streamed || kind == wasmhost.TextChunk && text != ""
		a.Sink.Chunk(kind, text)
	})
	return reply, streamed, err
}

// read parses what the call gave.
func (a *attempt) read(body string, status int, err error) (Answer, *failure) {
	var ce *CallError
	switch {
	case errors.As(err, &ce):
		return Answer{}, &failure{cause: cause(ce.Code), code: ce.Code, reason: a.Mask(ce.Reason), status: ce.Status, coded: ce.Coded}
	case err != nil:
		return Answer{}, &failure{cause: "driver_error", code: "driver_failed", reason: a.Mask(err.Error())}
	}
	answer, err := ParseAnswer(body)
	if err != nil {
		return Answer{}, &failure{cause: "malformed_response", code: "malformed_response", reason: err.Error(), status: status}
	}
	if answer.Stop == "error" {
		f := judge(answer).failed
		f.status = status
		return Answer{}, f
	}
	return answer, nil
}

// cause is the task_failed cause of a failed call (AGT-81).
func cause(code string) string {
	switch code {
	case "driver_error", "driver_failed":
		return "driver_error"
	case "credential_rejected", "malformed_response":
		return code
	}
	return "runtime_error"
}

// record writes the turn's inference line (AGT-58, TRC-27).
func (a *attempt) record(answer Answer, f *failure, input, output int64, body string) error {
	line := trace.Inference{Turn: a.turn, TaskID: a.taskID(), Decision: decision(answer.Stop), StopReason: &answer.Stop}
	sent := a.messages[a.acknowledged:]
	b := &trace.Bodies{System: []byte(a.frame.System), Tools: a.frame.Tools, Messages: make([][]byte, len(sent))}
	line.MessageIDs = make([]string, len(sent))
	for i, m := range sent {
		line.MessageIDs[i], b.Messages[i] = m.ID, m.wire
	}
	line.InputTokens = &input
	failedCall := f != nil && f.code != ""
	if failedCall {
		stop := "error"
		line.Decision, line.StopReason = "error", &stop
		line.ErrorCode, line.Error = f.code, f.reason
		if f.status != 0 {
			status := int64(f.status)
			line.ProviderStatus = &status
		}
	}
	if body != "" {
		b.Response = []byte(body)
		line.OutputTokens = &output
	}
	if len(answer.Calls) > 0 {
		line.ToolName = &answer.Calls[0].Name
	}
	u := answer.Usage
	line.InputTokensActual, line.OutputTokensActual = u.Input, u.Output
	line.CachedTokens, line.CacheWriteTokens, line.ThinkingTokens = u.Cached, u.CacheWrite, u.Thinking
	report := TurnReport{Turn: a.turn + 1, Input: input, Output: output, Failed: f != nil}
	for _, c := range answer.Calls {
		report.Calls = append(report.Calls, c.Name)
	}
	a.Sink.Answered(report)
	return a.Trace.WriteTurn(line, b)
}

// remember holds or drops the continuation (AGT-121 to AGT-123).
func (a *attempt) remember(id string) {
	a.continuation, a.acknowledged = id, 0
	if id != "" {
		a.acknowledged = len(a.messages)
	}
}

// compaction declines: no hook is bound that could replace the context (AGT-96,
// AGT-102).
func (a *attempt) compaction(occupancy int64) error {
	if a.task.Window <= 0 || float64(occupancy)/float64(a.task.Window) < a.task.Threshold {
		return nil
	}
	return a.Trace.Write(trace.CompactionDeclined{
		Turn: a.turn, TaskID: a.taskID(), Tokens: occupancy, Reason: "no_hook_replacement",
	})
}

// final ends the attempt with an answer (AGT-80, AGT-120).
func (a *attempt) final(answer Answer, v verdict, streamed bool) *Outcome {
	a.turn++
	if v.atCap {
		w := diag.Warningf("W-RUN-001", "inference", "the answer stopped at the output cap of %d tokens (inference.max_tokens)", a.frame.MaxTokens)
		w.Phase, w.Names = "session", map[string]any{"cap": a.frame.MaxTokens}
		a.Warn(w)
	}
	if content := withoutCalls(answer.Content); content != nil {
		a.enter(newAssistant(content))
	}
	if !streamed && answer.Text != "" {
		a.Sink.Final(answer.Text)
	}
	return &Outcome{Status: OK, Result: answer.Text}
}

// withoutCalls leaves out the tool calls of an answer that ended the task: they
// are not run, and a call without a result would spoil the conversation. Nil is
// nothing left.
func withoutCalls(content json.RawMessage) json.RawMessage {
	var blocks, kept []json.RawMessage
	_ = json.Unmarshal(content, &blocks) // a canonical list
	for _, b := range blocks {
		if membersOf(b).text("type") != "tool_call" {
			kept = append(kept, b)
		}
	}
	if kept == nil {
		return nil
	}
	return must(json.Marshal(kept))
}

// failed ends the attempt and says why (AGT-81).
func (a *attempt) failed(f *failure) *Outcome {
	line := trace.TaskFailed{TaskID: a.task.ID, Turn: &a.turn, Cause: f.cause, Reason: f.reason}
	if f.code == "" {
		turn := a.turn - 1
		line.Turn = &turn
	}
	if err := a.Trace.Write(line); err != nil {
		return a.fatal(err)
	}
	return &Outcome{Status: Failed, Result: "error: " + f.reason, Reason: f.reason, Coded: f.coded}
}

// canceled ends the attempt; phase is the wait that saw the cancel (AGT-186,
// AGT-187).
func (a *attempt) canceled(phase string) *Outcome {
	if a.Fatal != nil {
		if err := a.Fatal(); err != nil {
			return a.fatal(err) // what ended the session is why everything was cancelled
		}
	}
	out := &Outcome{Status: Canceled, Result: canceledMessage, Reason: "the task was canceled"}
	if a.task.ID == "" {
		return out
	}
	line := trace.TaskCanceled{
		TaskID: a.task.ID, Turn: &a.turn, Phase: phase, DetachedWorkIDs: []string{}, DelegationIDs: []string{},
	}
	if err := a.Trace.Write(line); err != nil {
		return a.fatal(err)
	}
	return out
}

// fatal ends the session.
func (a *attempt) fatal(err error) *Outcome {
	out := &Outcome{Status: Failed, Result: "error: " + err.Error(), Reason: err.Error(), Fatal: err}
	_ = errors.As(err, &out.Coded)
	line := trace.TaskFailed{TaskID: a.task.ID, Turn: &a.turn, Cause: "runtime_error", Reason: err.Error()}
	_ = a.Trace.Write(line) // the session ends for err, whether or not this can be written
	return out
}

// taskID is the id as lines have it: null outside a task.
func (a *attempt) taskID() *string {
	if a.task.ID == "" {
		return nil
	}
	return &a.task.ID
}
