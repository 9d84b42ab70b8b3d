package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// appendEvent appends the line of one event without prev_hash and without its
// closing brace: {"event_type":...,<payload>. omitParent leaves parent_id out,
// which only a repair of another session's file does.
func appendEvent(dst []byte, h Header, omitParent bool, p Payload) ([]byte, error) {
	dst = append(dst, `{"event_type":`...)
	dst = appendString(dst, string(h.EventType))
	dst = append(dst, `,"event_id":`...)
	dst = appendString(dst, h.EventID)
	if !omitParent {
		dst = append(dst, `,"parent_id":`...)
		if h.ParentID == nil {
			dst = append(dst, "null"...)
		} else {
			dst = appendString(dst, *h.ParentID)
		}
	}
	dst = append(dst, `,"session_id":`...)
	dst = appendString(dst, h.SessionID)
	dst = append(dst, `,"timestamp":`...)
	dst = strconv.AppendInt(dst, max(h.Timestamp, 0), 10)
	return appendFields(dst, reflect.ValueOf(p), false)
}

// closeLine ends a line begun by appendEvent.
func closeLine(dst []byte, prev string) []byte {
	dst = append(dst, `,"prev_hash":"`...)
	dst = append(dst, prev...)
	return append(dst, "\"}\n"...)
}

// field is how one struct field is written.
type field struct {
	index     int
	key       string // ,"name":
	name      string
	omitEmpty bool
	signed    bool
	tag       reflect.StructTag
}

var fieldCache sync.Map // reflect.Type -> []field

func fieldsOf(t reflect.Type) []field {
	if fs, ok := fieldCache.Load(t); ok {
		return fs.([]field)
	}
	fs := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		sf := t.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		fs = append(fs, field{
			index: i, name: name, key: `,"` + name + `":`,
			omitEmpty: opts == "omitempty", signed: sf.Tag.Get("signed") != "", tag: sf.Tag,
		})
	}
	fieldCache.Store(t, fs)
	return fs
}

// appendFields appends the fields of a struct; the first of them without a
// comma when first is set.
func appendFields(dst []byte, v reflect.Value, first bool) ([]byte, error) {
	var err error
	for _, f := range fieldsOf(v.Type()) {
		fv := v.Field(f.index)
		if f.omitEmpty && fv.IsZero() {
			continue
		}
		key := f.key
		if first {
			key, first = key[1:], false
		}
		if dst, err = appendValue(append(dst, key...), fv, f.signed); err != nil {
			return dst, fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	return dst, nil
}

var rawType = reflect.TypeFor[Raw]()

func appendValue(dst []byte, v reflect.Value, signed bool) ([]byte, error) {
	var err error
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return appendValue(dst, v.Elem(), signed)
	case reflect.String:
		return appendString(dst, v.String()), nil
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case reflect.Int64:
		n := v.Int()
		if n < 0 && !signed {
			n = 0 // a duration under a clock that stepped back (TRC-4)
		}
		return strconv.AppendInt(dst, n, 10), nil
	case reflect.Slice:
		if v.Type() == rawType {
			return appendRaw(dst, v.Bytes()), nil
		}
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, v.Index(i), signed); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case reflect.Struct:
		if dst, err = appendFields(append(dst, '{'), v, true); err != nil {
			return dst, err
		}
		return append(dst, '}'), nil
	default:
		return dst, fmt.Errorf("no form for %s", v.Type())
	}
}

// appendRaw appends a JSON value without white space between its tokens and
// with invalid UTF-8 replaced; its numbers, key order and escapes stay. Bytes
// that are no JSON value, such as a model may write, become a string: a trace
// does not end a session over them.
func appendRaw(dst, raw []byte) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	raw = plainASCII(raw)
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	buf := bytes.NewBuffer(dst)
	if json.Compact(buf, raw) != nil {
		return appendString(dst, string(raw))
	}
	return buf.Bytes()
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string: only what RFC 8259 demands is
// escaped, invalid UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				i++
				start = i
				continue
			}
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
