package readonly

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/toolschema"
)

// maxInputDepth bounds how deep an input is walked.
const maxInputDepth = 64

// contentKeys make a path beside them one that is written (CON-249).
var contentKeys = []string{"content", "contents", "text", "data", "body", "new_str", "new_string", "replacement", "patch", "diff"}

// Input checks a tool's input, JSON text, by the names of its keys and the
// annotations of its schema (CON-248 to CON-252). Text that is no JSON names
// nothing.
func (c *Checker) Input(text string, a toolschema.Annotations) *Hit {
	if c.Idle() {
		return nil
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	w := walker{c: c, a: a}
	w.value(v, "", "", false, a.Templates == nil, 0)
	return w.hit
}

type walker struct {
	c   *Checker
	a   toolschema.Annotations
	hit *Hit
}

func (w *walker) check(path, via string) {
	if w.hit == nil {
		w.hit = w.c.match(path, via, false)
	}
}

// value walks one value. at is its location, key the nearest key above it, guessed
// whether a string here is taken for a path by that key's name, and guess whether
// names count at all.
func (w *walker) value(v any, at, key string, guessed, guess bool, depth int) {
	if w.hit != nil || depth > maxInputDepth {
		return
	}
	if slices.Contains(w.a.Opaque, at) && at != "" {
		guess = false
	}
	w.templates(v, at)
	switch v := v.(type) {
	case string:
		if slices.Contains(w.a.Destinations, at) || guessed && guess {
			w.check(v, key)
		}
	case []any:
		for _, e := range v {
			w.value(e, at+"[]", key, guessed, guess, depth+1)
		}
	case map[string]any:
		content := false
		for k := range v {
			content = content || slices.Contains(contentKeys, toolschema.Key(k))
		}
		for k, e := range v {
			where := k
			if at != "" {
				where = at + "." + k
			}
			written := toolschema.DestinationKey(k) || content && toolschema.PathKey(k)
			w.value(e, where, k, written, guess, depth+1)
		}
	}
}

// templates checks the paths that murmur-destinations makes of a string here.
func (w *walker) templates(v any, at string) {
	s, ok := v.(string)
	if !ok || w.a.Templates == nil {
		return
	}
	if at == "" {
		at = "<input>"
	}
	for _, t := range *w.a.Templates {
		location, suffix, _ := strings.Cut(strings.TrimPrefix(t, "{"), "}")
		if location == at {
			w.check(s+suffix, t)
		}
	}
}
