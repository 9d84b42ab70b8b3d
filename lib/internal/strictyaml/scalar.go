package strictyaml

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
)

// Text reads a string, untrimmed; false when absent or refused.
func (b *Block) Text(key string) (string, bool) {
	n := b.Node(key)
	if n == nil {
		return "", false
	}
	return b.d.Text(n, b.At(key))
}

// Text reads a node that has to be a string, untrimmed; false when refused.
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

var decimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)$`) })

// Whole reads an integer from min to max (MAN-21); nil when absent.
func (b *Block) Whole(key string, min, max int64) *int64 {
	n := b.Node(key)
	if n == nil {
		return nil
	}
	v := Resolve(n)
	if KindOf(v) != "integer" {
		// Digits beyond 64 bits resolve to a float.
		if KindOf(v) == "float" && decimal().MatchString(v.Value) {
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
	case !decimal().MatchString(v.Value):
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

var durationForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)([smhd]?)$`) })

var durationUnit = map[string]int64{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

// Duration reads seconds with an optional suffix (MAN-204); nil when absent. 0 is
// refused. Units lists the suffixes the key takes.
func (b *Block) Duration(key, units string) *int64 {
	n := b.Node(key)
	if n == nil {
		return nil
	}
	v := Resolve(n)
	m := durationForm().FindStringSubmatch(v.Value)
	if k := KindOf(v); m == nil || k != "string" && k != "integer" || k == "string" && m[2] == "" || !strings.Contains(units, m[2]) {
		e := b.d.Mismatch(n, b.At(key), "duration")
		if v.Kind == yaml.ScalarNode {
			e.Hint("write a whole number of seconds, or one with the suffix %s", List(strings.Split(units, "")))
		}
		return nil
	}
	return b.scaled(key, m[1], durationUnit[m[2]])
}

var sizeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)((?:[KMG]i)?)$`) })

var sizeUnit = map[string]int64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}

// Size reads a byte count with an optional suffix (MAN-229). 0 is refused.
func (b *Block) Size(key string, def int64) int64 {
	n := b.Node(key)
	if n == nil {
		return def
	}
	v := Resolve(n)
	m := sizeForm().FindStringSubmatch(v.Value)
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
