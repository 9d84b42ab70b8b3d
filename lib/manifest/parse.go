package manifest

import (
	"errors"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
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
	c := &Capsule{positions: d.pos}
	if top != nil {
		c.decode(d, top)
	}
	warnings := d.finish(c.MurVersion)
	if err := d.err(); err != nil {
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
			top.refuse("name", "%s %w", diag.Quote(c.Name), err).Name("name", c.Name)
		}
	}
	c.Version = d.identity(top, "version")
	c.Description = top.trimmed("description")
	c.Artifacts = d.entries(top)
	c.Capabilities = d.capabilities(top, wholeCapsule)
	c.Inference = d.inference(top)
	if d.ok() {
		d.crossDrivers(c)
	}
	c.Context = d.context(top, c.Name)
	c.Observability = d.observability(top)
	c.Trace = d.trace(top)
	c.Network = d.network(top)
	c.Lifecycle = d.lifecycle(top)
	c.Exports = d.exports(top)
	c.Control = d.control(top, c)
	c.MurVersion = top.trimmed("mur_version")
	d.registry(top)
	if top.has("config") {
		top.refuse("config", "configuration belongs to one artifact").Hint("move the block to artifacts[].config")
	}
}

// openTop reads the tree and opens its root mapping.
func openTop(file string, data []byte, opts Options, known []string) (*decoder, *block, error) {
	root, e := readTree(file, data)
	if e != nil {
		return nil, nil, e
	}
	d := newDecoder(file, opts)
	if root == nil {
		root = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: 1, Column: 1}
	}
	if resolve(root).Kind != yaml.MappingNode {
		d.mismatch(root, "<root>", "mapping")
		return nil, nil, d.err()
	}
	return d, d.open(root, "", known), nil
}

// identity reads name or version: E-MAN-001 when absent or blank (MAN-36, MAN-37).
func (d *decoder) identity(top *block, key string) string {
	var s string
	if top.node(key) != nil {
		var ok bool
		if s, ok = top.text(key); !ok {
			return ""
		}
	}
	if s = strings.TrimSpace(s); s == "" {
		state := "is missing"
		if top.has(key) {
			state = "is blank"
		}
		d.fault("E-MAN-001", top.keys[key], key, "the required key %s", state).
			Name("file", d.pos.file).Name("field", key)
	}
	return s
}

// err is the deciding fault, or all of them with Options.All, or nil.
func (d *decoder) err() error {
	switch {
	case d.ok():
		return nil
	case !d.opts.All || len(d.faults) == 1:
		return d.faults[0]
	}
	all := make([]error, len(d.faults))
	for i, e := range d.faults {
		all[i] = e
	}
	return errors.Join(all...)
}

var registryKeys = []string{"default", "remote_url"}

// registry checks the types of the block that mur-lock alone reads (MAN-237).
func (d *decoder) registry(top *block) {
	b := top.sub("registry", registryKeys)
	b.trimmed("default")
	b.trimmed("remote_url")
}

func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
