package manifest

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
	"github.com/mur-capsules/mur/lib/policy"
)

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
	Name    string // bare name; its form is judged by the packer (E-BLD-001)
	Version string
	// Role is what runtime says; absent or unknown, wasm and native included, is
	// tool outside packing (MAN-240).
	Role           policy.Role
	Implementation Kind     // WASM or Native (MAN-241)
	Kind           Kind     // execution, else derived (MAN-242, MAN-250)
	RequiresFiles  []string // default applied, never nil; paths are judged by the packer
	Description    string
	Tags           []string
	// InputSchema is compact JSON, EmptySchema by default (MAN-270). It is what
	// the author wrote also for a skill, which is offered with EmptySchema
	// (MAN-271).
	InputSchema   string
	OutputSchema  string // compact JSON, empty when absent
	ProviderTool  *ProviderTool
	ProviderTools []string
	ModelLimits   []ModelLimit

	top *block

	*Positions
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

// Matches tells whether the limit is that of a model.
func (m ModelLimit) Matches(model string) bool {
	if prefix, open := strings.CutSuffix(m.Match, "*"); open {
		return strings.HasPrefix(model, prefix)
	}
	return m.Match == model
}

// Limit is the first of the limits that matches a model, or nil.
func (a *Artifact) Limit(model string) *ModelLimit {
	for i := range a.ModelLimits {
		if a.ModelLimits[i].Matches(model) {
			return &a.ModelLimits[i]
		}
	}
	return nil
}

// ArtifactOptions say how an artifact manifest is read.
type ArtifactOptions struct {
	Options
	// Pack applies the rules of mur-lock pack: runtime is required and known,
	// implementation is known (MAN-240, MAN-241), the hook contract holds
	// (MAN-264), and inference_auth is refused (MAN-268).
	Pack bool
}

// formerAuth is the block name that upstream_auth replaced.
const formerAuth = "inference_auth"

var (
	providerToolKeys = []string{"vendor", "type"}
	modelLimitKeys   = []string{"match", "context_window", "max_output_tokens"}
)

// ParseArtifact reads an artifact's own manifest. A capsule's keys beside it are
// known and not looked at (MAN-5, MAN-6). The error is a *diag.Error with
// E-MAN-001, E-MAN-002 or E-MAN-003, and with Pack also E-BLD-004. mur-lock
// calls it when packing, mur-stage for each resolved artifact; name is the file,
// or the archive and the file in it.
func ParseArtifact(name string, data []byte, opts ArtifactOptions) (*Artifact, []diag.Warning, error) {
	d, top, err := openTop(name, data, opts.Options, append(slices.Clone(topKeys), formerAuth))
	if err != nil {
		return nil, nil, err
	}
	a := &Artifact{Positions: d.Pos, top: top}
	if top != nil {
		a.decode(d, top, opts.Pack)
	}
	warnings := d.finish(top.Trimmed("mur_version"), opts.Options)
	if err := d.Err(); err != nil {
		return nil, warnings, err
	}
	if opts.Pack && a.Role == policy.Hook {
		if _, err := a.Contract(a.Name + "@" + a.Version); err != nil {
			return nil, warnings, err
		}
	}
	return a, warnings, nil
}

func (a *Artifact) decode(d *decoder, top *block, pack bool) {
	a.Name = d.identity(top, "name")
	a.Version = d.identity(top, "version")
	a.Description = top.Trimmed("description")
	if pack && top.Has(formerAuth) {
		d.Fault("E-BLD-004", top.Keys[formerAuth], formerAuth, "the block %s is now called upstream_auth", formerAuth).
			Name("old", formerAuth).Name("new", "upstream_auth").Hint("rename the block; its keys are header and value")
	}
	a.Role = d.artifactRole(top, pack)
	a.Implementation = d.implementation(top, pack)
	a.Kind = d.execution(top, a)
	switch files := top.Texts("requires_files"); {
	case files != nil:
		a.RequiresFiles = files
	case a.Role == policy.Skill:
		a.RequiresFiles = []string{"skill.md"}
	default:
		a.RequiresFiles = []string{}
	}
	a.Tags = top.Texts("tags")
	a.InputSchema = d.schema(top, "input_schema")
	if a.InputSchema == "" {
		a.InputSchema = EmptySchema
	}
	a.OutputSchema = d.schema(top, "output_schema")
	a.ProviderTool = d.providerTool(top, a)
	a.ProviderTools = top.Texts("provider_tools")
	a.ModelLimits = d.modelLimits(top)
}

// artifactRole reads runtime (MAN-240).
func (d *decoder) artifactRole(top *block, pack bool) policy.Role {
	if top.Node("runtime") == nil {
		if pack {
			d.Fault("E-MAN-001", top.Keys["runtime"], "runtime", "the required key is missing").
				Name("file", d.Pos.File()).Name("field", "runtime").Hint("write tool, driver, hook or skill")
		}
		return policy.Tool
	}
	text, ok := top.Text("runtime")
	switch role := policy.Role(text); role {
	case policy.Tool, policy.Driver, policy.Hook, policy.Skill:
		return role
	}
	if pack && ok {
		d.Fault("E-MAN-001", top.Keys["runtime"], "runtime", "the value %s is not one of tool, driver, hook, skill", diag.Quote(text)).
			Name("file", d.Pos.File()).Name("field", "runtime").Hint("how an artifact is built is said by implementation")
	}
	return policy.Tool
}

// implementation reads how a tool is built (MAN-241).
func (d *decoder) implementation(top *block, pack bool) Kind {
	if pack {
		return Kind(top.WordOr("implementation", string(WASM), string(Native)))
	}
	if n := top.Node("implementation"); n != nil && strictyaml.Resolve(n).Value == string(Native) {
		return Native
	}
	return WASM
}

// execution reads the payload kind, or derives it (MAN-242, MAN-250).
func (d *decoder) execution(top *block, a *Artifact) Kind {
	if top.Node("execution") != nil {
		text, ok := top.Text("execution")
		switch k := Kind(strings.ToLower(text)); k {
		case WASM, Native, Static:
			return k
		}
		if ok {
			top.Refuse("execution", "the value %s is not one of wasm, native, static", diag.Quote(text)).Name("value", text)
		}
	}
	switch {
	case a.Role == policy.Skill:
		return Static
	case a.Role == policy.Tool && a.Implementation == Native:
		return Native
	}
	return WASM
}

// schema reads a schema as compact JSON: a mapping is converted, text that is
// JSON is taken as the value it holds, other text as a JSON string (MAN-270).
// Empty when absent.
func (d *decoder) schema(top *block, key string) string {
	n := top.Node(key)
	if n == nil {
		return ""
	}
	v := strictyaml.Resolve(n)
	if v.Kind == yaml.ScalarNode && strictyaml.KindOf(v) == "string" && json.Valid([]byte(v.Value)) {
		var b bytes.Buffer
		_ = json.Compact(&b, []byte(v.Value)) // valid, so it compacts
		return b.String()
	}
	if k := strictyaml.KindOf(v); k != "mapping" && k != "string" {
		d.Mismatch(n, key, "mapping or JSON text")
		return ""
	}
	out, err := strictyaml.JSON(n)
	if err != nil {
		top.Refuse(key, "the schema can not be written as JSON: %w", err)
	}
	return string(out)
}

func (d *decoder) providerTool(top *block, a *Artifact) *ProviderTool {
	b := top.Sub("provider_tool", providerToolKeys)
	if b == nil {
		return nil
	}
	p := &ProviderTool{Vendor: b.Required("vendor"), Type: b.Required("type")}
	if a.Role != policy.Tool || a.Kind != Static {
		top.Refuse("provider_tool", "only a tool without a payload of its own is run by the provider").
			Hint("write runtime: tool and execution: static")
	}
	return p
}

func (d *decoder) modelLimits(top *block) []ModelLimit {
	var out []ModelLimit
	for _, it := range top.List("model_limits") {
		b := d.Open(it.Node, it.Path, modelLimitKeys)
		if b == nil {
			continue
		}
		m := ModelLimit{
			Match:           b.Required("match"),
			ContextWindow:   b.Whole("context_window", 1, math.MaxInt64),
			MaxOutputTokens: b.Whole("max_output_tokens", 1, math.MaxInt64),
		}
		if strings.Contains(strings.TrimSuffix(m.Match, "*"), "*") {
			b.Refuse("match", "%s has a * elsewhere than at its end", diag.Quote(m.Match))
		}
		out = append(out, m)
	}
	return out
}
