package strictyaml

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
)

// Decoder collects what one pass over a document finds. Values read after a
// fault are placeholders; the caller drops them when Err is not nil.
type Decoder struct {
	Pos      *Positions
	Artifact string // what the block being read is about, shown after its path

	dialect Dialect
	opts    Options
	faults  []*diag.Error
	unknown []unknownKey
	plain   []placed
}

// placed is a warning and where its cause stands.
type placed struct {
	at      Position
	warning diag.Warning
}

// New starts a pass over a document of one dialect; file stands in messages.
func New(file string, dialect Dialect, opts Options) *Decoder {
	return &Decoder{dialect: dialect, opts: opts, Pos: &Positions{file: file, kind: dialect.Kind, at: map[string]Position{}}}
}

// Fault records a refusal at a node; a nil node is placed at the nearest
// enclosing block of path.
func (d *Decoder) Fault(code diag.Code, n *yaml.Node, path, format string, args ...any) *diag.Error {
	s := d.Pos.Subject(path)
	if n != nil {
		s.Line, s.Column = n.Line, n.Column
	}
	where := d.Pos.file
	if s.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", where, s.Line, s.Column)
	}
	name := path
	if name == "" {
		name = "<root>"
	}
	if d.Artifact != "" {
		name += " (" + d.Artifact + ")"
	}
	e := diag.Errorf(code, "%s: %s: "+format, append([]any{where, name}, args...)...).
		In(d.dialect.Phase).About(s).Name("path", path)
	if d.Artifact != "" {
		e.Name("artifact", d.Artifact)
	}
	d.faults = append(d.faults, e)
	return e
}

// Mismatch records a value of the wrong type.
func (d *Decoder) Mismatch(n *yaml.Node, path, expected string) *diag.Error {
	found := KindOf(n)
	return d.Fault(d.dialect.Value, n, path, "expected %s, found %s", expected, found).
		Name("expected", expected).Name("found", found)
}

// Warn records a plain warning about the value at n.
func (d *Decoder) Warn(n *yaml.Node, path, format string, args ...any) {
	w := diag.Warningf("", d.dialect.Topic, "%s: %s", path, fmt.Sprintf(format, args...))
	s := d.Pos.Subject(path)
	w.Phase, w.Subject = d.dialect.Phase, &s
	d.plain = append(d.plain, placed{Position{n.Line, n.Column}, w})
}

// OK tells whether nothing was refused so far. Checks between keys run only
// then: a placeholder must not raise a second fault.
func (d *Decoder) OK() bool { return len(d.faults) == 0 }

// Block is a mapping whose keys are known. A nil *Block is an absent one: every
// reader on it answers "absent".
type Block struct {
	d    *Decoder
	Path string
	// Keys holds the value of each known key that is written, null included.
	Keys map[string]*yaml.Node
}

// Open reads a mapping and sorts out keys that are not among known, which lists
// them in declared order. Anything but a mapping is refused and opens as absent.
func (d *Decoder) Open(n *yaml.Node, path string, known []string) *Block {
	d.Pos.at[path] = Position{n.Line, n.Column}
	m := Resolve(n)
	if m.Kind != yaml.MappingNode {
		d.Mismatch(n, path, "mapping")
		return nil
	}
	b := &Block{d: d, Path: path, Keys: map[string]*yaml.Node{}}
	for i := 0; i < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		key := Resolve(k)
		if key.Kind != yaml.ScalarNode || KindOf(key) != "string" {
			d.Fault(d.dialect.Value, k, path, "expected string as key, found %s", KindOf(k))
			continue
		}
		if !slices.Contains(known, key.Value) {
			d.unknown = append(d.unknown, unknownKey{at: Position{k.Line, k.Column}, key: key.Value, block: path, known: known})
			continue
		}
		b.Keys[key.Value] = v
		d.Pos.at[b.At(key.Value)] = Position{v.Line, v.Column}
	}
	return b
}

// At is the dotted path of a key.
func (b *Block) At(key string) string {
	if b.Path == "" {
		return key
	}
	return b.Path + "." + key
}

// Has tells whether the key is written, null included.
func (b *Block) Has(key string) bool { return b != nil && b.Keys[key] != nil }

// Node returns the value, nil when absent or null (MAN-23).
func (b *Block) Node(key string) *yaml.Node {
	if !b.Has(key) || IsNull(b.Keys[key]) {
		return nil
	}
	return b.Keys[key]
}

// Refuse records a refused value.
func (b *Block) Refuse(key, format string, args ...any) *diag.Error {
	return b.d.Fault(b.d.dialect.Value, b.Keys[key], b.At(key), format, args...)
}

// Missing records a required key that is absent or blank.
func (b *Block) Missing(key string) {
	if b == nil {
		return
	}
	state := "is required here"
	if b.Node(key) != nil {
		state = "is blank"
	}
	b.Refuse(key, "the key %s", state)
}

// FaultAt records a refused value at a path whose position is known.
func (d *Decoder) FaultAt(path, format string, args ...any) *diag.Error {
	return d.Fault(d.dialect.Value, nil, path, format, args...)
}

// RefuseItem records a refused element of a list.
func (b *Block) RefuseItem(key string, i int, format string, args ...any) *diag.Error {
	return b.d.FaultAt(fmt.Sprintf("%s[%d]", b.At(key), i), format, args...)
}
