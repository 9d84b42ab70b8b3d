package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/gate"
	"github.com/mur-capsules/mur/mur-launch/internal/shell"
)

// Processes runs what is no guest. An error says that nothing ran, or that the
// session has no one to run it any more.
type Processes interface {
	NativeTool(ctx context.Context, name string, in wasmhost.ToolInput) (wasmhost.ToolResult, error)
	// Execute runs an allowed program; the line is the trace's of a command that ran.
	Execute(ctx context.Context, program string, args []string, env [][2]string) (wasmhost.ShellResult, *trace.Shell, error)
}

// Shell answers murmur:shell/execute, or is nil where nothing is allowed (WIT-76).
func (d *Desk) Shell() func(ctx context.Context, program string, args []string, env [][2]string) (wasmhost.ShellResult, error) {
	if d.procs == nil || len(d.doc.Policy.ShellAllow) == 0 {
		return nil
	}
	return d.execute
}

func (d *Desk) execute(ctx context.Context, program string, args []string, env [][2]string) (wasmhost.ShellResult, error) {
	begin := time.Now()
	result, line, err := d.procs.Execute(ctx, program, args, env)
	var p *shell.ProtectedError
	if errors.As(err, &p) {
		return wasmhost.ShellResult{}, d.deny(d.gate.Command(p.Binary, p.Path, p.Entry, p.Via))
	}
	call := executeLine(program, args, env, result, err)
	call.DurationMS = time.Since(begin).Milliseconds()
	if rerr := d.record(call); rerr != nil {
		return wasmhost.ShellResult{}, rerr
	}
	if line != nil {
		if rerr := d.record(*line); rerr != nil {
			return wasmhost.ShellResult{}, rerr
		}
	}
	return result, err
}

// executeLine is the tool_call of a command (WIT-76). Of its variables it has the
// names alone.
func executeLine(program string, args []string, env [][2]string, r wasmhost.ShellResult, err error) trace.ToolCall {
	in := struct {
		Args []string `json:"args"`
		Env  []string `json:"env"`
	}{append([]string{}, args...), []string{}}
	for _, kv := range env {
		in.Env = append(in.Env, kv[0])
	}
	input, _ := json.Marshal(in) // texts always encode
	line := trace.ToolCall{ToolName: cut(program, 200), Input: input, InputBytes: int64(len(input)), Status: "ok"}
	text := r.Stdout
	if r.Stderr != "" {
		text += "\n" + r.Stderr
	}
	if err != nil {
		text = err.Error()
		line.Error, line.Status = text, "error"
	}
	line.Output, line.OutputBytes = &text, int64(len(text))
	return line
}

// deny records a refused call, which has no other line (TRC-101), and returns what
// the capsule reads.
func (d *Desk) deny(refused *gate.Denied) error {
	// A refusal that can not be recorded refuses all the same (TOL-88).
	if err := d.record(refused.Line); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", wasmhost.ErrDenied, refused.Text)
}

// isNative tells what runs as a process from what is a guest.
func isNative(a *session.Artifact) bool { return a.Implementation == session.ImplNative }
