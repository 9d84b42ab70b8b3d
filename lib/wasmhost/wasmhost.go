// Package wasmhost says what a guest is to the rest of mur: WebAssembly that is
// compiled once, is instantiated afresh for each call, holds only what the call
// grants it, and ends within the call's limits.
//
// Two engines stand behind the interfaces here: wasmhost/component runs
// components, wasmhost/core runs core modules. A caller can not tell them apart by
// results, errors or codes (WIT-65). Package wasmhost itself runs nothing and
// imports no engine.
package wasmhost

import (
	"context"
	"io"
	"net/http"
	"os"
	"time"
)

// Kind is the part a guest plays; it decides its imports and its export (WIT-25).
type Kind string

// The kinds of guests.
const (
	Tool    Kind = "tool"
	Driver  Kind = "driver"
	Capsule Kind = "capsule" // a script capsule
	Hook    Kind = "hook"
)

// EngineInfo identifies an engine and the code it generates. Fingerprint covers
// name, version, every setting that changes generated code, target, CPU
// features and this program's build (ART-127); it is safe in a file name.
type EngineInfo struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Fingerprint string `json:"fingerprint"`
}

// Engine compiles guests of one format. It is safe for concurrent use.
type Engine interface {
	Info() EngineInfo
	// Compile checks that wasm imports and exports what kind allows and
	// compiles it. The error is a *LoadError.
	Compile(ctx context.Context, wasm []byte, kind Kind) (Guest, error)
	// Vet tells whether Compile would take wasm, without the cost of compiling it
	// where it does. It validates all of it, the code of functions included. The
	// error is that of Compile.
	Vet(ctx context.Context, wasm []byte, kind Kind) error
	// Load makes a guest from a file, open at its start, that holds a form which
	// Guest.Form returned on an engine with the same fingerprint. The caller has
	// verified the contents: they are native code and are trusted. The engine may
	// map the file: it may be closed after Load and be replaced, not written to.
	Load(ctx context.Context, form *os.File, kind Kind) (Guest, error)
	Close() error
}

// Guest is compiled code. It is safe for concurrent use; each call runs in an
// instance of its own.
type Guest interface {
	// Interface is the versioned name of the export the kind asks for, such as
	// "murmur:tool/run@0.1.0".
	Interface() string
	// Form returns the compiled form for the disk cache.
	Form() ([]byte, error)
	// RunTool calls a tool or driver. The error is a *Fault.
	RunTool(ctx context.Context, in *Instance, input ToolInput) (ToolResult, error)
	// RunCapsule calls a script capsule's run function. The error is a *Fault.
	RunCapsule(ctx context.Context, in *Instance) error
	Close() error
}

// Status is a tool's verdict on its own call.
type Status string

// The values of Status.
const (
	Passed Status = "passed"
	Failed Status = "failed"
	Error  Status = "error"
)

// ToolInput is the input of murmur:tool/run (WIT-9); nil is an absent option.
type ToolInput struct {
	Data    *string `json:"data"`
	LogPath *string `json:"log_path"`
}

// ToolResult is the result of murmur:tool/run (WIT-9); nil is an absent option.
type ToolResult struct {
	Status    Status      `json:"status"`
	Summary   *string     `json:"summary"`
	Data      *string     `json:"data"`
	DataPath  *string     `json:"data_path"`
	Truncated bool        `json:"truncated"`
	Metadata  [][2]string `json:"metadata"`
}

// Instance is everything one call is given. What is nil or empty is denied.
type Instance struct {
	// Name is the tool or capsule name; a command sees it as its first argument.
	Name string
	// Env holds KEY=VALUE strings, exactly what the guest sees.
	Env []string
	// Dirs are the granted directories.
	Dirs []Dir
	// HTTP sends the guest's requests; nil denies every one.
	HTTP HTTP
	// Stdin is empty for every kind; Stdout is used by capsules only (WIT-70).
	Stdout, Stderr io.Writer
	Limits         Limits
	Imports        Imports
}

// Dir is a directory held open and granted for reading and writing. Guest is
// its name inside: "." for the work folder, "state" for the store (WIT-31);
// core modules see them as / and /state (WIT-58).
type Dir struct {
	Guest string
	Root  *os.Root
}

// HTTP sends one request of a guest. It enforces the allow rules on the URL and
// on the address dialled, follows no redirect and honours the request's
// context. A refusal by rule satisfies errors.Is(err, ErrDenied).
type HTTP interface {
	RoundTrip(*http.Request) (*http.Response, error)
}

// Limits bound one call (MAN-130 to MAN-133). Zero means the default of
// DefaultLimits, never unlimited.
type Limits struct {
	MemoryBytes   uint64
	TableElements uint32
	Instances     uint32
	// Deadline is wall-clock time for the call, host calls included (WIT-32).
	Deadline time.Duration
}

// DefaultLimits are the defaults of MAN-130 to MAN-133.
func DefaultLimits() Limits {
	return Limits{MemoryBytes: 512 << 20, TableElements: 100_000, Instances: 1000, Deadline: 600 * time.Second}
}

// Imports are the Murmur functions a call may use, by kind (WIT-25). A nil
// function is "not available in this context" (WIT-27).
type Imports struct {
	// Invoke calls another tool: murmur:tool-registry/invoke, script capsules
	// only. Its error is the string the guest gets as the err case; an undeclared
	// name satisfies errors.Is(err, ErrDenied).
	Invoke func(ctx context.Context, name string, in ToolInput) (ToolResult, error)
	// Artifacts answers murmur:artifact-manager/manage, script capsules only.
	Artifacts ArtifactManager
	// EmitChunk takes streamed text of tools and drivers; nil drops it.
	EmitChunk func(kind ChunkKind, text string)
	// RequestInput waits for an answer from the user; tools only.
	RequestInput func(ctx context.Context, prompt string) (string, error)
	// Send posts a message to a peer; script capsules only.
	Send func(ctx context.Context, peerURL string, m Message) (TaskResult, error)
	// Shell runs a program of capabilities.shell.allow with an argument list and
	// variables of the call's own: murmur:shell/execute, script capsules only, and
	// nil where nothing is allowed. A command that ran is a result, whatever its
	// exit code; a program that is not allowed satisfies errors.Is(err, ErrDenied).
	Shell func(ctx context.Context, program string, args []string, env [][2]string) (ShellResult, error)
}

// ChunkKind tells text from thinking (WIT-16).
type ChunkKind int

// The kinds of streamed chunks, numbered as in WIT-43.
const (
	TextChunk     ChunkKind = 0
	ThinkingChunk ChunkKind = 1
)

// ArtifactManager answers murmur:artifact-manager/manage (WIT-12); an error is
// the string of the err case.
type ArtifactManager interface {
	List(ctx context.Context) []ArtifactSummary
	Describe(ctx context.Context, name string) (ArtifactInfo, error)
	Search(ctx context.Context, query string) ([]ArtifactSummary, error)
	Pull(ctx context.Context, name, version string) (ArtifactSummary, error)
	Remove(ctx context.Context, name string) (bool, error)
	Diagnostics(ctx context.Context) (RuntimeState, error)
}

// ArtifactSummary names an artifact; Runtime is "wasm" or "native".
type ArtifactSummary struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Runtime string `json:"runtime"`
}

// ArtifactInfo describes an artifact; the schemas are JSON text or nil.
type ArtifactInfo struct {
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Description  string   `json:"description"`
	Tags         []string `json:"tags"`
	Runtime      string   `json:"runtime"`
	InputSchema  *string  `json:"input_schema"`
	OutputSchema *string  `json:"output_schema"`
}

// RuntimeState is the answer of manage.diagnostics.
type RuntimeState struct {
	CapsuleID    string            `json:"capsule_id"`
	Installed    []ArtifactSummary `json:"installed"`
	Capabilities string            `json:"capabilities"`
}

// ShellResult is what murmur:shell/execute returns (WIT-13). Each stream holds its
// first 16 KiB; FullOutputPath names the log of all of it, relative to the records
// directory, when it was cut and kept.
type ShellResult struct {
	ExitCode       int32   `json:"exit_code"`
	Stdout         string  `json:"stdout"`
	Stderr         string  `json:"stderr"`
	Truncated      bool    `json:"truncated"`
	FullOutputPath *string `json:"full_output_path"`
}

// Message is what murmur:message/send takes.
type Message struct {
	MessageID string  `json:"message_id"`
	ContextID *string `json:"context_id"`
	Text      string  `json:"text"`
}

// TaskResult is what murmur:message/send returns.
type TaskResult struct {
	TaskID    string `json:"task_id"`
	ContextID string `json:"context_id"`
	State     string `json:"state"`
}
