package trace

// ToolCall is written after each tool invocation returns (TRC-34). Hand it
// Input and Output always: the writer leaves out what the capture mode does
// not store and replaces peer handles.
type ToolCall struct {
	Turn        int64   `json:"turn"`
	TaskID      *string `json:"task_id"`
	ToolName    string  `json:"tool_name"`
	ToolCallID  *string `json:"tool_call_id"`     // the provider's, verbatim
	Input       Raw     `json:"input,omitempty"`  // as the model supplied it
	InputBytes  int64   `json:"input_bytes"`      // of the serialised input
	Output      *string `json:"output,omitempty"` // the text given to the model, fence included
	OutputBytes int64   `json:"output_bytes"`
	DurationMS  int64   `json:"duration_ms"`
	Status      string  `json:"status" enum:"ok,error"`
	StateEffect string  `json:"state_effect,omitempty"` // read, mutate, as the tool declared
	ResourceID  string  `json:"resource_id,omitempty"`  // opaque, as the tool declared
	Error       string  `json:"error,omitempty"`        // the runtime's own text when it could not run the call
}

// SkillCall is a skill the agent read; it counts in no tool total (TRC-35).
type SkillCall struct {
	Turn        int64   `json:"turn"`
	TaskID      *string `json:"task_id"`
	SkillName   string  `json:"skill_name"`
	Origin      string  `json:"origin"` // of the skill's pin
	Trust       string  `json:"trust"`  // of the skill's pin
	OutputBytes int64   `json:"output_bytes"`
	DurationMS  int64   `json:"duration_ms"`
	Status      string  `json:"status" enum:"ok,error"`
}

// Shell is a foreground command, following its ToolCall (TRC-36). Command is
// an argument list, or a script text for an interpreter.
type Shell struct {
	Turn          int64   `json:"turn"`
	TaskID        *string `json:"task_id"`
	Binary        string  `json:"binary"` // canonical absolute path when resolved, else the name given
	Command       Raw     `json:"command"`
	ExitCode      int64   `json:"exit_code" signed:"true"` // 128 + signal when killed
	StdoutBytes   int64   `json:"stdout_bytes"`
	StderrBytes   int64   `json:"stderr_bytes"`
	DurationMS    int64   `json:"duration_ms"`
	ResourceLimit string  `json:"resource_limit,omitempty" enum:"cpu_seconds,max_file_size_bytes,cgroup_memory_bytes,cgroup_pids_max"`
}

// ShellDetached stands in place of a Shell line for a command that outran its
// grace (TRC-37).
type ShellDetached struct {
	Turn    int64   `json:"turn"`
	TaskID  *string `json:"task_id"`
	WorkID  string  `json:"work_id"`
	Binary  string  `json:"binary"`
	Command Raw     `json:"command"`
	GraceMS int64   `json:"grace_ms"`
}

// ShellCompleted says that a demoted command finished and was queued as a task
// (TRC-38). It counts as no shell call.
type ShellCompleted struct {
	WorkID           string `json:"work_id"`
	Binary           string `json:"binary"`
	Command          Raw    `json:"command"`
	ExitCode         int64  `json:"exit_code" signed:"true"`
	DurationMS       int64  `json:"duration_ms"`  // from spawn
	OutputPath       string `json:"output_path"`  // logs/<work_id>.log, relative to the records directory
	OutputBytes      int64  `json:"output_bytes"` // 0 when unwritten
	ResourceLimit    string `json:"resource_limit,omitempty" enum:"cpu_seconds,max_file_size_bytes,cgroup_memory_bytes,cgroup_pids_max"`
	Status           string `json:"status" enum:"ok,error"`
	CompletionTaskID string `json:"completion_task_id"`
}

// ShellAbandoned says that the session ended without carrying a demoted
// command's result (TRC-39). The last three fields are set together, only for
// one that finished during teardown.
type ShellAbandoned struct {
	WorkID      string `json:"work_id"`
	Binary      string `json:"binary"`
	Command     Raw    `json:"command"`
	RunningMS   int64  `json:"running_ms"`
	ExitCode    *int64 `json:"exit_code,omitempty" signed:"true"`
	OutputPath  string `json:"output_path,omitempty"`
	OutputBytes *int64 `json:"output_bytes,omitempty"`
}

// ShellLost is appended by a resuming launch to the old session's file
// (TRC-40).
type ShellLost struct {
	WorkID              string `json:"work_id"`
	Binary              string `json:"binary"`
	Command             Raw    `json:"command"`
	DetachedAtMS        int64  `json:"detached_at_ms"`
	ReconciledBySession string `json:"reconciled_by_session"`
	ReconciledTaskID    string `json:"reconciled_task_id"`
}

// ShellDetachUnrecorded says that a demotion's own line could not be written
// (TRC-41).
type ShellDetachUnrecorded struct {
	Turn   int64   `json:"turn"`
	TaskID *string `json:"task_id"`
	WorkID string  `json:"work_id"`
	Binary string  `json:"binary"`
	Reason string  `json:"reason"`
}

// CallDenied says that a policy hook refused a call, which therefore has no
// ToolCall or Shell line (TRC-42).
type CallDenied struct {
	Turn       int64   `json:"turn"`
	ToolCallID *string `json:"tool_call_id"` // of the refused call
	Event      string  `json:"event" enum:"on-shell,on-tool-call"`
	HookName   string  `json:"hook_name"`
	Target     string  `json:"target"` // resolved executable or tool name
	Reason     string  `json:"reason"`
}

// ProtectedPathDenied says that the manifest's read_only refused a call before
// any hook was asked (TRC-43).
type ProtectedPathDenied struct {
	Turn       int64   `json:"turn"`
	ToolCallID *string `json:"tool_call_id"` // of the refused call
	Call       string  `json:"call" enum:"shell,tool"`
	Target     string  `json:"target"`
	Path       string  `json:"path"`   // resolved, relative to the work folder
	Rule       string  `json:"rule"`   // as declared
	Signal     string  `json:"signal"` // what marked it as a write
	Reason     string  `json:"reason"` // the text the model got
}

// ToolInputRefused says that a call lacked a required field and nothing ran
// (TRC-196).
type ToolInputRefused struct {
	Turn       int64    `json:"turn"`
	ToolName   string   `json:"tool_name"`
	ToolCallID *string  `json:"tool_call_id"`
	Missing    []string `json:"missing"` // schema order
	Reason     string   `json:"reason"`  // the text the model got
}

// CallDeadline says that the wall-clock bound stopped a component call
// (TRC-44).
type CallDeadline struct {
	Turn      *int64  `json:"turn,omitempty"` // absent outside a turn
	TaskID    *string `json:"task_id"`
	Component string  `json:"component"` // artifact name
	Role      string  `json:"role"`
	Seconds   int64   `json:"seconds"`
}

// ArtifactPulled is a successful pull; a refused one and a removal write none
// (TRC-195).
type ArtifactPulled struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Runtime string  `json:"runtime" enum:"skill,tool"`
	Origin  string  `json:"origin" enum:"runtime,operator"`
	Session *string `json:"session"` // the puller the lock names
	Trust   string  `json:"trust" enum:"trusted,untrusted"`
}

// Compaction is a replacement of the context that was committed (TRC-45). Both
// counts are of the whole serialised driver payload.
type Compaction struct {
	Turn         int64   `json:"turn"`
	TaskID       *string `json:"task_id"`
	TokensBefore int64   `json:"tokens_before"`
	TokensAfter  int64   `json:"tokens_after"`
}

// CompactionDeclined says that the threshold was crossed and the context left
// as it was (TRC-46).
type CompactionDeclined struct {
	Turn   int64   `json:"turn"`
	TaskID *string `json:"task_id"`
	Tokens int64   `json:"tokens"`
	Reason string  `json:"reason" enum:"no_hook_replacement,unresolved_tool_call"`
}

// ContextSeed is written once per task whose hook proposed a seed (TRC-47).
type ContextSeed struct {
	TaskID         *string  `json:"task_id"`
	HookName       string   `json:"hook_name"`
	Tokens         int64    `json:"tokens"` // 0 on rejection
	ProposedTokens int64    `json:"proposed_tokens"`
	BudgetTokens   int64    `json:"budget_tokens"`
	Outcome        string   `json:"outcome" enum:"seeded,trimmed,compacted,rejected"`
	Reason         string   `json:"reason,omitempty" enum:"message_over_budget,overflow_over_limit,no_budget,unsupported_transport"`
	MessageIDs     []string `json:"message_ids"` // empty on rejection
}

func (ToolCall) Type() Type              { return "tool_call" }
func (SkillCall) Type() Type             { return "skill_call" }
func (Shell) Type() Type                 { return "shell" }
func (ShellDetached) Type() Type         { return "shell_detached" }
func (ShellCompleted) Type() Type        { return "shell_completed" }
func (ShellAbandoned) Type() Type        { return "shell_abandoned" }
func (ShellLost) Type() Type             { return "shell_lost" }
func (ShellDetachUnrecorded) Type() Type { return "shell_detach_unrecorded" }
func (CallDenied) Type() Type            { return "call_denied" }
func (ProtectedPathDenied) Type() Type   { return "protected_path_denied" }
func (ToolInputRefused) Type() Type      { return "tool_input_refused" }
func (CallDeadline) Type() Type          { return "call_deadline" }
func (ArtifactPulled) Type() Type        { return "artifact_pulled" }
func (Compaction) Type() Type            { return "compaction" }
func (CompactionDeclined) Type() Type    { return "compaction_declined" }
func (ContextSeed) Type() Type           { return "context_seed" }
