package trace

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"strconv"
	"unsafe"
)

// Line is one line of a trace, checked to be a JSON object and cut into its
// members without a tree being built. It and every Value of it are good until
// the next Parse.
type Line struct {
	raw     []byte
	members []member
	typ     Type
}

type member struct {
	key, val []byte // key without quotes, unescaped
}

// Parse reads one line, without its newline. It returns false for anything but
// one JSON object.
func (l *Line) Parse(raw []byte) bool {
	l.raw, l.members, l.typ = raw, l.members[:0], ""
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return false
	}
	i = skipSpace(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return skipSpace(raw, i+1) == len(raw)
	}
	for {
		if i >= len(raw) || raw[i] != '"' {
			return false
		}
		end := skipString(raw, i+1)
		if end < 0 {
			return false
		}
		key := raw[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(Unquote(raw[i:end]))
		}
		i = skipSpace(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return false
		}
		start := skipSpace(raw, i+1)
		end = skipValue(raw, start)
		if end < 0 {
			return false
		}
		l.members = append(l.members, member{key: key, val: raw[start:end]})
		i = skipSpace(raw, end)
		if i >= len(raw) {
			return false
		}
		if raw[i] == '}' {
			return skipSpace(raw, i+1) == len(raw)
		}
		if raw[i] != ',' {
			return false
		}
		i = skipSpace(raw, i+1)
	}
}

// Raw is the whole line.
func (l *Line) Raw() []byte { return l.raw }

// Type is the line's event_type, "" when it has none.
func (l *Line) Type() Type {
	if l.typ == "" {
		l.typ = Type(l.Get("event_type").Str())
	}
	return l.typ
}

// Get returns the value of a member; of doubled names the last counts. A
// member that is not there is the zero Value.
func (l *Line) Get(name string) Value {
	for i := len(l.members) - 1; i >= 0; i-- {
		if string(l.members[i].key) == name {
			return Value(l.members[i].val)
		}
	}
	return nil
}

// Value is the text of one JSON value, nil for one that is absent.
type Value []byte

// Kind is the kind of a value by its first byte: one of " { [ t f n 0, or 0 for
// an absent one. t and f are told apart by Bool.
func (v Value) Kind() byte {
	if len(v) == 0 {
		return 0
	}
	switch c := v[0]; c {
	case '"', '{', '[', 'n':
		return c
	case 't', 'f':
		return 't'
	default:
		return '0'
	}
}

// Str returns the text of a string value, "" for any other. The result may
// share the line's memory.
func (v Value) Str() string {
	if v.Kind() != '"' {
		return ""
	}
	if bytes.IndexByte(v, '\\') >= 0 {
		return Unquote(v)
	}
	s := v[1 : len(v)-1]
	return unsafe.String(unsafe.SliceData(s), len(s))
}

// Int returns a whole number that int64 holds, and whether v is one.
func (v Value) Int() (int64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	if len(v) < 18 { // can not overflow
		var n int64
		digits := v
		if v[0] == '-' {
			digits = v[1:]
		}
		for _, c := range digits {
			if c < '0' || c > '9' {
				return 0, false
			}
			n = n*10 + int64(c-'0')
		}
		if v[0] == '-' {
			n = -n
		}
		return n, true
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// Bool reports whether v is true.
func (v Value) Bool() bool { return len(v) > 0 && v[0] == 't' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipString returns the index after the closing quote of the string whose
// content begins at i, -1 when it is none. It looks at eight bytes at once: in
// each test the lowest high bit that is set marks a true hit.
func skipString(b []byte, i int) int {
	for {
		for ; i+8 <= len(b); i += 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			quote := x ^ ones*'"'
			slash := x ^ ones*'\\'
			hit := ((x - ones*0x20) &^ x) | ((quote - ones) &^ quote) | ((slash - ones) &^ slash)
			if hit &= highs; hit != 0 {
				i += bits.TrailingZeros64(hit) >> 3
				break
			}
		}
		for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) || b[i] < 0x20 {
			return -1
		}
		if b[i] == '"' {
			return i + 1
		}
		if i = skipEscape(b, i+1); i < 0 {
			return -1
		}
	}
}

// skipEscape returns the index after the escape whose letter is at i.
func skipEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+5 > len(b) {
			return -1
		}
		for _, c := range b[i+1 : i+5] {
			if _, ok := hexDigit(c); !ok {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

// maxDepth bounds the nesting of a value, as encoding/json does.
const maxDepth = 10000

// skipValue returns the index after the value that begins at i, -1 when there
// is none.
func skipValue(b []byte, i int) int {
	var own [64]byte
	open := own[:0] // the closing bracket each open one waits for
	for {
		// A value begins at i.
		if i >= len(b) {
			return -1
		}
		switch c := b[i]; c {
		case '"':
			i = skipString(b, i+1)
		case '{', '[':
			if len(open) == maxDepth {
				return -1
			}
			closing := c + 2 // '[' to ']', '{' to '}'
			j := skipSpace(b, i+1)
			if j < len(b) && b[j] == closing {
				i = j + 1
				break
			}
			open = append(open, closing)
			if i = j; c == '{' {
				if i = skipKey(b, i); i < 0 {
					return -1
				}
			}
			continue
		case 't':
			i = skipWord(b, i, "true")
		case 'f':
			i = skipWord(b, i, "false")
		case 'n':
			i = skipWord(b, i, "null")
		default:
			i = skipNumber(b, i)
		}
		// A value ended before i.
		for {
			if i < 0 {
				return -1
			}
			if len(open) == 0 {
				return i
			}
			i = skipSpace(b, i)
			if i >= len(b) {
				return -1
			}
			closing := open[len(open)-1]
			if b[i] == closing {
				open = open[:len(open)-1]
				i++
				continue
			}
			if b[i] != ',' {
				return -1
			}
			if i = skipSpace(b, i+1); closing == '}' {
				i = skipKey(b, i)
			}
			break
		}
		if i < 0 {
			return -1
		}
	}
}

// skipKey returns the index of the value after the key that begins at i.
func skipKey(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = skipString(b, i+1); i < 0 {
		return -1
	}
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return skipSpace(b, i+1)
}

func skipWord(b []byte, i int, word string) int {
	if i+len(word) <= len(b) && string(b[i:i+len(word)]) == word {
		return i + len(word)
	}
	return -1
}

func skipNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b) || b[i] < '0' || b[i] > '9':
		return -1
	case b[i] == '0':
		i++
	default:
		i = skipDigits(b, i)
	}
	if i < len(b) && b[i] == '.' {
		j := skipDigits(b, i+1)
		if j == i+1 {
			return -1
		}
		i = j
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := skipDigits(b, i)
		if j == i {
			return -1
		}
		i = j
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// All yields the members in the order they stand.
func (l *Line) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, m := range l.members {
			if !yield(unsafe.String(unsafe.SliceData(m.key), len(m.key)), m.val) {
				return
			}
		}
	}
}

// Elements yields the values of an array, nothing for any other value.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != '[' {
			return
		}
		for i := skipSpace(v, 1); i < len(v) && v[i] != ']'; {
			end := skipValue(v, i)
			if end < 0 || !yield(v[i:end]) {
				return
			}
			if i = skipSpace(v, end); i < len(v) && v[i] == ',' {
				i = skipSpace(v, i+1)
			}
		}
	}
}

// StringEnd returns the index after the JSON string that begins at b[i], -1
// when none does.
func StringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	return skipString(b, i+1)
}
