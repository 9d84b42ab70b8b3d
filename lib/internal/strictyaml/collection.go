package strictyaml

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
)

// Sub opens a nested block, nil when absent or null.
func (b *Block) Sub(key string, known []string) *Block {
	n := b.Node(key)
	if n == nil {
		return nil
	}
	return b.d.Open(n, b.At(key), known)
}

// Item is an element of a list.
type Item struct {
	Node *yaml.Node
	Path string
}

// List reads a list's elements: nil when absent, not nil when written. A null
// is refused (MAN-23).
func (b *Block) List(key string) []Item {
	if !b.Has(key) {
		return nil
	}
	n := b.Keys[key]
	v := Resolve(n)
	if v.Kind != yaml.SequenceNode {
		b.d.Mismatch(n, b.At(key), "list")
		return nil
	}
	out := make([]Item, 0, len(v.Content))
	for i, c := range v.Content {
		path := fmt.Sprintf("%s[%d]", b.At(key), i)
		b.d.Pos.at[path] = Position{c.Line, c.Column}
		out = append(out, Item{c, path})
	}
	return out
}

// Texts reads a list of strings, trimmed; nil when absent.
func (b *Block) Texts(key string) []string {
	items := b.List(key)
	if items == nil {
		return nil
	}
	out := make([]string, 0, len(items))
	for _, it := range items {
		s, _ := b.d.Text(it.Node, it.Path)
		out = append(out, strings.TrimSpace(s))
	}
	return out
}

// Words reads a list whose elements are among the given words, each once.
func (b *Block) Words(key string, words ...string) []string {
	var out []string
	for _, it := range b.List(key) {
		w, ok := b.d.Text(it.Node, it.Path)
		switch {
		case !ok:
		case !slices.Contains(words, w):
			b.d.FaultAt(it.Path, "the value %s is not one of %s", diag.Quote(w), strings.Join(words, ", ")).Name("value", w)
		case slices.Contains(out, w):
			b.d.FaultAt(it.Path, "the value %s stands twice", diag.Quote(w)).Name("value", w)
		}
		out = append(out, w)
	}
	return out
}

// Pair is a key of a mapping whose keys are free.
type Pair struct {
	Key  string
	Item Item
}

// Free reads a mapping whose keys are names of the author's choice, in written
// order; nil when absent.
func (b *Block) Free(key string) []Pair {
	n := b.Node(key)
	if n == nil {
		return nil
	}
	m := Resolve(n)
	if m.Kind != yaml.MappingNode {
		b.d.Mismatch(n, b.At(key), "mapping")
		return nil
	}
	var out []Pair
	for i := 0; i < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if KindOf(k) != "string" {
			b.d.Fault(b.d.dialect.Value, k, b.At(key), "expected string as key, found %s", KindOf(k))
			continue
		}
		p := Pair{Resolve(k).Value, Item{v, b.At(key) + "." + Resolve(k).Value}}
		b.d.Pos.at[p.Item.Path] = Position{v.Line, v.Column}
		out = append(out, p)
	}
	return out
}

// NonEmpty reads a list of strings that must have an element.
func (b *Block) NonEmpty(key string) []string {
	out := b.Texts(key)
	if len(out) == 0 && (!b.Has(key) || out != nil) {
		b.Refuse(key, "the list is required here and must not be empty")
	}
	return out
}

// JSONMapping reads a free-form mapping as compact JSON; nil when absent.
func (b *Block) JSONMapping(key string) *string {
	n := b.Node(key)
	if n == nil {
		return nil
	}
	if KindOf(n) != "mapping" {
		b.d.Mismatch(n, b.At(key), "mapping")
		return nil
	}
	out, err := JSON(n)
	if err != nil {
		b.Refuse(key, "the block can not be written as JSON: %w", err)
		return nil
	}
	s := string(out)
	return &s
}
