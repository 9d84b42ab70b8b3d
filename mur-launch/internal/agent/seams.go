package agent

import (
	"context"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/spend"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
	"github.com/mur-capsules/mur/mur-launch/internal/model/tokens"
)

// Model makes driver calls. A call ends when its context does.
type Model interface {
	// Ask hands a request to the driver. Chunk takes what it streams meanwhile.
	Ask(ctx context.Context, request string, chunk func(wasmhost.ChunkKind, string)) (Reply, error)
}

// Reply is the driver's answer. Body is the raw text of it.
type Reply struct {
	Body         string
	Continuation string // continuation_id, or empty (AGT-57)
	Status       int    // the provider's last, 0 when none was seen
}

// CallError is a driver call that gave no answer (AGT-58).
type CallError struct {
	Code   string // driver_error, driver_failed, credential_rejected, malformed_response
	Reason string // without the value of any secret
	Status int    // what the provider answered, 0 when nothing was seen
	// Coded is the diagnostic the launch ends with, nil for none of its own.
	Coded *diag.Error
}

func (e *CallError) Error() string { return e.Reason }

// Admitter gives leave for driver calls; the error of Admit is a *spend.Refusal
// or the context's. What is not Bounded needs no input to be named.
type Admitter interface {
	Bounded() bool
	Admit(ctx context.Context, input, output int64) (*spend.Admission, error)
}

// Desk resolves and answers tool calls.
type Desk interface {
	Resolve(dispatch.Call) dispatch.Target
	Dispatch(context.Context, dispatch.Target, dispatch.Call) dispatch.Answer
}

// Gate refuses calls before they are dispatched (TOL-87): the read-only check
// and then the policy hooks.
type Gate interface {
	// Check returns nil to let the call pass.
	Check(context.Context, dispatch.Target, dispatch.Call) *Denial
}

// Denial is a refused call: the line that says so and what the model reads.
type Denial struct {
	Line func(turn int64) trace.Payload
	Text string
}

// Tracer writes the trace; an error ends the session (TRC-82).
type Tracer interface {
	Write(trace.Payload) error
	WriteTurn(trace.Inference, *trace.Bodies) error
}

// Sink takes what people and peers see of an attempt as it happens.
type Sink interface {
	// Turn says that turn n, counted from 1, begins.
	Turn(n int64)
	// Chunk is text the driver streams, End that it has all come.
	Chunk(kind wasmhost.ChunkKind, text string)
	End()
	// Answered says what a turn came to.
	Answered(TurnReport)
	// Artifact is the result of a tool call; fence names the source it is fenced
	// under, or is empty.
	Artifact(name, fence, text string)
	// Final is the answer of a driver that streamed none of it.
	Final(text string)
}

// TurnReport is one turn as a line of progress has it.
type TurnReport struct {
	Turn          int64 // from 1
	Calls         []string
	Input, Output int64 // tokens
	Failed        bool
}

// Record keeps the messages of a conversation as they enter it.
type Record interface{ Append([]Message) }

// Parts are what the attempts of a session work with. Gate, Record and Fatal may
// be nil.
type Parts struct {
	Model   Model
	Spend   Admitter
	Desk    Desk
	Gate    Gate
	Trace   Tracer
	Sink    Sink
	Record  Record
	Counter tokens.Counter
	// Mask takes the values of secrets out of a text.
	Mask func(string) string
	// Fatal tells what has ended the session, nil while nothing has (AGT-59).
	Fatal func() error
	Warn  func(diag.Warning)
}
