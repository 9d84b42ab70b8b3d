package manifest

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
	"github.com/mur-capsules/mur/lib/names"
)

// capsuleKeys are the top-level keys of a capsule manifest in declared order;
// artifactKeys those of an artifact's own (section 14). One file may be both
// (MAN-5), so either reader knows both.
var (
	capsuleKeys = []string{
		"name", "version", "mur_version", "description", "artifacts", "capabilities", "network", "inference",
		"context", "lifecycle", "trace", "observability", "exports", "control", "registry", "config",
	}
	artifactKeys = []string{
		"runtime", "implementation", "execution", "requires_files", "tags", "input_schema", "output_schema",
		"upstream_auth", "binding", "execution_mode", "commit_policy", "provider_tool", "provider_tools", "model_limits",
	}
	topKeys = append(append([]string{}, capsuleKeys...), artifactKeys...)
)

// Parse reads a capsule manifest. File is the absolute path it came from and
// stands in messages alone. The warnings are those of unknown keys (W-SEC-019)
// and the plain ones of retired or ignored keys, in document order; they are
// returned beside an error too. The error is a *diag.Error with E-MAN-001,
// E-MAN-002, E-MAN-003, E-CAP-018 or E-RUN-006, the first in the order of
// MAN-32, or several joined with Options.All. mur-stage, mur-doctor and mur-lock
// call it.
func Parse(file string, data []byte, opts Options) (*Capsule, []diag.Warning, error) {
	d, top, err := openTop(file, data, opts, topKeys)
	if err != nil {
		return nil, nil, err
	}
	c := &Capsule{Positions: d.Pos}
	if top != nil {
		c.decode(d, top)
	}
	warnings := d.finish(c.MurVersion, opts)
	if err := d.Err(); err != nil {
		return nil, warnings, err
	}
	return c, warnings, nil
}

// decode reads the blocks in the order of MAN-32; what that order does not name
// comes last.
func (c *Capsule) decode(d *decoder, top *block) {
	c.Name = d.identity(top, "name")
	if c.Name != "" {
		if err := names.CheckBare(c.Name); err != nil {
			top.Refuse("name", "%s %w", diag.Quote(c.Name), err).Name("name", c.Name)
		}
	}
	c.Version = d.identity(top, "version")
	c.Description = top.Trimmed("description")
	c.Artifacts = d.entries(top)
	c.Capabilities = d.capabilities(top, wholeCapsule)
	c.Inference = d.inference(top)
	if d.OK() {
		d.crossDrivers(c)
	}
	c.Context = d.context(top, c.Name)
	c.Observability = d.observability(top)
	c.Trace = d.trace(top)
	c.Network = d.network(top)
	c.Lifecycle = d.lifecycle(top)
	c.Exports = d.exports(top)
	c.Control = d.control(top, c)
	c.MurVersion = top.Trimmed("mur_version")
	d.registry(top)
	if top.Has("config") {
		top.Refuse("config", "configuration belongs to one artifact").Hint("move the block to artifacts[].config")
	}
}

// finish gathers the warnings; unknown keys under a newer mur_version get one
// more line (MAN-29).
func (d *decoder) finish(murVersion string, opts Options) []diag.Warning {
	warnings, unknown := d.Finish()
	if unknown == 0 || opts.Strict || !newer(murVersion, opts.Running) {
		return warnings
	}
	w := diag.Warningf("W-SEC-019", "manifest", "mur_version is %s and this is %s: the %s above may belong to the newer version",
		murVersion, opts.Running, strictyaml.Counted(unknown, "unknown key"))
	s := d.Pos.Subject("mur_version")
	w.Phase, w.Subject = "parse", &s
	w.Names = map[string]any{"mur_version": murVersion, "running": opts.Running, "count": unknown}
	return append(warnings, w)
}

// decoder reads manifests; its methods read one block each.
type decoder struct{ *strictyaml.Decoder }

type block = strictyaml.Block

// dialect is how faults of a manifest are reported.
var dialect = strictyaml.Dialect{
	Syntax: "E-MAN-002", Value: "E-MAN-003", Unknown: "W-SEC-019",
	Kind: diag.ManifestKey, Topic: "manifest", Phase: "parse",
}

// openTop reads the tree and opens its root mapping.
func openTop(file string, data []byte, opts Options, known []string) (*decoder, *block, error) {
	root, e := strictyaml.Read(file, data, dialect)
	if e != nil {
		return nil, nil, e
	}
	d := &decoder{strictyaml.New(file, dialect, strictyaml.Options{Strict: opts.Strict, All: opts.All})}
	if root == nil {
		root = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: 1, Column: 1}
	}
	if strictyaml.Resolve(root).Kind != yaml.MappingNode {
		d.Mismatch(root, "<root>", "mapping")
		return nil, nil, d.Err()
	}
	return d, d.Open(root, "", known), nil
}

// identity reads name or version: E-MAN-001 when absent or blank (MAN-36, MAN-37).
func (d *decoder) identity(top *block, key string) string {
	var s string
	if top.Node(key) != nil {
		var ok bool
		if s, ok = top.Text(key); !ok {
			return ""
		}
	}
	if s = strings.TrimSpace(s); s == "" {
		state := "is missing"
		if top.Has(key) {
			state = "is blank"
		}
		d.Fault("E-MAN-001", top.Keys[key], key, "the required key %s", state).
			Name("file", d.Pos.File()).Name("field", key)
	}
	return s
}

var registryKeys = []string{"default", "remote_url"}

// registry checks the types of the block that mur-lock alone reads (MAN-237).
func (d *decoder) registry(top *block) {
	b := top.Sub("registry", registryKeys)
	b.Trimmed("default")
	b.Trimmed("remote_url")
}

var threeNumbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$`) })

// newer tells whether a is a higher version than b; false unless both are three
// plain numbers (MAN-29).
func newer(a, b string) bool {
	x, y := threeNumbers().FindStringSubmatch(a), threeNumbers().FindStringSubmatch(b)
	if x == nil || y == nil {
		return false
	}
	for i := 1; i <= 3; i++ {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m > n
		}
	}
	return false
}
