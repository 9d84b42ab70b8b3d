// Package proto is what mur-shell answers with: the objects of the protocol of
// mur-shell serve and of run --json (SHL section 2), and the words of a tool's
// result (SHL section 3). It starts nothing.
package proto

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
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

// ToolResult is what the model gets, still without the path of a log.
type ToolResult struct {
	Status    string            `json:"status"` // passed, failed or error
	Summary   *string           `json:"summary"`
	Data      *string           `json:"data"`
	DataPath  *string           `json:"data_path"`
	Truncated *bool             `json:"truncated"`
	Metadata  map[string]string `json:"metadata"`
}

// Done is the answer to a command that ran. Argv is without argv[0].
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

// Refused is the answer to a request that started nothing.
type Refused struct {
	Event      string     `json:"event"`
	ID         string     `json:"id"`
	Reason     string     `json:"reason"`
	Message    string     `json:"message"`
	ToolResult ToolResult `json:"tool_result"`
}

// Fatal says that nothing more will be started and the session must end.
type Fatal struct {
	Event      string      `json:"event"`
	ID         string      `json:"id"`
	Code       diag.Code   `json:"code"`
	Step       string      `json:"step"`
	Errno      int         `json:"errno"`
	Message    string      `json:"message"`
	ToolResult *ToolResult `json:"tool_result,omitempty"`
}

// Refuse makes a refusal with the result the model gets (SHL-30).
func Refuse(id, reason, message string) Refused {
	return Refused{Event: "refused", ID: id, Reason: reason, Message: message, ToolResult: Failure(message)}
}

// Failure is the result of a call that did not run.
func Failure(message string) ToolResult {
	return ToolResult{Status: "error", Summary: &message, Data: &message, Metadata: map[string]string{}}
}

// Line is one line of the protocol.
func Line(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// Data is the text of a finished command (SHL-29). line is what a person would
// type.
func Data(line string, exitCode int, stdout, stderr string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\nExit code: %d\nStdout:\n%s", line, exitCode, stdout)
	if stdout != "" && !strings.HasSuffix(stdout, "\n") {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "Stderr:\n%s", stderr)
	return b.String()
}

// Finished is the result of a command that ran to an end: passed, whatever its
// exit code (SHL-30, SHL-31).
func Finished(tool, line string, d Done) ToolResult {
	summary := fmt.Sprintf("%s exited with code %d", tool, d.ExitCode)
	if d.TimedOut {
		summary = fmt.Sprintf("%s was ended by its time-out (exit code %d)", tool, d.ExitCode)
	}
	data, truncated := Data(line, d.ExitCode, d.Stdout, d.Stderr), d.Truncated
	return ToolResult{Status: "passed", Summary: &summary, Data: &data, Truncated: &truncated, Metadata: map[string]string{}}
}

// Resolved is the answer to a request that only asks what would run (SHL-17).
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

// Protected says which word or key of a call names a protected path.
type Protected struct {
	Path  string `json:"path"`
	Entry string `json:"entry"`
	Via   string `json:"via"`
}

// ResolvedOf describes a call.
func ResolvedOf(id string, c call.Call, binary string) Resolved {
	return Resolved{Event: "resolved", ID: id, Binary: binary, Command: c.Command, Argv: append([]string{}, c.Args...), Script: c.Script, Recipe: c.Recipe}
}
