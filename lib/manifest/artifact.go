package manifest

import "github.com/mur-capsules/mur/lib/policy"

// Kind is a payload kind.
type Kind string

// The payload kinds.
const (
	WASM   Kind = "wasm"
	Native Kind = "native"
	Static Kind = "static"
)

// Artifact is an artifact's own manifest (section 14). It never carries a
// grant: capabilities, config, gateway and on_overflow in it are ignored,
// whoever published it (MAN-6).
type Artifact struct {
	Name    string // bare name; its form is judged by the packer
	Version string
	// Role is what runtime says; absent or unknown, wasm and native included, is
	// tool outside packing (MAN-240).
	Role           policy.Role
	Implementation Kind     // wasm or native (MAN-241)
	Kind           Kind     // execution, else derived (MAN-242, MAN-250)
	RequiresFiles  []string // default applied, never nil
	Description    string
	Tags           []string
	// InputSchema is JSON; the default is the empty object schema (MAN-270). It is
	// what the author wrote also for a skill, which is offered with EmptySchema
	// (MAN-271).
	InputSchema   string
	OutputSchema  string // JSON, empty when absent
	ProviderTool  *ProviderTool
	ProviderTools []string
	ModelLimits   []ModelLimit

	contract contractWords
	auth     authBlock

	*positions
}

// EmptySchema is the input schema of an artifact that declares none.
const EmptySchema = `{"type":"object","properties":{}}`

// ProviderTool says that the model's provider runs the tool (MAN-311).
type ProviderTool struct{ Vendor, Type string }

// ModelLimit is a known limit of the models Match names: an exact model or a
// prefix ending in * (MAN-313). Nil is unknown.
type ModelLimit struct {
	Match           string
	ContextWindow   *int64
	MaxOutputTokens *int64
}

// Contract is a hook's behaviour (MAN-251 to MAN-253).
type Contract struct {
	Binding       string // empty: every session event
	ExecutionMode string // blocking or async
	CommitPolicy  string
}

// UpstreamAuth says how a gateway attaches the key: Value holds {key} once
// (MAN-266).
type UpstreamAuth struct{ Header, Value string }
