package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
)

// MaxBytes is the largest file read (MAN-17).
const MaxBytes = 1 << 20

// Bounds on one document, aliases expanded (MAN-15). maxText bounds what the
// Node count alone does not: one long text behind many aliases.
const (
	maxNodes = 100_000
	maxDepth = 64
	maxText  = 16 << 20
)

// Read turns bytes into the one YAML document they must hold: UTF-8, well
// formed, within the bounds, without doubled keys, custom tags or a second
// document. Every refusal has line and column. The result is nil
// for an empty stream.
func Read(file string, data []byte, dialect Dialect) (*yaml.Node, *diag.Error) {
	t := tree{file: file, data: data, dialect: dialect, sizes: map[*yaml.Node]size{}}
	if len(data) > MaxBytes {
		return nil, t.refuse(Position{1, 1}, "the file has %d bytes, more than %d", len(data), MaxBytes)
	}
	if e := t.checkCharacters(); e != nil {
		return nil, e
	}
	root, e := t.parse()
	if e != nil || root == nil {
		return nil, e
	}
	if _, e := t.walk(root, 1); e != nil {
		return nil, e
	}
	return root, nil
}

type tree struct {
	file    string
	data    []byte
	dialect Dialect
	sizes   map[*yaml.Node]size // of anchored nodes; open while being walked
}

// Size is what a node comes to once its aliases are expanded.
type size struct {
	open               bool
	nodes, text, depth int
}

func (t *tree) refuse(at Position, format string, args ...any) *diag.Error {
	return diag.Errorf(t.dialect.Syntax, "%s:%d:%d: %s", t.file, at.Line, at.Column, fmt.Sprintf(format, args...)).
		In(t.dialect.Phase).
		About(diag.Subject{Kind: diag.Path, Name: t.file, File: t.file, Line: at.Line, Column: at.Column}).
		Name("file", t.file).Name("line", at.Line).Name("column", at.Column)
}

// checkCharacters refuses bytes that are no UTF-8 and characters YAML forbids,
// where the parser would name no place.
func (t *tree) checkCharacters() *diag.Error {
	at := Position{1, 1}
	for i := 0; i < len(t.data); {
		r, n := utf8.DecodeRune(t.data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return t.refuse(at, "the byte 0x%02x is no UTF-8", t.data[i])
		case r == '\uFEFF' && i > 0, r == '\uFFFE', r == '\uFFFF',
			r < 0x20 && r != '\n' && r != '\r' && r != '\t', r >= 0x7f && r < 0xa0 && r != '\u0085':
			return t.refuse(at, "the character U+%04X may not stand in YAML", r)
		}
		i += n
		switch {
		case r == '\n', r == '\r' && (i >= len(t.data) || t.data[i] != '\n'):
			at = Position{at.Line + 1, 1}
		case r != '\uFEFF':
			at.Column++
		}
	}
	return nil
}

// parse reads the first document and makes sure that none follows.
func (t *tree) parse() (root *yaml.Node, fault *diag.Error) {
	defer func() {
		// The library panics on a few malformed inputs; the bytes are untrusted.
		if r := recover(); r != nil {
			root, fault = nil, t.refuse(Position{1, 1}, "the YAML can not be read: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(t.data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, t.syntax(err)
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, t.syntax(err)
	default:
		return nil, t.refuse(Position{second.Line, max(second.Column, 1)}, "a second document begins; one is expected")
	}
	if len(doc.Content) != 1 {
		return nil, nil
	}
	return doc.Content[0], nil
}

var (
	errorLine     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?((?s).*)$`) })
	unknownAnchor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`unknown anchor '(.*)' referenced`) })
)

// syntax places an error of the library, which gives a line at most: one too
// few when its parser, not its scanner, met the fault. The column is where the
// Text of that line begins.
func (t *tree) syntax(err error) *diag.Error {
	m := errorLine().FindStringSubmatch(err.Error())
	if m == nil {
		return t.refuse(Position{1, 1}, "%s", err)
	}
	line, _ := strconv.Atoi(m[1])
	if strings.HasPrefix(m[2], "did not find expected") {
		line++
	}
	lines := strings.Split(string(t.data), "\n")
	if a := unknownAnchor().FindStringSubmatch(m[2]); a != nil {
		for i, l := range lines {
			if at := strings.Index(l, "*"+a[1]); at >= 0 {
				return t.refuse(Position{i + 1, utf8.RuneCountInString(l[:at]) + 1}, "the anchor %s is not defined before its use", diag.Quote(a[1]))
			}
		}
	}
	line = min(max(line, 1), len(lines))
	text := lines[line-1]
	column := utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeft(text, " \t")) + 1
	return t.refuse(Position{line, column}, "%s", m[2])
}

// walk checks a node and everything below it in document order and returns its
// expanded size.
func (t *tree) walk(n *yaml.Node, depth int) (size, *diag.Error) {
	at := Position{n.Line, n.Column}
	if depth > maxDepth {
		return size{}, t.refuse(at, "more than %d levels of nesting", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		s := t.sizes[n.Alias]
		switch {
		case s.open:
			return size{}, t.refuse(at, "the anchor %s contains itself", diag.Quote(n.Value))
		case depth+s.depth-1 > maxDepth:
			return size{}, t.refuse(at, "more than %d levels of nesting once aliases are expanded", maxDepth)
		}
		return s, nil
	}
	if customTag(n) {
		return size{}, t.refuse(at, "the tag %s is not accepted; only YAML's own types are", diag.Quote(n.Tag))
	}
	if n.Anchor != "" {
		t.sizes[n] = size{open: true}
	}
	total := size{nodes: 1, text: len(n.Value), depth: 1}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if key := Resolve(c); key.Kind == yaml.ScalarNode {
				id := key.ShortTag() + " " + key.Value
				if seen[id] {
					return size{}, t.refuse(Position{c.Line, c.Column}, "the key %s stands twice in one mapping; this is the second, on line %d", diag.Quote(key.Value), c.Line).
						Name("key", key.Value)
				}
				seen[id] = true
			}
		}
		s, e := t.walk(c, depth+1)
		if e != nil {
			return size{}, e
		}
		total.nodes += s.nodes
		total.text += s.text
		total.depth = max(total.depth, s.depth+1)
		if total.nodes > maxNodes || total.text > maxText {
			return size{}, t.refuse(Position{c.Line, c.Column}, "more than %d values or %d bytes of text once aliases are expanded", maxNodes, maxText)
		}
	}
	if n.Anchor != "" {
		t.sizes[n] = total
	}
	return total, nil
}

// customTag tells whether a node carries a tag that is not one of YAML's core
// types. Dates are text to mur, so an implicit timestamp passes.
func customTag(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!merge":
		return false
	case "!!timestamp":
		return n.Style&yaml.TaggedStyle != 0
	}
	return true
}

// resolve follows an alias to the node it stands for.
func Resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// KindOf is the found type in messages.
func KindOf(n *yaml.Node) string {
	switch n = Resolve(n); n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	}
	switch n.ShortTag() {
	case "!!int":
		return "integer"
	case "!!float":
		return "float"
	case "!!bool":
		return "boolean"
	case "!!null":
		return "null"
	}
	return "string"
}

func IsNull(n *yaml.Node) bool {
	n = Resolve(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// Child is the element or value one step below a node, the step being an index
// or a key as a JSON pointer has it, aliases followed; nil when there is none.
func Child(n *yaml.Node, step string) *yaml.Node {
	switch n = Resolve(n); n.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) && strconv.Itoa(i) == step {
			return Resolve(n.Content[i])
		}
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			if Resolve(n.Content[i]).Value == step {
				return Resolve(n.Content[i+1])
			}
		}
	}
	return nil
}
