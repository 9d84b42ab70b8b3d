package manifest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/policy"
)

// The keys of the inference block in declared order (section 7). endpoint,
// api_key and max_task_reopens are known in order to be refused with advice.
var (
	inferenceKeys = []string{
		"transport", "max_turns", "max_session_tokens", "driver", "provider",
		"system_prompt", "system_prompt_file", "system_prompt_artifact", "instruction_files",
		"model", "max_tokens", "tool_refresh", "alternates", "compaction", "command",
		"endpoint", "api_key", "max_task_reopens",
	}
	driverKeys     = []string{"artifact", "config"}
	providerKeys   = []string{"artifact"}
	alternateKeys  = []string{"name", "driver", "model", "max_tokens"}
	compactionKeys = []string{"threshold", "model", "system_prompt", "system_prompt_file", "dump_summaries", "driver_config"}
)

// Defaults of sections 7.1 and 7.2.
const (
	defaultMaxTurns  = 10
	defaultMaxTokens = 8192
	defaultThreshold = 0.98
)

// BuiltinDrivers are the process drivers that are part of mur: they are in no
// store, no lock and no artifacts entry (MAN-167).
func BuiltinDrivers() []string { return []string{"builtin/claude", "builtin/codex"} }

// inference reads the block, which alone makes an agent capsule (MAN-163).
func (d *decoder) inference(top *block) *Inference {
	b := top.Sub("inference", inferenceKeys)
	if b == nil {
		return nil
	}
	in := &Inference{Transport: b.TrimmedWord("transport", HTTP, Process)}
	d.removedKeys(b)
	in.MaxTurns = b.WholeOr("max_turns", defaultMaxTurns, 1, math.MaxInt64)
	in.MaxSessionTokens = b.Whole("max_session_tokens", 1, math.MaxInt64)
	in.Driver = d.primary(b, in.Transport)
	d.prompts(b, in)
	in.InstructionFiles = d.instructionFiles(b)
	in.Compaction = d.compaction(b)
	in.Model = b.Trimmed("model")
	if in.Transport == Process {
		for _, key := range []string{"max_tokens", "tool_refresh", "alternates"} {
			if b.Has(key) {
				b.Refuse(key, "the key %s means nothing to transport: process", key)
			}
		}
		in.Command = b.Trimmed("command")
		in.ToolRefresh = "compaction"
		return in
	}
	if b.Has("command") {
		b.Refuse("command", "command belongs to transport: process")
	}
	if in.Model == "" && (b.Node("model") == nil || strictyaml.KindOf(b.Node("model")) == "string") {
		b.Missing("model")
	}
	in.MaxTokens = b.WholeOr("max_tokens", defaultMaxTokens, 1, math.MaxInt64)
	in.ToolRefresh = b.WordOr("tool_refresh", "compaction", "immediate")
	in.Alternates = d.alternates(b)
	return in
}

// removedKeys refuses what moved elsewhere, saying where (MAN-174, MAN-175).
func (d *decoder) removedKeys(b *block) {
	entry := "the driver's artifacts entry"
	if n := peek(b, "driver", "artifact"); n != "" {
		entry = "the artifacts entry of " + n
	}
	for _, key := range []string{"endpoint", "api_key"} {
		if b.Has(key) {
			b.Refuse(key, "inference.%s was removed", key).Hint("write gateway.%s on %s", key, entry)
		}
	}
	if b.Has("max_task_reopens") {
		b.Refuse("max_task_reopens", "the key moved").Hint("write lifecycle.max_task_reopens")
	}
}

// peek looks two keys deep for a text without judging anything.
func peek(b *block, outer, inner string) string {
	n := b.Node(outer)
	if n == nil {
		return ""
	}
	m := strictyaml.Resolve(n)
	for i := 0; i+1 < len(m.Content); i += 2 {
		if v := strictyaml.Resolve(m.Content[i+1]); strictyaml.Resolve(m.Content[i]).Value == inner && strictyaml.KindOf(v) == "string" {
			return strings.TrimSpace(v.Value)
		}
	}
	return ""
}

// primary reads driver, or provider, its older spelling (MAN-167 to MAN-169).
func (d *decoder) primary(b *block, transport string) Driver {
	provider := b.Sub("provider", providerKeys)
	older := provider.Trimmed("artifact")
	switch {
	case b.Node("driver") != nil:
		return d.driver(b.Sub("driver", driverKeys), transport, older)
	case older != "":
		d.checkDriver(provider, older, transport)
		return Driver{Artifact: older}
	default:
		d.Fault("E-MAN-003", b.Keys["driver"], b.At("driver.artifact"), "an inference block needs a driver").
			Hint("name an entry of artifacts that has runtime: driver")
		return Driver{}
	}
}

// driver reads a {artifact, config} block. Other stands in for a missing
// artifact.
func (d *decoder) driver(b *block, transport, other string) Driver {
	if b == nil {
		return Driver{}
	}
	out := Driver{ConfigJSON: b.JSONMapping("config")}
	if out.Artifact = b.Trimmed("artifact"); out.Artifact == "" {
		out.Artifact = other
	}
	switch {
	case out.Artifact != "":
		d.checkDriver(b, out.Artifact, transport)
	case b.Node("artifact") == nil || strictyaml.KindOf(b.Node("artifact")) == "string":
		b.Missing("artifact")
	}
	return out
}

// checkDriver judges a driver's name alone; whether it is declared is a check
// between blocks.
func (d *decoder) checkDriver(b *block, name, transport string) {
	if strings.HasPrefix(name, names.Builtin+"/") {
		switch {
		case !slices.Contains(BuiltinDrivers(), name):
			d.Fault("E-RUN-006", b.Keys["artifact"], b.At("artifact"), "there is no built-in driver %s; there are %s", diag.Quote(name), strings.Join(BuiltinDrivers(), " and ")).
				Name("driver", name)
		case transport != Process:
			b.Refuse("artifact", "%s is a process driver; it needs inference.transport: process", name)
		}
		return
	}
	if _, err := names.ParseFull(name); err != nil {
		b.Refuse("artifact", "%w", err)
	}
}

// prompts reads the three sources of the system prompt, at most one of which
// may be set (MAN-170 to MAN-172).
func (d *decoder) prompts(b *block, in *Inference) {
	in.SystemPrompt = b.Trimmed("system_prompt")
	in.SystemPromptFile = b.Trimmed("system_prompt_file")
	in.SystemPromptArtifact = b.Trimmed("system_prompt_artifact")
	var set []string
	for _, s := range []struct{ key, value string }{
		{"system_prompt", in.SystemPrompt}, {"system_prompt_file", in.SystemPromptFile}, {"system_prompt_artifact", in.SystemPromptArtifact},
	} {
		if s.value != "" {
			set = append(set, s.key)
		}
	}
	if len(set) > 1 {
		b.Refuse(set[1], "%s are set; a capsule has one system prompt", strings.Join(set, " and "))
	}
	if in.SystemPromptArtifact != "" {
		if _, err := names.ParseFull(in.SystemPromptArtifact); err != nil {
			b.Refuse("system_prompt_artifact", "%w", err)
		}
	}
}

// MaxInstructionFiles bounds inference.instruction_files (MAN-173).
const MaxInstructionFiles = 16

func (d *decoder) instructionFiles(b *block) []string {
	files := b.Texts("instruction_files")
	if len(files) > MaxInstructionFiles {
		b.Refuse("instruction_files", "%d files are named, more than %d", len(files), MaxInstructionFiles)
	}
	for i, f := range files {
		if err := relativePath(f); err != nil {
			b.RefuseItem("instruction_files", i, "the file name %s %w", diag.Quote(f), err)
		}
	}
	return files
}

func (d *decoder) compaction(parent *block) Compaction {
	b := parent.Sub("compaction", compactionKeys)
	c := Compaction{
		Threshold:        b.Fraction("threshold", defaultThreshold, false),
		Model:            b.Trimmed("model"),
		SystemPromptFile: b.Trimmed("system_prompt_file"),
		DumpSummaries:    b.IsTrue("dump_summaries"),
		DriverConfigJSON: b.JSONMapping("driver_config"),
	}
	if text, ok := b.Text("system_prompt"); ok && strings.TrimSpace(text) != "" {
		c.SystemPrompt = &text
	}
	if c.SystemPrompt != nil && c.SystemPromptFile != "" {
		b.Refuse("system_prompt_file", "system_prompt and system_prompt_file are both set; one of them has to go")
	}
	return c
}

var alternateName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

func (d *decoder) alternates(parent *block) []Alternate {
	var out []Alternate
	for _, it := range parent.List("alternates") {
		b := d.Open(it.Node, it.Path, alternateKeys)
		if b == nil {
			continue
		}
		a := Alternate{Name: b.Required("name"), Model: b.Required("model"),
			MaxTokens: b.WholeOr("max_tokens", defaultMaxTokens, 1, math.MaxInt64)}
		switch {
		case a.Name == "":
		case !alternateName().MatchString(a.Name):
			b.Refuse("name", "%s is no choice name: a small letter, then up to 31 of a-z, 0-9 and -", diag.Quote(a.Name))
		case a.Name == "primary":
			b.Refuse("name", "primary is the name of the first choice")
		case slices.ContainsFunc(out, func(o Alternate) bool { return o.Name == a.Name }):
			b.Refuse("name", "a choice called %s stands before", diag.Quote(a.Name))
		}
		if b.Node("driver") == nil {
			b.Missing("driver")
		}
		a.Driver = d.driver(b.Sub("driver", driverKeys), HTTP, "")
		out = append(out, a)
	}
	return out
}

// crossDrivers checks what inference and artifacts say about each other, once
// both stand: drivers are declared and keyed as the transport wants, and the
// prompt artifact is a prompt (MAN-90, MAN-167, MAN-172, MAN-181, MAN-195).
func (d *decoder) crossDrivers(c *Capsule) {
	chosen := map[string]bool{}
	if in := c.Inference; in != nil {
		d.crossDriver(c, in.Driver.Artifact, d.driverPath(), chosen)
		for i, a := range in.Alternates {
			d.crossDriver(c, a.Driver.Artifact, fmt.Sprintf("inference.alternates[%d].driver.artifact", i), chosen)
		}
		if name := in.SystemPromptArtifact; name != "" {
			switch e := c.Entry(name); {
			case e == nil:
				d.FaultAt("inference.system_prompt_artifact", "%s is not declared in artifacts", name)
			case !e.PromptPayload:
				d.FaultAt("inference.system_prompt_artifact", "%s is no prompt: its entry has not prompt_payload: true", name)
			}
		}
	}
	process := c.Inference != nil && c.Inference.Transport == Process
	for i := range c.Artifacts {
		if e := &c.Artifacts[i]; e.Role == policy.Driver {
			d.crossEntry(e, process, chosen[e.Name.String()])
		}
	}
}

// driverPath is where the primary driver was named.
func (d *decoder) driverPath() string {
	if d.Pos.Has("inference.driver.artifact") {
		return "inference.driver.artifact"
	}
	return "inference.provider.artifact"
}

func (d *decoder) crossDriver(c *Capsule, name, path string, chosen map[string]bool) {
	if slices.Contains(BuiltinDrivers(), name) {
		return
	}
	chosen[name] = true
	switch e := c.Entry(name); {
	case e == nil:
		d.FaultAt(path, "the driver %s is not declared in artifacts", name).Hint("add an entry with name: %s and runtime: driver", name)
	case e.Role != policy.Driver:
		d.FaultAt(path, "%s is declared as a %s", name, e.Role).Hint("its entry needs runtime: driver")
	}
}

func (d *decoder) crossEntry(e *Entry, process, chosen bool) {
	d.Artifact = e.Name.String()
	defer func() { d.Artifact = "" }()
	at := func(key string) string { return fmt.Sprintf("artifacts[%d].%s", e.Index, key) }
	switch {
	case e.Gateway != nil && process:
		d.FaultAt(at("gateway"), "under transport: process a driver has no gateway")
	case e.Gateway != nil && !chosen:
		d.FaultAt(at("gateway"), "only a driver that inference names has a gateway")
	case e.Gateway == nil && chosen && !process:
		d.FaultAt(at("gateway"), "the driver that inference names needs a gateway").
			Hint("write gateway.endpoint, and gateway.api_key or gateway.keyless: true")
	}
	if process && chosen {
		if e.Capabilities != nil {
			d.FaultAt(at("capabilities"), "under transport: process the driver's entry has no capabilities")
		}
		if e.Config != nil {
			d.FaultAt(at("config"), "under transport: process the driver's entry has no config").Hint("write inference.driver.config")
		}
	}
}
