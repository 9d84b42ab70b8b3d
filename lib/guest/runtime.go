package guest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/guest/internal/murmur"
)

// Reasons the runtime refuses for; errors.Is finds them in what the functions
// of this package, and requests of guesthttp, return.
var (
	ErrInvalid     = murmur.ErrInvalid
	ErrDenied      = murmur.ErrDenied
	ErrUnavailable = murmur.ErrUnavailable
	ErrNotFound    = murmur.ErrNotFound
	ErrTransport   = murmur.ErrTransport
	ErrTooLarge    = murmur.ErrTooLarge
	ErrTimeout     = murmur.ErrTimeout
	ErrCancelled   = murmur.ErrCancelled
	ErrInternal    = murmur.ErrInternal
)

// Invoke calls a tool of the capsule; script capsules only. A tool that ran and
// failed is a Result, not an error.
func Invoke(name string, in Input) (Result, error) {
	arg, err := json.Marshal(in)
	if err != nil {
		return Result{}, err
	}
	if err := murmur.Check(murmur.InvokeTool(name, arg)); err != nil {
		return Result{}, fmt.Errorf("tool %s: %w", name, err)
	}
	var res Result
	err = json.Unmarshal(murmur.Slot(), &res)
	return res, err
}

// InvokeText is Invoke with data and nothing else.
func InvokeText(name, data string) (Result, error) { return Invoke(name, Input{Data: &data}) }

// EmitText streams text of a tool or driver to whoever follows the task;
// outside a task it goes nowhere.
func EmitText(s string) error { return murmur.Check(murmur.EmitChunk(0, s)) }

// EmitThinking streams reasoning, as EmitText does text.
func EmitThinking(s string) error { return murmur.Check(murmur.EmitChunk(1, s)) }

// RequestInput asks the user and waits for the answer; tools only. Outside a
// task it fails with ErrUnavailable; when no answer comes the tool is ended.
func RequestInput(prompt string) (string, error) {
	if err := murmur.Check(murmur.RequestInput(prompt)); err != nil {
		return "", err
	}
	return string(murmur.Slot()), nil
}

// operation makes one `call`; in and out are JSON values.
func operation(op string, in, out any) error {
	arg, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if err := murmur.Check(murmur.Call(op, arg)); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return json.Unmarshal(murmur.Slot(), out)
}

// Command is what Run returns of a command that ran, whatever its exit code. Each
// stream holds its first 16 KiB; FullOutputPath names the log of all of it beneath
// the records directory when it was cut.
type Command struct {
	ExitCode       int     `json:"exit_code"`
	Stdout         string  `json:"stdout"`
	Stderr         string  `json:"stderr"`
	Truncated      bool    `json:"truncated"`
	FullOutputPath *string `json:"full_output_path"`
}

// Run runs a program of the capsule's capabilities.shell.allow in the work folder,
// confined, with the arguments as they are given and the variables NAME=value of
// env beside the session's own; script capsules only. It fails with ErrDenied for
// a program that is not allowed and with ErrUnavailable where none is.
func Run(program string, args []string, env ...string) (Command, error) {
	in := struct {
		Binary string      `json:"binary"`
		Args   []string    `json:"args"`
		Env    [][2]string `json:"env"`
	}{Binary: program, Args: append([]string{}, args...), Env: [][2]string{}}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		in.Env = append(in.Env, [2]string{name, value})
	}
	var c Command
	err := operation("shell.run", in, &c)
	return c, err
}

// Artifact names an installed artifact; Runtime is "wasm" or "native".
type Artifact struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Runtime string `json:"runtime"`
}

// ArtifactInfo describes one; the schemas are JSON text or nil.
type ArtifactInfo struct {
	Artifact
	Description  string   `json:"description"`
	Tags         []string `json:"tags"`
	InputSchema  *string  `json:"input_schema"`
	OutputSchema *string  `json:"output_schema"`
}

// RuntimeState is what Diagnostics answers.
type RuntimeState struct {
	CapsuleID    string     `json:"capsule_id"`
	Installed    []Artifact `json:"installed"`
	Capabilities string     `json:"capabilities"`
}

// Artifacts lists what the session has; script capsules only, as the next two.
func Artifacts() (list []Artifact, err error) {
	return list, operation("artifacts.list", struct{}{}, &list)
}

// Describe tells about one artifact of the session.
func Describe(name string) (info ArtifactInfo, err error) {
	return info, operation("artifacts.describe", map[string]string{"name": name}, &info)
}

// Diagnostics tells about the session itself.
func Diagnostics() (state RuntimeState, err error) {
	return state, operation("artifacts.diagnostics", struct{}{}, &state)
}

// Message is a message to a peer.
type Message struct {
	MessageID string  `json:"message_id"`
	ContextID *string `json:"context_id"`
	Text      string  `json:"text"`
}

// Task is a peer's answer to a message.
type Task struct {
	TaskID    string `json:"task_id"`
	ContextID string `json:"context_id"`
	State     string `json:"state"`
}

// Send posts a message to a peer; script capsules only.
func Send(peerURL string, m Message) (task Task, err error) {
	return task, operation("message.send", map[string]any{"peer_url": peerURL, "message": m}, &task)
}
