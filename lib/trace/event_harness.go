package trace

// InferenceCredential says that the inference key was rotated, rejected or
// unreadable (TRC-50).
type InferenceCredential struct {
	Source     string `json:"source" enum:"config,environment,manifest,keyless,none"`
	Credential string `json:"credential,omitempty"` // a name; absent for a manifest literal
	Change     string `json:"change" enum:"rotated,rejected,unreadable"`
	Trigger    string `json:"trigger,omitempty" enum:"file_changed,rejection"` // only rotated
	Status     *int64 `json:"status,omitempty"`                                // only rejected; 401
	Retried    *bool  `json:"retried,omitempty"`                               // only rejected
	Reason     string `json:"reason,omitempty" enum:"missing,unreadable,unparseable,no_entry,empty_entry,not_injected"`
}

// GatewayCredential is InferenceCredential for the gateway of an artifact
// (TRC-50).
type GatewayCredential struct {
	Artifact   string `json:"artifact"`
	Source     string `json:"source" enum:"config,environment,manifest,keyless,injected,none"`
	Credential string `json:"credential,omitempty"`
	Change     string `json:"change" enum:"rotated,rejected,unreadable"`
	Trigger    string `json:"trigger,omitempty" enum:"file_changed,rejection"`
	Status     *int64 `json:"status,omitempty"`
	Retried    *bool  `json:"retried,omitempty"`
	Reason     string `json:"reason,omitempty" enum:"missing,unreadable,unparseable,no_entry,empty_entry,not_injected"`
}

// HarnessStart is written before each spawn of a harness; it never holds an
// argument, a value or a content (TRC-51).
type HarnessStart struct {
	TaskID           *string  `json:"task_id"`
	Driver           string   `json:"driver"`
	DriverVersion    string   `json:"driver_version"`
	Harness          string   `json:"harness"`
	Binary           string   `json:"binary"` // absolute
	BinarySource     string   `json:"binary_source"`
	HarnessVersion   *string  `json:"harness_version"`
	VersionTested    bool     `json:"version_tested"`
	HarnessSessionID string   `json:"harness_session_id"`
	SessionMode      string   `json:"session_mode"`
	ArgsCount        int64    `json:"args_count"`
	EnvNames         []string `json:"env_names"` // sorted
	Files            []string `json:"files"`
	BridgeTools      []string `json:"bridge_tools"`
	StdinBytes       int64    `json:"stdin_bytes"`
	KeepStdinOpen    bool     `json:"keep_stdin_open"`
}

// HarnessSession is the conversation a harness reported (TRC-52).
type HarnessSession struct {
	TaskID           *string `json:"task_id"`
	HarnessSessionID string  `json:"harness_session_id"`
	Auth             string  `json:"auth"`
	Model            *string `json:"model"`
}

// HarnessWarning is a warning of a harness (TRC-53).
type HarnessWarning struct {
	TaskID  *string `json:"task_id"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
}

// HarnessNote is a remark of a harness (TRC-53).
type HarnessNote struct {
	TaskID *string `json:"task_id"`
	Text   string  `json:"text"`
}

// HarnessRetry is a retry a harness reported (TRC-53).
type HarnessRetry struct {
	TaskID  *string `json:"task_id"`
	Attempt int64   `json:"attempt"`
	Reason  string  `json:"reason"`
}

// HarnessFailed is a failure of a harness run (TRC-54).
type HarnessFailed struct {
	TaskID  *string `json:"task_id"`
	Kind    string  `json:"kind"` // the driver's failure kind, or max-turns
	Message string  `json:"message"`
	Source  string  `json:"source" enum:"harness,runtime"`
}

// HarnessInterrupt is an interrupt sent to a harness (TRC-54).
type HarnessInterrupt struct {
	TaskID    *string `json:"task_id"`
	Method    string  `json:"method"`
	Delivered bool    `json:"delivered"`
	GraceMS   int64   `json:"grace_ms"` // 0 when killed at once
}

// HarnessExit is written once per spawn of a harness (TRC-55).
type HarnessExit struct {
	TaskID     *string `json:"task_id"`
	Code       *int64  `json:"code"`
	Signal     *int64  `json:"signal"`
	Cause      string  `json:"cause" enum:"terminal,eof,inactivity,max_turns,driver_error,canceled"`
	Killed     bool    `json:"killed"`
	DurationMS int64   `json:"duration_ms"`
}

// HarnessSessionForgotten says that a harness conversation was dropped on
// request (TRC-56).
type HarnessSessionForgotten struct {
	TaskID           *string `json:"task_id"`
	ContextID        string  `json:"context_id"`
	HarnessSessionID string  `json:"harness_session_id"`
	RequestedBy      string  `json:"requested_by" enum:"cli,a2a"`
}

func (InferenceCredential) Type() Type     { return "inference_credential" }
func (GatewayCredential) Type() Type       { return "gateway_credential" }
func (HarnessStart) Type() Type            { return "harness_start" }
func (HarnessSession) Type() Type          { return "harness_session" }
func (HarnessWarning) Type() Type          { return "harness_warning" }
func (HarnessNote) Type() Type             { return "harness_note" }
func (HarnessRetry) Type() Type            { return "harness_retry" }
func (HarnessFailed) Type() Type           { return "harness_failed" }
func (HarnessInterrupt) Type() Type        { return "harness_interrupt" }
func (HarnessExit) Type() Type             { return "harness_exit" }
func (HarnessSessionForgotten) Type() Type { return "harness_session_forgotten" }
