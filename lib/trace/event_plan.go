package trace

// PlanStart is written as soon as a plan parses, before it is validated; its
// event id is the plan node (TRC-63).
type PlanStart struct {
	PlanID    string        `json:"plan_id"`
	StepCount int64         `json:"step_count"`
	Steps     []PlannedStep `json:"steps"` // file order
}

// PlannedStep is one step of a PlanStart.
type PlannedStep struct {
	StepID       string   `json:"step_id"`
	Kind         string   `json:"kind" enum:"tool,shell,capsule,unknown"`
	DependsOn    []string `json:"depends_on"`
	HasCondition bool     `json:"has_condition"`
}

// PlanStepStart is a dispatched step (TRC-64).
type PlanStepStart struct {
	PlanID    string   `json:"plan_id"`
	StepID    string   `json:"step_id"`
	Kind      string   `json:"kind" enum:"tool,shell,capsule,unknown"`
	DependsOn []string `json:"depends_on"`
}

// PlanStep is a settled step (TRC-65).
type PlanStep struct {
	PlanID      string `json:"plan_id"`
	StepID      string `json:"step_id"`
	Kind        string `json:"kind" enum:"tool,shell,capsule,unknown"`
	Status      string `json:"status" enum:"success,failed,skipped"`
	Attempts    int64  `json:"attempts"` // 0 when never dispatched
	DurationMS  int64  `json:"duration_ms"`
	Error       string `json:"error,omitempty"`
	Input       Raw    `json:"input,omitempty"` // tool steps only
	StateEffect string `json:"state_effect,omitempty"`
	ResourceID  string `json:"resource_id,omitempty"`
}

// PlanEnd closes a plan (TRC-66). FailedStep is absent when completed or
// cancelled, and "plan" when no step was at fault; Reason is absent when a
// step's own failure ended it.
type PlanEnd struct {
	PlanID         string `json:"plan_id"` // "" for a plan that never parsed
	Outcome        string `json:"outcome" enum:"completed,failed,canceled"`
	FailedStep     string `json:"failed_step,omitempty"`
	StepsTotal     int64  `json:"steps_total"`
	StepsSucceeded int64  `json:"steps_succeeded"`
	StepsFailed    int64  `json:"steps_failed"`
	StepsSkipped   int64  `json:"steps_skipped"`
	DurationMS     int64  `json:"duration_ms"`
	Reason         string `json:"reason,omitempty"`
}

// DelegationStart says that a child is up and has reported its id (TRC-67).
type DelegationStart struct {
	DelegationID    string    `json:"delegation_id"`
	Capsule         string    `json:"capsule"`
	Version         string    `json:"version"`
	SHA256          string    `json:"sha256"` // of its archive
	ChildSessionID  string    `json:"child_session_id"`
	ChildWorkdir    string    `json:"child_workdir"`     // relative to the records directory
	ChildRecordsDir string    `json:"child_records_dir"` // absolute
	Snapshot        *Snapshot `json:"snapshot"`
}

// Snapshot is what was copied into a child's work folder.
type Snapshot struct {
	Files   int64 `json:"files"`
	Bytes   int64 `json:"bytes"`
	LeftOut int64 `json:"left_out"`
}

// Delegation is written once per delegation, at its end or refusal (TRC-68,
// TRC-69).
type Delegation struct {
	Capsule        string  `json:"capsule"`
	Version        string  `json:"version"`
	DelegationID   *string `json:"delegation_id"` // null when nothing was launched
	ChildSessionID *string `json:"child_session_id"`
	DurationMS     int64   `json:"duration_ms"`
	Outcome        string  `json:"outcome" enum:"ok,error,crashed,terminated,unknown,completed,timed_out,failed,refused"`
	Reason         *string `json:"reason"` // null for ok, error, completed
}

// MemberCallBusy says that a formation member could not take a call yet
// (TRC-197).
type MemberCallBusy struct {
	TaskID   string `json:"task_id"`
	CallID   string `json:"call_id"`
	Member   string `json:"member"`
	Offer    int64  `json:"offer"` // from 1
	WaitedMS int64  `json:"waited_ms"`
	Message  string `json:"message"`
}

// MemberCallStart says that a formation member holds a call (TRC-197).
type MemberCallStart struct {
	TaskID       string `json:"task_id"`
	CallID       string `json:"call_id"`
	Member       string `json:"member"`
	MemberTaskID string `json:"member_task_id"`
}

// MemberCall is written once per call of a formation member, when it is
// accounted for (TRC-197). Output is at most 64 KiB.
type MemberCall struct {
	TaskID       string `json:"task_id"`
	CallID       string `json:"call_id"`
	Member       string `json:"member"`
	MemberTaskID string `json:"member_task_id,omitempty"` // absent when never held
	Status       string `json:"status"`
	DurationMS   int64  `json:"duration_ms"`
	Output       string `json:"output"`
	Truncated    bool   `json:"truncated"`
	Delivered    bool   `json:"delivered"`
}

func (PlanStart) Type() Type       { return "plan_start" }
func (PlanStepStart) Type() Type   { return "plan_step_start" }
func (PlanStep) Type() Type        { return "plan_step" }
func (PlanEnd) Type() Type         { return "plan_end" }
func (DelegationStart) Type() Type { return "delegation_start" }
func (Delegation) Type() Type      { return "delegation" }
func (MemberCallBusy) Type() Type  { return "member_call_busy" }
func (MemberCallStart) Type() Type { return "member_call_start" }
func (MemberCall) Type() Type      { return "member_call" }
