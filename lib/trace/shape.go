package trace

import (
	"encoding/json"
	"reflect"
	"strings"
)

// shapeField is what a reader holds a field of a known event to.
type shapeField struct {
	name     string
	kind     byte // see Value.Kind; 0 means any
	null     bool // may be null
	required bool
	signed   bool
}

var shapes = func() map[Type][]shapeField {
	m := make(map[Type][]shapeField, len(byType))
	for t, rt := range byType {
		m[t] = shapeOf(rt)
	}
	return m
}()

func shapeOf(rt reflect.Type) []shapeField {
	var out []shapeField
	for _, f := range fieldsOf(rt) {
		ft := rt.Field(f.index).Type
		s := shapeField{name: f.name, signed: f.signed}
		pointer := ft.Kind() == reflect.Pointer
		s.null = pointer && !f.omitEmpty
		if pointer {
			ft = ft.Elem()
		}
		switch {
		case f.tag.Get("kind") == "object":
			s.kind = '{'
		case ft == rawType:
			s.null = true
		case ft.Kind() == reflect.String:
			s.kind = '"'
		case ft.Kind() == reflect.Bool:
			s.kind = 't'
		case ft.Kind() == reflect.Int64:
			s.kind = '0'
		case ft.Kind() == reflect.Slice:
			s.kind = '['
		case ft.Kind() == reflect.Struct:
			s.kind = '{'
		}
		_, hasDefault := f.tag.Lookup("default")
		s.required = !f.omitEmpty && !pointer && !hasDefault && s.kind != '['
		out = append(out, s)
	}
	return out
}

// Known reports whether the line is an event this package knows: its type is
// one of Types, no required field is missing and no field is of another kind
// than documented (TRC-87, TRC-90). Required is every field that is always
// written but those that may be null, lists, and those with a documented
// default.
func (l *Line) Known() bool {
	shape, ok := shapes[l.Type()]
	if !ok {
		return false
	}
	at := 0 // fields come in table order, so the next one is most often here
	for i := range shape {
		f := &shape[i]
		v := Value(nil)
		for at < len(l.members) && isHeader(l.members[at].key) {
			at++
		}
		if at < len(l.members) && string(l.members[at].key) == f.name {
			v = l.members[at].val
			at++
		} else {
			v = l.Get(f.name)
		}
		if !f.fits(v) {
			return false
		}
	}
	return true
}

func isHeader(key []byte) bool {
	switch string(key) {
	case "event_type", "event_id", "parent_id", "session_id", "timestamp":
		return true
	}
	return false
}

func (f *shapeField) fits(v Value) bool {
	switch k := v.Kind(); {
	case k == 0:
		return !f.required
	case f.kind == 0:
		return true
	case k == 'n':
		return f.null
	case k != f.kind:
		return false
	case k == '0':
		n, ok := v.Int()
		return ok && (n >= 0 || f.signed)
	}
	return true
}

// Decode returns the line as a typed event. It returns nil for one that is not
// known.
func (l *Line) Decode() Payload {
	if !l.Known() {
		return nil
	}
	v := reflect.New(byType[l.Type()])
	if json.Unmarshal(l.raw, v.Interface()) != nil {
		return nil
	}
	return v.Elem().Interface().(Payload)
}

// Header returns what every line begins with; what is missing is zero.
func (l *Line) Header() Header {
	h := Header{EventType: Type(strings.Clone(string(l.Type()))), EventID: clone(l.Get("event_id")), SessionID: clone(l.Get("session_id"))}
	if p := l.Get("parent_id"); p.Kind() == '"' {
		h.ParentID = new(clone(p))
	}
	h.Timestamp, _ = l.Get("timestamp").Int()
	return h
}

// clone is Str in memory of its own.
func clone(v Value) string { return strings.Clone(v.Str()) }
