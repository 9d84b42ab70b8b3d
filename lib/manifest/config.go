package manifest

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
)

// MaxConfigBytes is the largest config block, as compact JSON (MAN-83).
const MaxConfigBytes = 65536

// Config is an entry's config block (section 4.4), kept as written until JSON
// lowers it.
type Config struct {
	node      *yaml.Node
	entry     int
	artifact  string
	positions *Positions
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
	if k := strictyaml.KindOf(c.node); k != "mapping" {
		return "", refuse("expected mapping, found %s", k).Name("rule", "a mapping")
	}
	out, err := strictyaml.JSON(c.node)
	if err != nil {
		return "", refuse("%w", err).Name("rule", err.Error())
	}
	if len(out) > MaxConfigBytes {
		return "", refuse("it has %d bytes as JSON, more than %d", len(out), MaxConfigBytes).
			Name("rule", "size").Name("size", len(out)).Name("limit", MaxConfigBytes)
	}
	return string(out), nil
}
