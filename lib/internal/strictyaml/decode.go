package strictyaml

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// Text reads a string, untrimmed; false when absent or refused.
func (b *Block) Text(key string) (string, bool) {
	n := b.Node(key)
	if n == nil {
		return "", false
	}
	return b.d.Text(n, b.At(key))
}

func (d *Decoder) Text(n *yaml.Node, path string) (string, bool) {
	if KindOf(n) != "string" {
		e := d.Mismatch(n, path, "string")
		if Resolve(n).Kind == yaml.ScalarNode {
			e.Hint("put the value in quotes")
		}
		return "", false
	}
	return Resolve(n).Value, true
}

// Trimmed reads a string and trims it; blank, absent and refused are "" (MAN-24).
func (b *Block) Trimmed(key string) string {
	s, _ := b.Text(key)
	return strings.TrimSpace(s)
}

// Required is trimmed for a key that must not come out blank.
func (b *Block) Required(key string) string {
	if b.Node(key) == nil {
		b.Missing(key)
		return ""
	}
	s, ok := b.Text(key)
	if s = strings.TrimSpace(s); ok && s == "" {
		b.Missing(key)
	}
	return s
}

// Flag reads a boolean, true or false and nothing else (MAN-18); nil when absent.
func (b *Block) Flag(key string) *bool {
	n := b.Node(key)
	if n == nil {
		return nil
	}
	v := Resolve(n)
	switch {
	case KindOf(v) != "boolean":
		b.d.Mismatch(n, b.At(key), "boolean").Hint("write true or false")
		return nil
	case v.Value != "true" && v.Value != "false":
		b.Refuse(key, "expected true or false, found %s", diag.Quote(v.Value))
		return nil
	}
	yes := v.Value == "true"
	return &yes
}

// IsTrue reads a boolean whose default is false.
func (b *Block) IsTrue(key string) bool {
	v := b.Flag(key)
	return v != nil && *v
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// Whole reads an integer from min to max (MAN-21); nil when absent.
func (b *Block) Whole(key string, min, max int64) *int64 {
	n := b.Node(key)
	if n == nil {
		return nil
	}
	v := Resolve(n)
	if KindOf(v) != "integer" {
		// Digits beyond 64 bits resolve to a float.
		if KindOf(v) == "float" && decimal.MatchString(v.Value) {
			b.Refuse(key, "the number is above %d", max)
			return nil
		}
		b.d.Mismatch(n, b.At(key), "integer")
		return nil
	}
	i, err := strconv.ParseInt(strings.TrimPrefix(v.Value, "+"), 10, 64)
	switch {
	case err != nil && strings.Trim(v.Value, "0123456789") != "":
		b.Refuse(key, "expected integer in plain decimal digits, found %s", diag.Quote(v.Value))
	case err != nil || i > max:
		b.Refuse(key, "the number %s is above %d", v.Value, max)
	case i < min:
		b.Refuse(key, "the number %s is below %d", v.Value, min)
	case !decimal.MatchString(v.Value):
		b.Refuse(key, "expected integer in plain decimal digits, found %s", diag.Quote(v.Value))
	default:
		return &i
	}
	return nil
}

// WholeOr is whole with a default.
func (b *Block) WholeOr(key string, def, min, max int64) int64 {
	if v := b.Whole(key, min, max); v != nil {
		return *v
	}
	return def
}

// Fraction reads a float up to 1, above 0 or from 0 on (MAN-22).
func (b *Block) Fraction(key string, def float64, zero bool) float64 {
	n := b.Node(key)
	if n == nil {
		return def
	}
	v := Resolve(n)
	if k := KindOf(v); k != "float" && k != "integer" {
		b.d.Mismatch(n, b.At(key), "float")
		return def
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(v.Value, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		b.Refuse(key, "expected a finite float, found %s", diag.Quote(v.Value))
		return def
	}
	from := "above 0"
	if zero {
		from = "from 0"
	}
	if f > 1 || f < 0 || f == 0 && !zero {
		b.Refuse(key, "the number %s is not %s up to 1", v.Value, from)
		return def
	}
	return f
}

// Word reads one of the given words, exactly (MAN-25); "" when absent.
func (b *Block) Word(key string, words ...string) string {
	n := b.Node(key)
	if n == nil {
		return ""
	}
	if KindOf(n) != "string" {
		b.d.Mismatch(n, b.At(key), "string").Hint("write %s", List(words))
		return ""
	}
	s := Resolve(n).Value
	if !slices.Contains(words, s) {
		b.Refuse(key, "the value %s is not one of %s", diag.Quote(s), strings.Join(words, ", ")).Name("value", s)
		return ""
	}
	return s
}

// WordOr is word with a default, the first word.
func (b *Block) WordOr(key string, words ...string) string {
	if w := b.Word(key, words...); w != "" {
		return w
	}
	return words[0]
}

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

// FaultAt records a refused value at a path whose position is known.
func (d *Decoder) FaultAt(path, format string, args ...any) *diag.Error {
	return d.Fault(d.dialect.Value, nil, path, format, args...)
}

var durationForm = regexp.MustCompile(`^(0|[1-9][0-9]*)([smhd]?)$`)

var durationUnit = map[string]int64{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

// Duration reads seconds with an optional suffix (MAN-204); nil when absent. 0 is
// refused. Units lists the suffixes the key takes.
func (b *Block) Duration(key, units string) *int64 {
	n := b.Node(key)
	if n == nil {
		return nil
	}
	v := Resolve(n)
	m := durationForm.FindStringSubmatch(v.Value)
	if k := KindOf(v); m == nil || k != "string" && k != "integer" || k == "string" && m[2] == "" || !strings.Contains(units, m[2]) {
		e := b.d.Mismatch(n, b.At(key), "duration")
		if v.Kind == yaml.ScalarNode {
			e.Hint("write a whole number of seconds, or one with the suffix %s", List(strings.Split(units, "")))
		}
		return nil
	}
	return b.scaled(key, m[1], durationUnit[m[2]])
}

var sizeForm = regexp.MustCompile(`^(0|[1-9][0-9]*)((?:[KMG]i)?)$`)

var sizeUnit = map[string]int64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}

// Size reads a byte count with an optional suffix (MAN-229). 0 is refused.
func (b *Block) Size(key string, def int64) int64 {
	n := b.Node(key)
	if n == nil {
		return def
	}
	v := Resolve(n)
	m := sizeForm.FindStringSubmatch(v.Value)
	if k := KindOf(v); m == nil || k != "string" && k != "integer" || k == "string" && m[2] == "" {
		e := b.d.Mismatch(n, b.At(key), "size")
		if v.Kind == yaml.ScalarNode {
			e.Hint("write a number of bytes, or a number with Ki, Mi or Gi")
		}
		return def
	}
	if out := b.scaled(key, m[1], sizeUnit[m[2]]); out != nil {
		return *out
	}
	return def
}

// scaled multiplies digits by a unit, refusing 0 and overflow.
func (b *Block) scaled(key, digits string, unit int64) *int64 {
	i, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || i > math.MaxInt64/unit:
		b.Refuse(key, "the number %s is too large", diag.Quote(digits))
	case i == 0:
		b.Refuse(key, "0 is refused; leave the key out for no limit or the default")
	default:
		i *= unit
		return &i
	}
	return nil
}

// RefuseItem records a refused element of a list.
func (b *Block) RefuseItem(key string, i int, format string, args ...any) *diag.Error {
	return b.d.FaultAt(fmt.Sprintf("%s[%d]", b.At(key), i), format, args...)
}

// NonEmpty reads a list of strings that must have an element.
func (b *Block) NonEmpty(key string) []string {
	out := b.Texts(key)
	if len(out) == 0 && (!b.Has(key) || out != nil) {
		b.Refuse(key, "the list is required here and must not be empty")
	}
	return out
}

// NeedFlag reads a boolean that is never inferred.
func (b *Block) NeedFlag(key string) bool {
	if b.Node(key) == nil {
		b.Missing(key)
		return false
	}
	return b.IsTrue(key)
}

// WordDefault is Word with a default that need not be the first.
func (b *Block) WordDefault(key, def string, words ...string) string {
	if w := b.Word(key, words...); w != "" {
		return w
	}
	return def
}

// TrimmedWord is WordOr for a key whose blank text is absent (MAN-24).
func (b *Block) TrimmedWord(key string, words ...string) string {
	if n := b.Node(key); n != nil && KindOf(n) == "string" && strings.TrimSpace(Resolve(n).Value) == "" {
		return words[0]
	}
	return b.WordOr(key, words...)
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
