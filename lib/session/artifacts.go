package session

import "github.com/mur-capsules/mur/lib/policy"

// The values of Artifact.Implementation.
const (
	ImplComponent = "component"
	ImplCore      = "core"
	ImplNative    = "native"
	ImplSkill     = "skill"
	ImplProvider  = "provider"
)

// Artifact is one declared artifact, resolved and verified (SES section 4.3).
type Artifact struct {
	Name           string        `json:"name"`                                                        // <scope>/<name>
	ToolName       string        `json:"tool_name"`                                                   // what it is dispatched and staged under
	Version        string        `json:"version"`                                                     // "local" for a local skill source
	Role           string        `json:"role" words:"tool,driver,hook,skill"`                         // tool, driver, hook, skill
	Kind           string        `json:"kind" words:"wasm,native,static"`                             // wasm, native, static
	Implementation string        `json:"implementation" words:"component,core,native,skill,provider"` // component, core, native, skill, provider
	Origin         Origin        `json:"origin"`
	Store          *string       `json:"store"`  // project, global, or a directory of --store; nil for a local source
	Source         *string       `json:"source"` // local skill path
	Archive        *File         `json:"archive"`
	Payload        *Payload      `json:"payload"`
	Compiled       *Compiled     `json:"compiled"`
	ManifestPath   string        `json:"manifest_path"` // tools/<tool name>/murmur.yaml in the runtime directory
	Interface      *string       `json:"interface"`     // the export, with its version
	Grant          *policy.Grant `json:"grant"`
	ConfigJSON     *string       `json:"config_json"` // MURMUR_ARTIFACT_CONFIG
	Hook           *Hook         `json:"hook"`
	Gateway        *int          `json:"gateway"` // index into Document.Gateways
}

// Origin says who pinned an artifact: "operator", or "runtime" and the session
// that pulled it.
type Origin struct {
	Kind    string `json:"kind" words:"operator,runtime"`
	Session string `json:"session,omitempty"`
}

// Payload is the archive entry that is the component or program.
type Payload struct {
	Entry  string `json:"entry"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Compiled is a compiled form. It is an optimisation: a form that is missing or
// does not have the recorded hash is compiled again (SES-92). Path is its place
// beneath the compiled directory; only the engine with Fingerprint may load it.
type Compiled struct {
	Path        string `json:"path"`
	SHA256      string `json:"sha256"`
	Fingerprint string `json:"fingerprint"`
}

// Hook is a hook's behaviour, taken from its own bundled manifest; OnOverflow is
// the operator's. Binding is nil for every session event.
type Hook struct {
	Binding       *string `json:"binding"`
	ExecutionMode string  `json:"execution_mode" words:"blocking,async"`
	CommitPolicy  string  `json:"commit_policy"`
	OnOverflow    string  `json:"on_overflow" words:"drop,block"`
}

// ProviderTools are the provider tools declared and the vendors every declared
// driver can translate, which a later pull is checked against (TOL-110).
type ProviderTools struct {
	Declared []ProviderTool `json:"declared"`
	Vendors  []string       `json:"vendors"`
}

// ProviderTool is a tool the model's provider runs itself.
type ProviderTool struct {
	ToolName string `json:"tool_name"`
	Vendor   string `json:"vendor"`
	Type     string `json:"type"`
}
