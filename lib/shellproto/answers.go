package shellproto

import (
	"fmt"

	"github.com/mur-capsules/mur/lib/diag"
)

// The answers, by the word in their member event.
const (
	EventReady       = "ready"
	EventResolved    = "resolved"
	EventDone        = "done"
	EventRefused     = "refused"
	EventFatal       = "fatal"
	EventDemoted     = "demoted"
	EventCompleted   = "completed"
	EventAttached    = "attached"
	EventOutstanding = "outstanding"
	EventKilled      = "killed"
	EventBye         = "bye"
)

// The reasons of a refusal (SHL-21).
const (
	ReasonProtocol      = "protocol"
	ReasonBusy          = "busy"
	ReasonNotAllowed    = "not-allowed"
	ReasonInput         = "input"
	ReasonProtectedPath = "protected-path"
	ReasonWorkdirSize   = "workdir-size"
	ReasonSpawn         = "spawn"
	ReasonNotFound      = "not-found"
	ReasonShuttingDown  = "shutting-down"
)

// Ready is the first answer of a session (SHL-14).
type Ready struct {
	Event     string `json:"event"`
	V         int    `json:"v"`
	Class     string `json:"class"`
	Tier      string `json:"tier"`
	SessionID string `json:"session_id"`
	PID       int    `json:"pid"`
	Version   string `json:"version"` // of mur-shell
}

// ToolResult is what the model gets, still without the path of a log.
type ToolResult struct {
	Status    string            `json:"status"` // passed, failed or error
	Summary   *string           `json:"summary"`
	Data      *string           `json:"data"`
	DataPath  *string           `json:"data_path"`
	Truncated *bool             `json:"truncated"`
	Metadata  map[string]string `json:"metadata"`
}

// Done is the answer to a command or native tool that ran to an end. Argv is without
// argv[0].
type Done struct {
	Event         string     `json:"event"`
	ID            string     `json:"id"`
	Tool          string     `json:"tool"`
	Binary        string     `json:"binary"`
	Command       string     `json:"command"`
	Argv          []string   `json:"argv"`
	Script        *string    `json:"script"`
	Recipe        *string    `json:"recipe"`
	ExitCode      int        `json:"exit_code"`
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
	ToolResult    ToolResult `json:"tool_result"`
}

// Refused is the answer to a request that started nothing. Reason is a word of
// SHL-21.
type Refused struct {
	Event      string     `json:"event"`
	ID         string     `json:"id"`
	Reason     string     `json:"reason"`
	Message    string     `json:"message"`
	ToolResult ToolResult `json:"tool_result"`
}

// Fatal says that nothing more will be started and the session must end (SHL-22).
type Fatal struct {
	Event      string      `json:"event"`
	ID         string      `json:"id"`
	Code       diag.Code   `json:"code"`
	Step       string      `json:"step"`
	Errno      int         `json:"errno"`
	Message    string      `json:"message"`
	ToolResult *ToolResult `json:"tool_result,omitempty"`
}

// Resolved is the answer to a request that only asks what would run (SHL-17). Call is
// a handle for one exec.
type Resolved struct {
	Event     string     `json:"event"`
	ID        string     `json:"id"`
	Call      string     `json:"call"`
	Binary    string     `json:"binary"`
	Command   string     `json:"command"`
	Argv      []string   `json:"argv"`
	Script    *string    `json:"script"`
	Recipe    *string    `json:"recipe"`
	Protected *Protected `json:"protected"`
}

// Protected says which word or key of a call names a read-only path.
type Protected struct {
	Path  string `json:"path"`
	Entry string `json:"entry"`
	Via   string `json:"via"`
}

// String says it to a person (CON-244).
func (p Protected) String() string {
	return fmt.Sprintf("%s is protected: capabilities.filesystem.read_only lists %s, and %s names it", p.Path, p.Entry, p.Via)
}

// Demoted says that a command goes on in the background (SHL-98).
type Demoted struct {
	Event       string   `json:"event"`
	ID          string   `json:"id"`
	Binary      string   `json:"binary"`
	Command     string   `json:"command"`
	Argv        []string `json:"argv"`
	StartedAtMS int64    `json:"started_at_ms"`
}

// Completed is the end of a demoted command (SHL-104).
type Completed struct {
	Event         string  `json:"event"`
	ID            string  `json:"id"`
	Binary        string  `json:"binary"`
	Command       string  `json:"command"`
	ExitCode      int     `json:"exit_code"`
	Signal        *string `json:"signal"`
	DurationMS    int64   `json:"duration_ms"`
	OutputBytes   int64   `json:"output_bytes"`
	ResourceLimit *string `json:"resource_limit"`
	Error         *string `json:"error"`
}

// Outstanding lists the demoted commands that run.
type Outstanding struct {
	Event    string    `json:"event"`
	ID       string    `json:"id"`
	Commands []Running `json:"commands"`
}

// Running is a demoted command that runs.
type Running struct {
	ID          string `json:"id"`
	Binary      string `json:"binary"`
	Command     string `json:"command"`
	StartedAtMS int64  `json:"started_at_ms"`
	RunningMS   int64  `json:"running_ms"`
}

// Killed answers kill; Found is false when no such command ran any more.
type Killed struct {
	Event  string `json:"event"`
	ID     string `json:"id"`
	Target string `json:"target"`
	Found  bool   `json:"found"`
}

// Plain is an answer without content: attached and bye.
type Plain struct {
	Event string `json:"event"`
	ID    string `json:"id"`
}
