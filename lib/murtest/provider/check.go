package provider

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
)

// Values of a request body are those of encoding/json with UseNumber.

// unknown refuses members of an object that are not among those allowed; say
// words the refusal.
func unknown(o map[string]any, say func(key string), allowed ...string) {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if !slices.Contains(allowed, k) {
			say(k)
		}
	}
}

func object(v any, at string) map[string]any {
	o, ok := v.(map[string]any)
	if !ok {
		refuse("%s: Input should be an object", at)
	}
	return o
}

func list(v any, at string) []any {
	l, ok := v.([]any)
	if !ok {
		refuse("%s: Input should be a valid list", at)
	}
	return l
}

func text(v any, at string) string {
	s, ok := v.(string)
	if !ok {
		refuse("%s: Input should be a valid string", at)
	}
	return s
}

func integer(v any, at string) int64 {
	n, ok := v.(json.Number)
	if !ok {
		refuse("%s: Input should be a valid integer", at)
	}
	i, err := n.Int64()
	if err != nil {
		refuse("%s: Input should be a valid integer", at)
	}
	return i
}

func boolean(v any, at string) bool {
	b, ok := v.(bool)
	if !ok {
		refuse("%s: Input should be a valid boolean", at)
	}
	return b
}

// within refuses numbers outside a range.
func within(v any, at string, low, high float64) {
	n, ok := v.(json.Number)
	if !ok {
		refuse("%s: Input should be a valid number", at)
	}
	if f, err := n.Float64(); err != nil || f < low || f > high {
		refuse("%s: Input should be between %v and %v", at, low, high)
	}
}

func oneOf(v any, at string, allowed ...string) string {
	s := text(v, at)
	if !slices.Contains(allowed, s) {
		refuse("%s: Input should be one of %q, not %q", at, allowed, s)
	}
	return s
}

func pattern(v any, at string, re *regexp.Regexp) string {
	s := text(v, at)
	if !re.MatchString(s) {
		refuse("%s: String should match pattern '%s'", at, re)
	}
	return s
}

var schemaTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// schema checks that v is a JSON schema as draft 2020-12 has them, in the parts
// tools use.
func schema(v any, at string) {
	if _, ok := v.(bool); ok {
		return
	}
	o := object(v, at)
	if t, ok := o["type"]; ok {
		if names, many := t.([]any); many {
			for i, name := range names {
				oneOf(name, fmt.Sprintf("%s.type.%d", at, i), schemaTypes...)
			}
		} else {
			oneOf(t, at+".type", schemaTypes...)
		}
	}
	for _, key := range []string{"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"} {
		if m, ok := o[key]; ok {
			for name, sub := range object(m, at+"."+key) {
				schema(sub, at+"."+key+"."+name)
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"} {
		if sub, ok := o[key]; ok {
			schema(sub, at+"."+key)
		}
	}
	for _, key := range []string{"anyOf", "allOf", "oneOf", "prefixItems"} {
		if subs, ok := o[key]; ok {
			for i, sub := range list(subs, at+"."+key) {
				schema(sub, fmt.Sprintf("%s.%s.%d", at, key, i))
			}
		}
	}
	if required, ok := o["required"]; ok {
		var seen []string
		for i, name := range list(required, at+".required") {
			s := text(name, fmt.Sprintf("%s.required.%d", at, i))
			if slices.Contains(seen, s) {
				refuse("%s.required: %q is listed twice", at, s)
			}
			seen = append(seen, s)
		}
	}
	if values, ok := o["enum"]; ok {
		list(values, at+".enum")
	}
	for _, key := range []string{"title", "description", "format", "pattern", "$ref"} {
		if s, ok := o[key]; ok {
			text(s, at+"."+key)
		}
	}
}
