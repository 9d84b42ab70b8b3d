// Package proto is what mur-shell answers with: it fills the objects of
// lib/shellproto (SHL section 2) from what happened, and finds the words of a tool's
// result (SHL section 3). It starts nothing.
package proto

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
)

// Refuse makes a refusal with the result the model gets (SHL-30).
func Refuse(id, reason, message string) shellproto.Refused {
	return shellproto.Refused{Event: shellproto.EventRefused, ID: id, Reason: reason, Message: message, ToolResult: Failure(message)}
}

// Failure is the result of a call that did not run.
func Failure(message string) shellproto.ToolResult {
	return shellproto.ToolResult{Status: "error", Summary: &message, Data: &message, Metadata: map[string]string{}}
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
func Finished(tool, line string, d shellproto.Done) shellproto.ToolResult {
	summary := fmt.Sprintf("%s exited with code %d", tool, d.ExitCode)
	if d.TimedOut {
		summary = fmt.Sprintf("%s was ended by its time-out (exit code %d)", tool, d.ExitCode)
	}
	data, truncated := Data(line, d.ExitCode, d.Stdout, d.Stderr), d.Truncated
	return shellproto.ToolResult{Status: "passed", Summary: &summary, Data: &data, Truncated: &truncated, Metadata: map[string]string{}}
}

// ResolvedOf describes a call.
func ResolvedOf(id string, c call.Call, binary string) shellproto.Resolved {
	return shellproto.Resolved{Event: shellproto.EventResolved, ID: id, Binary: binary, Command: c.Command, Argv: append([]string{}, c.Args...), Script: c.Script, Recipe: c.Recipe}
}

// FatalOf describes an error that ends the session (SHL-22, SHL-34).
func FatalOf(id string, err error) shellproto.Fatal {
	f := shellproto.Fatal{Event: shellproto.EventFatal, ID: id, Code: diag.CodeOf(err), Message: err.Error()}
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
