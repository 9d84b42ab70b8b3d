package component

import (
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// funcs maps the functions of an interface to their signatures, written as
// wasmtime.Component.ImportFuncs does: WIT with the named types spelled out.
type funcs map[string]string

// The types of section 3 of the WIT part, spelled out.
const (
	tToolInput  = "record { data: option<string>, log-path: option<string> }"
	tToolResult = "record { status: enum { passed, failed, error }, summary: option<string>, data: option<string>, " +
		"data-path: option<string>, truncated: bool, metadata: list<tuple<string, string>> }"
	tRuntime      = "enum { wasm, native }"
	tSummary      = "record { name: string, version: string, runtime: " + tRuntime + " }"
	tArtifactInfo = "record { name: string, version: string, description: string, tags: list<string>, runtime: " + tRuntime +
		", input-schema: option<string>, output-schema: option<string> }"
	tState      = "record { capsule-id: string, installed: list<" + tSummary + ">, capabilities: string }"
	tMessage    = "record { message-id: string, context-id: option<string>, text: string }"
	tShell      = "record { exit-code: s32, stdout: string, stderr: string, truncated: bool, full-output-path: option<string> }"
	tTaskResult = "record { task-id: string, context-id: string, state: string }"
)

// The versioned names of the interfaces served or asked for (WIT-8).
const (
	ifToolRun    = "murmur:tool/run@0.1.0"
	ifCapsuleRun = "murmur:capsule/run@0.1.0"
	ifInvoke     = "murmur:tool-registry/invoke@0.1.0"
	ifManage     = "murmur:artifact-manager/manage@0.1.0"
	ifSend       = "murmur:message/send@0.1.0"
	ifShell      = "murmur:shell/execute@0.1.0"
	ifTask       = "murmur:task/task@0.1.0"
	ifChunks     = "murmur:text/chunks@0.1.0"
)

// signatures holds the functions of every interface that this package calls or
// serves. An interface that only defines types for another (murmur:tool/run in
// a script capsule) has no functions a guest could import beyond these.
var signatures = map[string]funcs{
	ifToolRun:    {"run": "func(input: " + tToolInput + ") -> " + tToolResult},
	ifCapsuleRun: {"run": "func()"},
	ifInvoke:     {"invoke": "func(name: string, input: " + tToolInput + ") -> result<" + tToolResult + ", string>"},
	ifManage: {
		"list":        "func() -> list<" + tSummary + ">",
		"describe":    "func(name: string) -> result<" + tArtifactInfo + ", string>",
		"search":      "func(query: string) -> result<list<" + tSummary + ">, string>",
		"pull":        "func(name: string, version: string) -> result<" + tSummary + ", string>",
		"remove":      "func(name: string) -> result<bool, string>",
		"diagnostics": "func() -> result<" + tState + ", string>",
	},
	ifSend:  {"send": "func(peer-url: string, message: " + tMessage + ") -> result<" + tTaskResult + ", string>"},
	ifShell: {"run": "func(binary: string, args: list<string>, env: list<tuple<string, string>>) -> result<" + tShell + ", string>"},
	ifTask:  {"request-input": "func(prompt: string) -> string"},
	ifChunks: {
		"emit-chunk":          "func(chunk: string)",
		"emit-thinking-chunk": "func(chunk: string)",
	},
}

// world is what one kind of guest may import from murmur packages (WIT-24,
// WIT-25). types are interfaces imported for their types alone. What a kind
// exports is wasmhost.Export.
type world struct {
	imports []string
	types   []string
}

// worlds has no imports for hooks: nothing here serves those yet, so a hook
// that asks for one is refused by name.
var worlds = map[wasmhost.Kind]world{
	wasmhost.Tool:    {imports: []string{ifChunks, ifTask}},
	wasmhost.Driver:  {imports: []string{ifChunks, ifTask}},
	wasmhost.Capsule: {imports: []string{ifInvoke, ifManage, ifSend, ifShell}, types: []string{ifToolRun}},
	wasmhost.Hook:    {},
}

// sameInterface reports whether two names differ in nothing but the version.
func sameInterface(a, b string) bool {
	a, _, _ = strings.Cut(a, "@")
	b, _, _ = strings.Cut(b, "@")
	return a == b
}
