package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/toolschema"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
)

// calls runs the tool calls of a turn in order. Only after the last one do the
// answer and the results enter the conversation, so that no call is ever there
// without its result (AGT-72, AGT-76). Nil goes on with the next turn.
func (a *attempt) calls(ctx context.Context, answer Answer, calls []dispatch.Call) *Outcome {
	fresh := []Message{newAssistant(answer.Content)}
	for _, c := range calls {
		if ctx.Err() != nil {
			return a.canceled("turn")
		}
		result, err := a.call(ctx, c)
		if err != nil {
			return a.fatal(err)
		}
		a.Sink.Artifact(c.Name, result.Fence, result.Text)
		if result.Fatal != nil {
			return a.fatal(result.Fatal)
		}
		fresh = append(fresh, newResult(c.ID, result))
	}
	if ctx.Err() != nil {
		return a.canceled("turn")
	}
	a.enter(fresh...)
	return nil
}

// call resolves, checks, gates, dispatches and records one call (TOL-87). An
// error is a line of the trace that could not be written.
func (a *attempt) call(ctx context.Context, c dispatch.Call) (dispatch.Answer, error) {
	begin := time.Now()
	t := a.Desk.Resolve(c)
	if t.Unread != nil {
		a.Warn(toolschema.UncheckedWarning(c.Name, t.Unread))
	}
	if why := incomplete(t, c); why != "" {
		line := trace.ToolInputRefused{
			Turn: a.turn, ToolName: clip(c.Name), ToolCallID: callID(c), Missing: append([]string{}, t.Missing...), Reason: why,
		}
		if err := a.Trace.Write(line); err != nil {
			return dispatch.Answer{}, err
		}
		answer := dispatch.Refused(why)
		return answer, a.Trace.Write(a.toolLine(c, answer, begin))
	}
	if a.Gate != nil && t.Kind != dispatch.Nobody {
		if d := a.Gate.Check(ctx, t, c); d != nil {
			// A refusal that can not be recorded refuses all the same (TOL-88).
			return dispatch.Refused(d.Text), a.Trace.Write(d.Line(a.turn))
		}
	}
	answer := a.Desk.Dispatch(ctx, t, c)
	if s := answer.Skill; s != nil {
		s.Turn, s.TaskID = a.turn, a.taskID()
		s.OutputBytes, s.DurationMS = int64(len(answer.Text)), time.Since(begin).Milliseconds()
		return answer, a.Trace.Write(*s)
	}
	if err := a.Trace.Write(a.toolLine(c, answer, begin)); err != nil {
		return answer, err
	}
	if s := answer.Shell; s != nil {
		s.Turn, s.TaskID = a.turn, a.taskID()
		return answer, a.Trace.Write(*s)
	}
	return answer, nil
}

// incomplete says why a call is not run for its input (TOL-27), "" when it is.
func incomplete(t dispatch.Target, c dispatch.Call) string {
	switch {
	case t.Kind == dispatch.Nobody:
		return ""
	case len(t.Missing) > 0:
		return fmt.Sprintf("%s was not run: its input lacks %s", c.Name, strings.Join(t.Missing, ", "))
	case t.Refusal != "":
		return fmt.Sprintf("%s was not run: %s", c.Name, t.Refusal)
	}
	return ""
}

// toolLine is the tool_call of a call as it ended (TRC-34).
func (a *attempt) toolLine(c dispatch.Call, answer dispatch.Answer, begin time.Time) trace.ToolCall {
	line := trace.ToolCall{
		Turn: a.turn, TaskID: a.taskID(), ToolName: clip(c.Name), ToolCallID: callID(c),
		Input: trace.Raw(c.Input), InputBytes: int64(len(c.Input)), Output: &answer.Text, OutputBytes: int64(len(answer.Text)),
		DurationMS: time.Since(begin).Milliseconds(), Status: "ok",
		StateEffect: answer.StateEffect, ResourceID: answer.ResourceID, Error: answer.Own,
	}
	if answer.IsError {
		line.Status = "error"
	}
	return line
}

func callID(c dispatch.Call) *string {
	if c.ID == "" {
		return nil
	}
	return &c.ID
}

// clip keeps a name the model made up from flooding the trace.
func clip(name string) string {
	if len(name) <= 200 {
		return name
	}
	return strings.ToValidUTF8(name[:200], "")
}
