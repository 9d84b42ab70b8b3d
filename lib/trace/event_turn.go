package trace

// Inference is one round trip to a driver, written after its response is
// parsed (TRC-27). For an agent turn write it with Owner.WriteTurn, which
// takes the hashes from the very bytes handed to the driver (TRC-29).
type Inference struct {
	Turn         int64   `json:"turn"`    // from 0; restarts with every attempt
	TaskID       *string `json:"task_id"` // null outside a task
	InputTokens  *int64  `json:"input_tokens,omitempty"`
	OutputTokens *int64  `json:"output_tokens,omitempty"`
	Decision     string  `json:"decision" enum:"tool_call,end_turn,text,error"`
	StopReason   *string `json:"stop_reason,omitempty"` // "" when the provider gave none
	ToolName     *string `json:"tool_name"`             // the first tool asked for

	// The provider's own counts, absent when not reported, added to nothing
	// (TRC-30). Thinking tokens are part of the output.
	InputTokensActual  *int64 `json:"input_tokens_actual,omitempty"`
	OutputTokensActual *int64 `json:"output_tokens_actual,omitempty"`
	CachedTokens       *int64 `json:"cached_tokens,omitempty"`
	CacheWriteTokens   *int64 `json:"cache_write_tokens,omitempty"`
	ThinkingTokens     *int64 `json:"thinking_tokens,omitempty"`

	Origin         string   `json:"origin,omitempty"`          // hook:<name>; absent for an agent turn
	Model          string   `json:"model,omitempty"`           // with Origin or when alternates are declared
	DriverChoice   string   `json:"driver_choice,omitempty"`   // when alternates are declared
	ErrorCode      string   `json:"error_code,omitempty"`      // failed calls only
	Error          string   `json:"error,omitempty"`           // failed calls only; cut to 2000 bytes
	ProviderStatus *int64   `json:"provider_status,omitempty"` // failed calls only
	MessageIDs     []string `json:"message_ids,omitempty"`     // what the request embedded, in order

	// Hashes of what was sent and received (TRC-28); absent under capture none,
	// for hooks and for transport process.
	SystemSHA   string   `json:"system_sha,omitempty"`
	ToolsSHA    string   `json:"tools_sha,omitempty"`
	ResponseSHA string   `json:"response_sha,omitempty"`
	MessageSHAs []string `json:"message_shas,omitempty"` // one per MessageIDs entry
}

// ToolsRefreshed says that the tool array sent from this turn on differs from
// the one before; it precedes that call's Inference (TRC-31).
type ToolsRefreshed struct {
	Turn    int64    `json:"turn"`
	TaskID  *string  `json:"task_id"`
	Trigger string   `json:"trigger" enum:"compaction,agent,immediate"`
	Added   []string `json:"added"`   // sorted
	Removed []string `json:"removed"` // sorted
	Tools   []string `json:"tools"`   // every name now offered, array order
}

// ControlChange is an accepted change of a setting or a secret (TRC-32). It
// never carries a secret's value.
type ControlChange struct {
	Principal   string `json:"principal" enum:"controller,agent"`
	TokenID     string `json:"token_id,omitempty"` // first 16 hex digits of the token's SHA-256
	Kind        string `json:"kind" enum:"setting,secret"`
	Name        string `json:"name"`
	Action      string `json:"action" enum:"set,forget"`
	Previous    Raw    `json:"previous,omitempty"` // settings only
	Value       Raw    `json:"value,omitempty"`    // settings only
	AppliesFrom string `json:"applies_from,omitempty" enum:"next_inference_call"`
	Replaced    *bool  `json:"replaced,omitempty"` // a secret that was set only
}

// ControlRefused is a refused request or switch-driver call (TRC-200).
type ControlRefused struct {
	Principal string `json:"principal" enum:"controller,agent"`
	Status    int64  `json:"status"` // the HTTP status, or the one a controller would have got
	Reason    string `json:"reason"`
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	TokenID   string `json:"token_id,omitempty"`
}

// ControlApplied is written before the first call that uses a changed setting
// (TRC-200).
type ControlApplied struct {
	Turn     int64   `json:"turn"`
	TaskID   *string `json:"task_id"`
	Name     string  `json:"name"`
	Value    Raw     `json:"value"`
	ChangeID string  `json:"change_id"` // event_id of its ControlChange
}

// SpendCeilingReached says that a ceiling refused a driver call before it was
// sent; no Inference accompanies it (TRC-33).
type SpendCeilingReached struct {
	Turn      int64   `json:"turn"`
	TaskID    *string `json:"task_id"`
	Limit     string  `json:"limit" enum:"session,machine,tree"`
	Ceiling   int64   `json:"ceiling"` // tokens
	Used      int64   `json:"used"`
	Requested int64   `json:"requested"`
	Origin    string  `json:"origin,omitempty"` // hook:<name>; absent for an agent turn
}

func (Inference) Type() Type           { return "inference" }
func (ToolsRefreshed) Type() Type      { return "tools_refreshed" }
func (ControlChange) Type() Type       { return "control_change" }
func (ControlRefused) Type() Type      { return "control_refused" }
func (ControlApplied) Type() Type      { return "control_applied" }
func (SpendCeilingReached) Type() Type { return "spend_ceiling_reached" }
