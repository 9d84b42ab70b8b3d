package trace

// SessionStart is the first line of a file, once per launch of an agent or a
// script capsule (TRC-13). The owner fills ContainmentDeclared,
// ContainmentAchieved, WorkdirExec and UsernsGrant from EffectiveGrants
// (TRC-17) and Capture from its own mode, whatever the caller set.
type SessionStart struct {
	CapsuleName         string            `json:"capsule_name"`
	CapsuleVersion      string            `json:"capsule_version"`
	Kind                string            `json:"kind,omitempty" enum:"agent,script"`
	Bundle              *Bundle           `json:"bundle,omitempty"`   // absent when no bundle was staged
	Model               *string           `json:"model"`              // primary model; null for a script capsule
	MaxTurns            int64             `json:"max_turns"`          // per task; 0 for a script capsule
	MaxSessionTokens    *int64            `json:"max_session_tokens"` // spend ceiling in force, or null
	MachineTokensPerDay *int64            `json:"machine_tokens_per_day"`
	Capabilities        []string          `json:"capabilities"`   // of network, filesystem, shell, in this order
	ToolsDeclared       []string          `json:"tools_declared"` // sorted
	ToolRefresh         *string           `json:"tool_refresh" enum:"compaction,immediate"`
	RuntimeArtifacts    []RuntimeArtifact `json:"runtime_artifacts"`
	ContainmentDeclared string            `json:"containment_declared" enum:"unconfined,advisory,scoped,sealed"`
	ContainmentAchieved string            `json:"containment_achieved" enum:"unconfined,advisory,scoped,sealed"`
	WorkdirExec         bool              `json:"workdir_exec"`
	UsernsGrant         *string           `json:"userns_grant" enum:"apparmor_absent,restriction_disabled_host_wide,profile_confining,withheld"`
	EffectiveGrants     Raw               `json:"effective_grants" kind:"object"` // the scope report, io_max filled in
	HostFacts           []HostFact        `json:"host_facts"`
	SystemPromptSource  string            `json:"system_prompt_source" enum:"manifest,cli,none"`
	SystemPromptSHA256  *string           `json:"system_prompt_sha256"` // of the prompt before any runtime block
	CredentialSource    string            `json:"credential_source" enum:"config,environment,manifest,keyless,none"`
	Gateways            []Gateway         `json:"gateways"`                    // inference gateway first
	InstructionFiles    []InstructionFile `json:"instruction_files,omitempty"` // absent when the manifest sets no key
	Control             *ControlSurface   `json:"control,omitempty"`
	InferenceChoices    []InferenceChoice `json:"inference_choices,omitempty"` // primary first; absent without alternates
	ResumedFrom         *string           `json:"resumed_from"`
	ContextID           *string           `json:"context_id"`
	SpawnedBy           string            `json:"spawned_by,omitempty"` // with DelegationID or neither
	DelegationID        string            `json:"delegation_id,omitempty"`
	FormationID         string            `json:"formation_id,omitempty"`
	Warnings            []Warning         `json:"warnings"` // raised by staging and launch before this line
	Capture             Capture           `json:"capture" enum:"none,meta,content"`
	RuntimeVersion      string            `json:"runtime_version"` // of mur-launch
}

// Bundle says which bundle was staged.
type Bundle struct {
	Digest string  `json:"digest"` // sha256:<hex> of its OCI manifest
	Ref    *string `json:"ref"`    // address or digest it was asked for by, or null for a file
}

// RuntimeArtifact is a staged artifact whose pin a session wrote.
type RuntimeArtifact struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Origin  string `json:"origin" enum:"runtime"`
	Session string `json:"session"` // the one that wrote the pin
	Trust   string `json:"trust" enum:"untrusted"`
}

// HostFact is one fact about the host that staging relied on.
type HostFact struct {
	Binary string `json:"binary"`
	Path   string `json:"path"`
	Source string `json:"source"`
}

// Gateway is one gateway that holds a key.
type Gateway struct {
	Artifact         string `json:"artifact"`
	Host             string `json:"host"`
	CredentialSource string `json:"credential_source" enum:"config,environment,manifest,keyless,injected,none"`
	Metered          bool   `json:"metered"`
}

// InstructionFile is one instruction file that was used.
type InstructionFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ControlSurface names what a controller may change, never a value.
type ControlSurface struct {
	Settings      []string `json:"settings"`
	Secrets       []string `json:"secrets"`
	AgentSettings []string `json:"agent_settings"`
}

// InferenceChoice is one driver the session may use.
type InferenceChoice struct {
	Name             string `json:"name"`
	Driver           string `json:"driver"`
	Model            string `json:"model"`
	CredentialSource string `json:"credential_source"`
	Available        bool   `json:"available"`
}

// Warning is a diagnostic that changed nothing; Code is empty for a plain one.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// SessionEnd is the owner's last line, once per SessionStart (TRC-18). The
// owner fills everything but ExitStatus.
type SessionEnd struct {
	TotalTurns        int64  `json:"total_turns"` // inference lines; under transport http without failed calls
	TotalInputTokens  int64  `json:"total_input_tokens"`
	TotalOutputTokens int64  `json:"total_output_tokens"`
	TotalToolCalls    int64  `json:"total_tool_calls"`
	TotalShellCalls   int64  `json:"total_shell_calls"` // shell and shell_detached lines
	DurationMS        int64  `json:"duration_ms"`       // monotonic, since the trace was opened
	ExitStatus        string `json:"exit_status" enum:"ok,failed,max_turns_reached,spend_ceiling_reached,canceled,deadline_reached,formation_ended"`
}

// Retention is written right after SessionStart, one per store and reason that
// removed something (TRC-48).
type Retention struct {
	Store           string   `json:"store" enum:"sessions,records"`
	Reason          string   `json:"reason" enum:"max_sessions,max_age,max_messages"`
	Removed         int64    `json:"removed"` // at least 1
	Targets         []string `json:"targets"`
	MessagesDropped *int64   `json:"messages_dropped,omitempty"` // only with max_messages
}

// HookDispatchError is a hook failure the session survived, flushed just
// before SessionEnd (TRC-49).
type HookDispatchError struct {
	HookName string `json:"hook_name"`
	Event    string `json:"event"` // the lifecycle function, or drain
	Arm      string `json:"arm"`   // the unsupported arm, or error, queue-overflow, timeout, seed-rejected
}

// SpawnerEnded is written before the termination it begins (TRC-198).
type SpawnerEnded struct {
	SpawnedBy    string `json:"spawned_by"`
	DelegationID string `json:"delegation_id"`
}

// FormationEnded is written before the termination it begins (TRC-70).
type FormationEnded struct {
	FormationID string `json:"formation_id"`
}

func (SessionStart) Type() Type      { return "session_start" }
func (SessionEnd) Type() Type        { return "session_end" }
func (Retention) Type() Type         { return "retention" }
func (HookDispatchError) Type() Type { return "hook_dispatch_error" }
func (SpawnerEnded) Type() Type      { return "spawner_ended" }
func (FormationEnded) Type() Type    { return "formation_ended" }
