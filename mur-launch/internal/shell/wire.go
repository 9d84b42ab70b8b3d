package shell

import (
	"encoding/json"

	"github.com/mur-capsules/mur/lib/diag"
)

// request is a line to mur-shell. What an operation does not take is left out.
type request struct {
	Op          string       `json:"op"`
	ID          string       `json:"id"`
	Tool        string       `json:"tool,omitempty"`
	Data        *string      `json:"data,omitempty"`
	Args        *[]string    `json:"args,omitempty"`
	Env         [][2]string  `json:"env,omitempty"`
	Call        string       `json:"call,omitempty"`
	Mode        string       `json:"mode,omitempty"`
	TimeoutSecs *int64       `json:"timeout_secs,omitempty"`
	Name        string       `json:"name,omitempty"`
	Input       *nativeInput `json:"input,omitempty"`
	Target      string       `json:"target,omitempty"`
	Bytes       int64        `json:"bytes,omitempty"`
	Limit       int64        `json:"limit,omitempty"`
}

// nativeInput is what a native tool reads (SHL-121).
type nativeInput struct {
	Data    *string `json:"data"`
	LogPath *string `json:"log_path"`
}

// facts are what only the launch knows (SHL-8).
type facts struct {
	Scope      *scopeFacts       `json:"scope"`
	RuntimeEnv map[string]string `json:"runtime_env"`
}

type scopeFacts struct {
	Version int               `json:"version"`
	Paths   map[string]string `json:"paths"`
}

// event is any line of mur-shell, read as far as it has members.
type event struct {
	Event   string `json:"event"`
	ID      string `json:"id"`
	Version string `json:"version"` // of ready
	raw     json.RawMessage
}

// toolResult is what the model gets, still without the path of a log.
type toolResult struct {
	Status    string            `json:"status"`
	Summary   *string           `json:"summary"`
	Data      *string           `json:"data"`
	DataPath  *string           `json:"data_path"`
	Truncated *bool             `json:"truncated"`
	Metadata  map[string]string `json:"metadata"`
}

// done is a command or native tool that ran to an end. Argv is without argv[0].
type done struct {
	Tool          string     `json:"tool"`
	Binary        string     `json:"binary"`
	Command       string     `json:"command"`
	Argv          []string   `json:"argv"`
	Script        *string    `json:"script"`
	Recipe        *string    `json:"recipe"`
	ExitCode      int64      `json:"exit_code"`
	Signal        *string    `json:"signal"`
	TimedOut      bool       `json:"timed_out"`
	Stdout        string     `json:"stdout"`
	Stderr        string     `json:"stderr"`
	StdoutBytes   int64      `json:"stdout_bytes"`
	StderrBytes   int64      `json:"stderr_bytes"`
	Truncated     bool       `json:"truncated"`
	DurationMS    int64      `json:"duration_ms"`
	ResourceLimit *string    `json:"resource_limit"`
	RuntimeNote   *string    `json:"runtime_note"`
	Leftovers     int        `json:"leftovers"`
	ToolResult    toolResult `json:"tool_result"`
}

// refused is a request that started nothing. Reason is a word of SHL-21.
type refused struct {
	Reason     string     `json:"reason"`
	Message    string     `json:"message"`
	ToolResult toolResult `json:"tool_result"`
}

// fatal ends the session (SHL-22).
type fatal struct {
	Code    diag.Code `json:"code"`
	Step    string    `json:"step"`
	Errno   int       `json:"errno"`
	Message string    `json:"message"`
}

// Resolved is a call as it would be run (SHL-17). Call is a handle for one Run.
type Resolved struct {
	Call      string     `json:"call"`
	Binary    string     `json:"binary"`
	Command   string     `json:"command"`
	Argv      []string   `json:"argv"`
	Script    *string    `json:"script"`
	Recipe    *string    `json:"recipe"`
	Protected *Protected `json:"protected"`
}

// Protected is what of a call names a read-only path.
type Protected struct {
	Path  string `json:"path"`
	Entry string `json:"entry"`
	Via   string `json:"via"`
}
