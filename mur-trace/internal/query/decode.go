package query

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/mur-capsules/mur/lib/trace"
)

var errNoValue = errors.New("no JSON value")

// decode makes a value for the engine of the text of one JSON value. Integers
// stay exact, other numbers keep their text. Strings share the memory of text,
// which must not change afterwards.
func decode(text []byte) (any, error) {
	d := decoder{b: text}
	v, err := d.value()
	if err == nil && d.space() != len(text) {
		err = errNoValue
	}
	return v, err
}

// decoder reads text that a trace.Line has found to be valid, so its errors
// are rare and say little.
type decoder struct {
	b []byte
	i int
}

func (d *decoder) space() int {
	for d.i < len(d.b) && (d.b[d.i] == ' ' || d.b[d.i] == '\t' || d.b[d.i] == '\n' || d.b[d.i] == '\r') {
		d.i++
	}
	return d.i
}

func (d *decoder) value() (any, error) {
	if d.space() == len(d.b) {
		return nil, errNoValue
	}
	switch c := d.b[d.i]; c {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return d.str()
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	default:
		return d.number()
	}
}

func (d *decoder) word(w string) error {
	if len(d.b)-d.i < len(w) || string(d.b[d.i:d.i+len(w)]) != w {
		return errNoValue
	}
	d.i += len(w)
	return nil
}

func (d *decoder) object() (any, error) {
	m := make(map[string]any)
	if empty, err := d.begin('}'); empty || err != nil {
		return m, err
	}
	for {
		if d.space() == len(d.b) || d.b[d.i] != '"' {
			return nil, errNoValue
		}
		key, err := d.str()
		if err != nil {
			return nil, err
		}
		if d.space() == len(d.b) || d.b[d.i] != ':' {
			return nil, errNoValue
		}
		d.i++
		if m[key], err = d.value(); err != nil {
			return nil, err
		}
		if more, err := d.next('}'); !more || err != nil {
			return m, err
		}
	}
}

func (d *decoder) array() (any, error) {
	list := []any{}
	if empty, err := d.begin(']'); empty || err != nil {
		return list, err
	}
	for {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if more, err := d.next(']'); !more || err != nil {
			return list, err
		}
	}
}

func (d *decoder) begin(closing byte) (empty bool, err error) {
	d.i++
	if d.space() == len(d.b) {
		return false, errNoValue
	}
	if d.b[d.i] == closing {
		d.i++
		return true, nil
	}
	return false, nil
}

func (d *decoder) next(closing byte) (more bool, err error) {
	if d.space() == len(d.b) {
		return false, errNoValue
	}
	c := d.b[d.i]
	d.i++
	if c == ',' || c == closing {
		return c == ',', nil
	}
	return false, errNoValue
}

func (d *decoder) str() (string, error) {
	end := trace.StringEnd(d.b, d.i)
	if end < 0 {
		return "", errNoValue
	}
	quoted := d.b[d.i:end]
	d.i = end
	inner := quoted[1 : len(quoted)-1]
	plain := unsafe.String(unsafe.SliceData(inner), len(inner))
	if strings.IndexByte(plain, '\\') < 0 && utf8.ValidString(plain) {
		return plain, nil
	}
	return trace.Unquote(quoted), nil
}

func (d *decoder) number() (any, error) {
	start := d.i
	whole := true
	for d.i < len(d.b) {
		switch c := d.b[d.i]; {
		case c >= '0' && c <= '9', c == '-':
		case c == '+', c == '.', c == 'e', c == 'E':
			whole = false
		default:
			return numberOf(d.b[start:d.i], whole)
		}
		d.i++
	}
	return numberOf(d.b[start:], whole)
}

func numberOf(text []byte, whole bool) (any, error) {
	if len(text) == 0 {
		return nil, errNoValue
	}
	if whole && string(text) != "-0" {
		if n, err := strconv.Atoi(string(text)); err == nil {
			return n, nil
		}
	}
	return json.Number(text), nil
}
