package manifest

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

// decoder collects what one pass over a manifest finds. Values read after a
// fault are placeholders; the caller drops them.
type decoder struct {
	opts     Options
	pos      *positions
	artifact string // full name of the artifacts entry being read, or empty
	faults   []*diag.Error
	unknown  []unknownKey
	plain    []placed
}

// placed is a warning and where its cause stands.
type placed struct {
	at      Position
	warning diag.Warning
}

func newDecoder(file string, opts Options) *decoder {
	return &decoder{opts: opts, pos: &positions{file: file, at: map[string]Position{}}}
}

// fault records a refusal at a node; a nil node is placed at the nearest
// enclosing block of path.
func (d *decoder) fault(code diag.Code, n *yaml.Node, path, format string, args ...any) *diag.Error {
	s := d.pos.Subject(path)
	if n != nil {
		s.Line, s.Column = n.Line, n.Column
	}
	where := d.pos.file
	if s.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", where, s.Line, s.Column)
	}
	name := path
	if d.artifact != "" {
		name += " (" + d.artifact + ")"
	}
	e := diag.Errorf(code, "%s: %s: "+format, append([]any{where, name}, args...)...).
		In("parse").About(s).Name("path", path)
	if d.artifact != "" {
		e.Name("artifact", d.artifact)
	}
	d.faults = append(d.faults, e)
	return e
}

// mismatch records a value of the wrong type.
func (d *decoder) mismatch(n *yaml.Node, path, expected string) *diag.Error {
	found := kindOf(n)
	return d.fault("E-MAN-003", n, path, "expected %s, found %s", expected, found).
		Name("expected", expected).Name("found", found)
}

// warn records a plain warning about the value at n.
func (d *decoder) warn(n *yaml.Node, path, format string, args ...any) {
	w := diag.Warningf("", "manifest", "%s: %s", path, fmt.Sprintf(format, args...))
	s := d.pos.Subject(path)
	w.Phase, w.Subject = "parse", &s
	d.plain = append(d.plain, placed{Position{n.Line, n.Column}, w})
}

// ok tells whether nothing was refused so far. Checks between keys run only
// then: a placeholder must not raise a second fault.
func (d *decoder) ok() bool { return len(d.faults) == 0 }

// block is a mapping whose keys are known. A nil *block is an absent one: every
// reader on it answers "absent".
type block struct {
	d    *decoder
	path string
	keys map[string]*yaml.Node
}

// open reads a mapping and sorts out keys that are not among known, which lists
// them in declared order. Anything but a mapping is refused and opens as absent.
func (d *decoder) open(n *yaml.Node, path string, known []string) *block {
	d.pos.at[path] = Position{n.Line, n.Column}
	m := resolve(n)
	if m.Kind != yaml.MappingNode {
		d.mismatch(n, path, "mapping")
		return nil
	}
	b := &block{d: d, path: path, keys: map[string]*yaml.Node{}}
	for i := 0; i < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		key := resolve(k)
		if key.Kind != yaml.ScalarNode || kindOf(key) != "string" {
			d.fault("E-MAN-003", k, path, "expected string as key, found %s", kindOf(k))
			continue
		}
		if !slices.Contains(known, key.Value) {
			d.unknown = append(d.unknown, unknownKey{at: Position{k.Line, k.Column}, key: key.Value, block: path, known: known})
			continue
		}
		b.keys[key.Value] = v
		d.pos.at[b.at(key.Value)] = Position{v.Line, v.Column}
	}
	return b
}

// at is the dotted path of a key.
func (b *block) at(key string) string {
	if b.path == "" {
		return key
	}
	return b.path + "." + key
}

// has tells whether the key is written, null included.
func (b *block) has(key string) bool { return b != nil && b.keys[key] != nil }

// node returns the value, nil when absent or null (MAN-23).
func (b *block) node(key string) *yaml.Node {
	if !b.has(key) || isNull(b.keys[key]) {
		return nil
	}
	return b.keys[key]
}

// refuse records E-MAN-003 about a key.
func (b *block) refuse(key, format string, args ...any) *diag.Error {
	return b.d.fault("E-MAN-003", b.keys[key], b.at(key), format, args...)
}

// missing records E-MAN-003 for a required key that is absent or blank.
func (b *block) missing(key string) {
	if b == nil {
		return
	}
	state := "is required here"
	if b.node(key) != nil {
		state = "is blank"
	}
	b.refuse(key, "the key %s", state)
}

// text reads a string, untrimmed; false when absent or refused.
func (b *block) text(key string) (string, bool) {
	n := b.node(key)
	if n == nil {
		return "", false
	}
	return b.d.text(n, b.at(key))
}

func (d *decoder) text(n *yaml.Node, path string) (string, bool) {
	if kindOf(n) != "string" {
		e := d.mismatch(n, path, "string")
		if resolve(n).Kind == yaml.ScalarNode {
			e.Hint("put the value in quotes")
		}
		return "", false
	}
	return resolve(n).Value, true
}

// trimmed reads a string and trims it; blank, absent and refused are "" (MAN-24).
func (b *block) trimmed(key string) string {
	s, _ := b.text(key)
	return strings.TrimSpace(s)
}

// required is trimmed for a key that must not come out blank.
func (b *block) required(key string) string {
	if b.node(key) == nil {
		b.missing(key)
		return ""
	}
	s, ok := b.text(key)
	if s = strings.TrimSpace(s); ok && s == "" {
		b.missing(key)
	}
	return s
}

// flag reads a boolean, true or false and nothing else (MAN-18); nil when absent.
func (b *block) flag(key string) *bool {
	n := b.node(key)
	if n == nil {
		return nil
	}
	v := resolve(n)
	if kindOf(v) != "boolean" || v.Value != "true" && v.Value != "false" {
		b.d.mismatch(n, b.at(key), "boolean").Hint("write true or false")
		return nil
	}
	yes := v.Value == "true"
	return &yes
}

// isTrue reads a boolean whose default is false.
func (b *block) isTrue(key string) bool {
	v := b.flag(key)
	return v != nil && *v
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// whole reads an integer from min to max (MAN-21); nil when absent.
func (b *block) whole(key string, min, max int64) *int64 {
	n := b.node(key)
	if n == nil {
		return nil
	}
	v := resolve(n)
	if kindOf(v) != "integer" {
		// Digits beyond 64 bits resolve to a float.
		if kindOf(v) == "float" && decimal.MatchString(v.Value) {
			b.refuse(key, "the number is above %d", max)
			return nil
		}
		b.d.mismatch(n, b.at(key), "integer")
		return nil
	}
	i, err := strconv.ParseInt(strings.TrimPrefix(v.Value, "+"), 10, 64)
	switch {
	case err != nil && strings.Trim(v.Value, "0123456789") != "":
		b.refuse(key, "expected integer in plain decimal digits, found %s", diag.Quote(v.Value))
	case err != nil || i > max:
		b.refuse(key, "the number %s is above %d", v.Value, max)
	case i < min:
		b.refuse(key, "the number %s is below %d", v.Value, min)
	case !decimal.MatchString(v.Value):
		b.refuse(key, "expected integer in plain decimal digits, found %s", diag.Quote(v.Value))
	default:
		return &i
	}
	return nil
}

// wholeOr is whole with a default.
func (b *block) wholeOr(key string, def, min, max int64) int64 {
	if v := b.whole(key, min, max); v != nil {
		return *v
	}
	return def
}

// fraction reads a float up to 1, above 0 or from 0 on (MAN-22).
func (b *block) fraction(key string, def float64, zero bool) float64 {
	n := b.node(key)
	if n == nil {
		return def
	}
	v := resolve(n)
	if k := kindOf(v); k != "float" && k != "integer" {
		b.d.mismatch(n, b.at(key), "float")
		return def
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(v.Value, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		b.refuse(key, "expected a finite float, found %s", diag.Quote(v.Value))
		return def
	}
	from := "above 0"
	if zero {
		from = "from 0"
	}
	if f > 1 || f < 0 || f == 0 && !zero {
		b.refuse(key, "the number %s is not %s up to 1", v.Value, from)
		return def
	}
	return f
}

// word reads one of the given words, exactly (MAN-25); "" when absent.
func (b *block) word(key string, words ...string) string {
	n := b.node(key)
	if n == nil {
		return ""
	}
	s, ok := b.d.text(n, b.at(key))
	if ok && !slices.Contains(words, s) {
		b.refuse(key, "the value %s is none of %s", diag.Quote(s), list(words)).Name("value", s)
		return ""
	}
	return s
}

// wordOr is word with a default, the first word.
func (b *block) wordOr(key string, words ...string) string {
	if w := b.word(key, words...); w != "" {
		return w
	}
	return words[0]
}

// sub opens a nested block, nil when absent or null.
func (b *block) sub(key string, known []string) *block {
	n := b.node(key)
	if n == nil {
		return nil
	}
	return b.d.open(n, b.at(key), known)
}

// item is an element of a list.
type item struct {
	node *yaml.Node
	path string
}

// list reads a list's elements: nil when absent, not nil when written. A null
// is refused (MAN-23).
func (b *block) list(key string) []item {
	if !b.has(key) {
		return nil
	}
	n := b.keys[key]
	v := resolve(n)
	if v.Kind != yaml.SequenceNode {
		b.d.mismatch(n, b.at(key), "list")
		return nil
	}
	out := make([]item, 0, len(v.Content))
	for i, c := range v.Content {
		path := fmt.Sprintf("%s[%d]", b.at(key), i)
		b.d.pos.at[path] = Position{c.Line, c.Column}
		out = append(out, item{c, path})
	}
	return out
}

// texts reads a list of strings, trimmed; nil when absent.
func (b *block) texts(key string) []string {
	items := b.list(key)
	if items == nil {
		return nil
	}
	out := make([]string, 0, len(items))
	for _, it := range items {
		s, _ := b.d.text(it.node, it.path)
		out = append(out, strings.TrimSpace(s))
	}
	return out
}

// words reads a list whose elements are among the given words, each once.
func (b *block) words(key string, words ...string) []string {
	var out []string
	for _, it := range b.list(key) {
		w, ok := b.d.text(it.node, it.path)
		switch {
		case !ok:
		case !slices.Contains(words, w):
			b.d.faultAt(it.path, "the value %s is none of %s", diag.Quote(w), list(words)).Name("value", w)
		case slices.Contains(out, w):
			b.d.faultAt(it.path, "the value %s stands twice", diag.Quote(w)).Name("value", w)
		}
		out = append(out, w)
	}
	return out
}

// pair is a key of a mapping whose keys are free.
type pair struct {
	key  string
	item item
}

// free reads a mapping whose keys are names of the author's choice, in written
// order; nil when absent.
func (b *block) free(key string) []pair {
	n := b.node(key)
	if n == nil {
		return nil
	}
	m := resolve(n)
	if m.Kind != yaml.MappingNode {
		b.d.mismatch(n, b.at(key), "mapping")
		return nil
	}
	var out []pair
	for i := 0; i < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if kindOf(k) != "string" {
			b.d.fault("E-MAN-003", k, b.at(key), "expected string as key, found %s", kindOf(k))
			continue
		}
		p := pair{resolve(k).Value, item{v, b.at(key) + "." + resolve(k).Value}}
		b.d.pos.at[p.item.path] = Position{v.Line, v.Column}
		out = append(out, p)
	}
	return out
}

// faultAt records E-MAN-003 about a path whose position is known.
func (d *decoder) faultAt(path, format string, args ...any) *diag.Error {
	return d.fault("E-MAN-003", nil, path, format, args...)
}

var durationForm = regexp.MustCompile(`^(0|[1-9][0-9]*)([smhd]?)$`)

var durationUnit = map[string]int64{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

// duration reads seconds with an optional suffix (MAN-204); nil when absent. 0 is
// refused. Units lists the suffixes the key takes.
func (b *block) duration(key, units string) *int64 {
	n := b.node(key)
	if n == nil {
		return nil
	}
	v := resolve(n)
	m := durationForm.FindStringSubmatch(v.Value)
	if k := kindOf(v); m == nil || k != "string" && k != "integer" || k == "string" && m[2] == "" || !strings.Contains(units, m[2]) {
		e := b.d.mismatch(n, b.at(key), "duration")
		if v.Kind == yaml.ScalarNode {
			e.Hint("write a whole number of seconds, or one with the suffix %s", list(strings.Split(units, "")))
		}
		return nil
	}
	return b.scaled(key, m[1], durationUnit[m[2]])
}

var sizeForm = regexp.MustCompile(`^(0|[1-9][0-9]*)((?:[KMG]i)?)$`)

var sizeUnit = map[string]int64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}

// size reads a byte count with an optional suffix (MAN-229). 0 is refused.
func (b *block) size(key string, def int64) int64 {
	n := b.node(key)
	if n == nil {
		return def
	}
	v := resolve(n)
	m := sizeForm.FindStringSubmatch(v.Value)
	if k := kindOf(v); m == nil || k != "string" && k != "integer" || k == "string" && m[2] == "" {
		e := b.d.mismatch(n, b.at(key), "size")
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
func (b *block) scaled(key, digits string, unit int64) *int64 {
	i, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || i > math.MaxInt64/unit:
		b.refuse(key, "the number %s is too large", diag.Quote(digits))
	case i == 0:
		b.refuse(key, "0 is refused; leave the key out for no limit or the default")
	default:
		i *= unit
		return &i
	}
	return nil
}
