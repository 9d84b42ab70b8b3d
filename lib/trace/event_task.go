package trace

// TaskStart is written as a task begins; it resets the per-task counters
// (TRC-19).
type TaskStart struct {
	TaskID            string `json:"task_id"`
	ContextID         string `json:"context_id"`
	Source            string `json:"source" enum:"task_md,a2a,detached_shell,detached_lost,delegation"`
	Origin            string `json:"origin" enum:"user,peer,schedule,event,completion,system"`
	Trust             string `json:"trust" enum:"trusted,untrusted"`
	Lane              string `json:"lane" enum:"user,peer,bg"`
	DelegationID      string `json:"delegation_id,omitempty"` // the delegation the task reports on
	MessagePartsBytes int64  `json:"message_parts_bytes"`     // bytes of the task text
	TraceID           string `json:"trace_id,omitempty"`      // 32 hex digits; absent without telemetry
}

// TaskEnd is written once per started task, after its reopens are settled
// (TRC-20). The owner fills the duration and the counts.
type TaskEnd struct {
	TaskID       string `json:"task_id"`
	ExitStatus   string `json:"exit_status" enum:"ok,failed,max_turns_reached,spend_ceiling_reached,reopen_budget_exhausted,canceled,no_answer"`
	DurationMS   int64  `json:"duration_ms"` // from task_start, all attempts
	Turns        int64  `json:"turns"`       // this task only, like the session totals
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	ToolCalls    int64  `json:"tool_calls"`
	ShellCalls   int64  `json:"shell_calls"`
	ReopenCount  int64  `json:"reopen_count" default:"0"`
}

// TaskCanceled is written where the loop stopped because a task was cancelled,
// at most once per task and before its TaskEnd; with phase queued it is the
// task's only line (TRC-21).
type TaskCanceled struct {
	TaskID          string   `json:"task_id"`
	Turn            *int64   `json:"turn,omitempty"` // absent when the task never ran
	Phase           string   `json:"phase" enum:"queued,turn,inference,input,delegation,member_call,harness,plan"`
	DetachedWorkIDs []string `json:"detached_work_ids"`
	DelegationIDs   []string `json:"delegation_ids"`
}

// TaskReopened is written between two attempts (TRC-22).
type TaskReopened struct {
	TaskID         string `json:"task_id"`
	HookName       string `json:"hook_name"`
	Reason         string `json:"reason"`
	ReopenNumber   int64  `json:"reopen_number"` // from 1
	AttemptContext string `json:"attempt_context" enum:"continued,restarted"`
	TurnsRemaining int64  `json:"turns_remaining"`
}

// TaskFailed is written once per attempt that ended failed, and for a task
// that failed by a spent reopen budget, before its TaskEnd (TRC-23). Reason is
// cut to 2000 bytes.
type TaskFailed struct {
	TaskID string `json:"task_id,omitempty"` // absent for the run without a task
	Turn   *int64 `json:"turn,omitempty"`    // absent when the failure is no single turn's
	Cause  string `json:"cause" enum:"driver_error,credential_rejected,malformed_response,compaction_hook,input_timeout,reopen_budget_exhausted,runtime_error"`
	Reason string `json:"reason"`
}

// TaskContinued is written as a waiting task goes on with the outcomes that
// came (TRC-24).
type TaskContinued struct {
	TaskID             string   `json:"task_id"`
	ContinuationNumber int64    `json:"continuation_number"` // from 1, across reopens
	MemberCalls        []string `json:"member_calls"`        // ids delivered
	Delegations        []string `json:"delegations"`         // ids delivered
	WaitedMS           int64    `json:"waited_ms"`
	TurnsRemaining     int64    `json:"turns_remaining"`
}

// A2ATaskReceived is written as a door message activates, before its TaskStart
// (TRC-25).
type A2ATaskReceived struct {
	TaskID                string  `json:"task_id"`
	ContextID             string  `json:"context_id"`
	MessageID             string  `json:"message_id"`
	TraceparentFromCaller *string `json:"traceparent_from_caller"`
	Credential            string  `json:"credential,omitempty"` // name of the door credential; absent on a public door
	CallerMember          string  `json:"caller_member,omitempty"`
}

// A2ASend is a message a component sent (TRC-26).
type A2ASend struct {
	PeerURL     string  `json:"peer_url"`
	MessageID   string  `json:"message_id"`
	TaskID      string  `json:"task_id"`    // as the peer answered
	ContextID   string  `json:"context_id"` // as the peer answered
	Traceparent *string `json:"traceparent"`
	Trust       string  `json:"trust"` // the class stamped on the request
}

// TaskRejected is the only line of a task refused because the session stopped
// taking work while it waited (TRC-194).
type TaskRejected struct {
	TaskID    string `json:"task_id"`
	ContextID string `json:"context_id"`
	Source    string `json:"source"`
	Cause     string `json:"cause" enum:"session_ended,session_stopped"`
	Reason    string `json:"reason"`
}

func (TaskStart) Type() Type       { return "task_start" }
func (TaskEnd) Type() Type         { return "task_end" }
func (TaskCanceled) Type() Type    { return "task_canceled" }
func (TaskReopened) Type() Type    { return "task_reopened" }
func (TaskFailed) Type() Type      { return "task_failed" }
func (TaskContinued) Type() Type   { return "task_continued" }
func (A2ATaskReceived) Type() Type { return "a2a_task_received" }
func (A2ASend) Type() Type         { return "a2a_send" }
func (TaskRejected) Type() Type    { return "task_rejected" }
