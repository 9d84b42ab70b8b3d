package trace

import (
	"encoding/json"
	"reflect"
	"sort"
)

// Type is the discriminator of a line, its event_type.
type Type string

// Payload is what one event says beside the header every line has. The
// implementations are the event structs of this package; their json tags name
// the fields, their order is the order on the line (TRC-6).
//
// In an event struct a pointer without omitempty is a field that may be null;
// a field with omitempty is absent when nil, zero or the empty string; every
// other field is always there, a nil slice as an empty array. Integers count from 0 unless
// their comment says otherwise, and stay exact over the whole of int64.
type Payload interface {
	Type() Type
}

// Raw is a JSON value kept as its bytes, so that numbers and key order survive.
// The writer records bytes that are no JSON value as a string.
type Raw = json.RawMessage

// Header is what every line begins with (TRC-3).
type Header struct {
	EventType Type    `json:"event_type"`
	EventID   string  `json:"event_id"`  // evt_..., minted as the line is written
	ParentID  *string `json:"parent_id"` // an earlier line of the file; nil on session_start
	SessionID string  `json:"session_id"`
	Timestamp int64   `json:"timestamp"` // Unix milliseconds at writing
}

// prototypes holds one value of every event.
var prototypes = []Payload{
	SessionStart{}, SessionEnd{},
	TaskStart{}, TaskEnd{}, TaskCanceled{}, TaskReopened{}, TaskFailed{}, TaskContinued{},
	A2ATaskReceived{}, A2ASend{}, TaskRejected{},
	Inference{}, ToolsRefreshed{}, ControlChange{}, ControlRefused{}, ControlApplied{}, SpendCeilingReached{},
	ToolCall{}, SkillCall{}, Shell{}, ShellDetached{}, ShellCompleted{}, ShellAbandoned{}, ShellLost{},
	ShellDetachUnrecorded{}, CallDenied{}, ProtectedPathDenied{}, ToolInputRefused{}, CallDeadline{}, ArtifactPulled{},
	Compaction{}, CompactionDeclined{}, ContextSeed{}, Retention{}, HookDispatchError{},
	InferenceCredential{}, GatewayCredential{},
	HarnessStart{}, HarnessSession{}, HarnessWarning{}, HarnessNote{}, HarnessRetry{}, HarnessFailed{},
	HarnessInterrupt{}, HarnessExit{}, HarnessSessionForgotten{},
	ResourceList{}, ResourceRead{}, PeerHandleMint{}, PeerHandleRedeem{}, PeerFileFetch{},
	PlanStart{}, PlanStepStart{}, PlanStep{}, PlanEnd{},
	DelegationStart{}, Delegation{}, FormationEnded{}, SpawnerEnded{},
	MemberCallBusy{}, MemberCallStart{}, MemberCall{},
}

var byType = func() map[Type]reflect.Type {
	m := make(map[Type]reflect.Type, len(prototypes))
	for _, p := range prototypes {
		m[p.Type()] = reflect.TypeOf(p)
	}
	return m
}()

// Types lists every event type this package knows, sorted.
func Types() []Type {
	out := make([]Type, 0, len(byType))
	for t := range byType {
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// New returns the zero event of a type, nil for a type that does not exist.
func New(t Type) Payload {
	rt, ok := byType[t]
	if !ok {
		return nil
	}
	return reflect.Zero(rt).Interface().(Payload)
}
