package session

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mur-capsules/mur/lib/diag"
)

// maxFaults bounds the faults one refusal lists.
const maxFaults = 8

// decodeStrict fills v, a pointer to a struct, from data: one JSON object whose
// members are exactly the struct's, written exactly so, each once. Package
// encoding/json alone matches names in any case, lets the last of two equal
// members win, and takes missing ones for zero; here each of those could turn a
// denial into a grant.
func decodeStrict(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	c := &checker{dec: json.NewDecoder(bytes.NewReader(data))}
	c.dec.UseNumber()
	if err := c.value(reflect.StructField{Type: reflect.TypeOf(v).Elem()}, ""); err != nil {
		return err
	}
	if _, err := c.dec.Token(); err != io.EOF {
		return errors.New("something follows the object")
	}
	if len(c.faults) > 0 {
		return errors.New(strings.Join(c.faults, "; "))
	}
	return json.Unmarshal(data, v)
}

// checker walks a JSON text beside the Go type it is meant for.
type checker struct {
	dec    *json.Decoder
	faults []string
}

func (c *checker) fault(format string, args ...any) {
	switch {
	case len(c.faults) < maxFaults:
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	case len(c.faults) == maxFaults:
		c.faults = append(c.faults, "and more")
	}
}

var (
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// value consumes one JSON value and compares it with the field it is for: its
// type and, for a text that is one of a few words, its tag "words". The error is
// one of JSON syntax; everything else is a fault.
func (c *checker) value(f reflect.StructField, path string) error {
	t := f.Type
	tok, err := c.dec.Token()
	if err != nil {
		return syntax(err)
	}
	if t == rawMessage {
		return c.skip(tok)
	}
	if t.Kind() == reflect.Pointer {
		if tok == nil {
			return nil
		}
		t = t.Elem()
	}
	if tok == nil {
		c.fault("%s is null", name(path))
		return nil
	}
	if p := reflect.PointerTo(t); p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler) {
		return c.skip(tok)
	}
	switch t.Kind() {
	case reflect.Struct:
		if tok != json.Delim('{') {
			c.fault("%s is not an object", name(path))
			return c.skip(tok)
		}
		return c.object(t, path)
	case reflect.Map:
		if tok != json.Delim('{') {
			c.fault("%s is not an object", name(path))
			return c.skip(tok)
		}
		return c.members(path, func(string) (reflect.StructField, bool) { return element(t), true }, nil)
	case reflect.Slice:
		if tok != json.Delim('[') {
			c.fault("%s is not a list", name(path))
			return c.skip(tok)
		}
		for i := 0; c.dec.More(); i++ {
			if err := c.value(element(t), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		_, err := c.dec.Token()
		return syntax(err)
	}
	if text, ok := tok.(string); ok && f.Tag.Get("words") != "" {
		if words := strings.Split(f.Tag.Get("words"), ","); !slices.Contains(words, text) {
			c.fault("%s is %s, not one of %s", name(path), diag.Quote(text), strings.Join(words, ", "))
		}
	}
	return c.skip(tok) // json.Unmarshal checks scalars
}

func element(t reflect.Type) reflect.StructField { return reflect.StructField{Type: t.Elem()} }

func (c *checker) object(t reflect.Type, path string) error {
	fields := map[string]reflect.StructField{}
	var required []string
	for i := range t.NumField() {
		tag, opts, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if tag == "-" {
			continue
		}
		fields[tag] = t.Field(i)
		if opts != "omitempty" {
			required = append(required, tag)
		}
	}
	return c.members(path, func(key string) (reflect.StructField, bool) { f, ok := fields[key]; return f, ok }, required)
}

func (c *checker) members(path string, fieldOf func(string) (reflect.StructField, bool), required []string) error {
	seen := map[string]bool{}
	for c.dec.More() {
		tok, err := c.dec.Token()
		if err != nil {
			return syntax(err)
		}
		key := tok.(string)
		at := strings.TrimPrefix(path+"."+key, ".")
		if seen[key] {
			c.fault("%s stands there twice", name(at))
		}
		seen[key] = true
		f, ok := fieldOf(key)
		if !ok {
			c.fault("%s is not known", name(at))
			f = reflect.StructField{Type: rawMessage}
		}
		if err := c.value(f, at); err != nil {
			return err
		}
	}
	for _, key := range required {
		if !seen[key] {
			c.fault("%s is missing", name(strings.TrimPrefix(path+"."+key, ".")))
		}
	}
	_, err := c.dec.Token()
	return syntax(err)
}

// skip consumes the rest of the value that began with tok.
func (c *checker) skip(tok json.Token) error {
	depth := 0
	for {
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		var err error
		if tok, err = c.dec.Token(); err != nil {
			return syntax(err)
		}
	}
}

func syntax(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text ends too early")
	}
	return err
}

func name(path string) string {
	if path == "" {
		return "the document"
	}
	if len(path) > 200 {
		path = path[:200] + "..."
	}
	return path
}

// fill replaces every nil slice and map beneath v by an empty one, since no
// array of a document is null (SES-77).
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f)
			}
		}
	case reflect.Slice:
		if v.Type() == rawMessage {
			return
		}
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		// A map of its own: documents may share what one probe of the host found.
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, e := range v.Seq2() {
			filled := reflect.New(v.Type().Elem()).Elem()
			filled.Set(e)
			fill(filled)
			own.SetMapIndex(k, filled)
		}
		v.Set(own)
	}
}
