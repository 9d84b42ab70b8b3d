package manifest

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
)

// MaxConfigBytes is the largest config block, as compact JSON (MAN-83).
const MaxConfigBytes = 65536

// Config is an entry's config block (section 4.4), kept as written until JSON
// lowers it.
type Config struct {
	node      *yaml.Node
	entry     int
	artifact  string
	positions *positions
}

// JSON lowers the block to compact JSON in written key order, which the
// artifact gets as MURMUR_ARTIFACT_CONFIG. A block that can not be delivered is
// E-CAP-010 (MAN-82, MAN-83). mur-stage calls it before any resolve.
func (c *Config) JSON() (string, error) {
	path := fmt.Sprintf("artifacts[%d].config", c.entry)
	refuse := func(format string, args ...any) *diag.Error {
		return diag.Errorf("E-CAP-010", "%s (%s): the block can not be delivered: "+format, append([]any{path, c.artifact}, args...)...).
			In("check").About(c.positions.Subject(path)).Name("artifact", c.artifact)
	}
	if k := kindOf(c.node); k != "mapping" {
		return "", refuse("expected mapping, found %s", k).Name("rule", "a mapping")
	}
	out, err := toJSON(c.node)
	if err != nil {
		return "", refuse("%w", err).Name("rule", err.Error())
	}
	if len(out) > MaxConfigBytes {
		return "", refuse("it has %d bytes as JSON, more than %d", len(out), MaxConfigBytes).
			Name("rule", "size").Name("size", len(out)).Name("limit", MaxConfigBytes)
	}
	return string(out), nil
}

// jsonMapping reads a free-form mapping as compact JSON; nil when absent.
func (b *block) jsonMapping(key string) *string {
	n := b.node(key)
	if n == nil {
		return nil
	}
	if kindOf(n) != "mapping" {
		b.d.mismatch(n, b.at(key), "mapping")
		return nil
	}
	out, err := toJSON(n)
	if err != nil {
		b.refuse(key, "the block can not be written as JSON: %w", err)
		return nil
	}
	s := string(out)
	return &s
}
