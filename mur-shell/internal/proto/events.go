package proto

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/mur-capsules/mur/lib/diag"
)

// Ready is the first answer of a session (SHL-14).
type Ready struct {
	Event     string `json:"event"`
	V         int    `json:"v"`
	Class     string `json:"class"`
	Tier      string `json:"tier"`
	SessionID string `json:"session_id"`
	PID       int    `json:"pid"`
	Version   string `json:"version"` // of this program
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

// Plain is an answer without content: attached.
type Plain struct {
	Event string `json:"event"`
	ID    string `json:"id"`
}

// Bye is the last answer.
type Bye = Plain

// FatalOf describes an error that ends the session (SHL-22, SHL-34).
func FatalOf(id string, err error) Fatal {
	f := Fatal{Event: "fatal", ID: id, Code: diag.CodeOf(err), Message: err.Error()}
	if e, ok := diag.AsError(err); ok {
		if s, ok := e.Names["step"].(string); ok {
			f.Step = s
		}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	result := Failure(err.Error())
	f.ToolResult = &result
	return f
}

// String says what of a call names a protected path (CON-244).
func (p Protected) String() string {
	return fmt.Sprintf("%s is protected: capabilities.filesystem.read_only lists %s, and %s names it", p.Path, p.Entry, p.Via)
}
