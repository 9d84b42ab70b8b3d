package toolschema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// maxDepth is how deep a schema is read; deeper parts count as unannotated
// (CON-253).
const maxDepth = 32

// The annotations (MAN-273).
const (
	destinationFormat = "murmur-destination"
	opaqueFormat      = "murmur-opaque"
	templateKey       = "murmur-destinations"
	rootLocation      = "<input>"
)

// Annotations are the annotated locations of a tool's input. A location is keys
// joined by ".", with "[]" for a step into an array: "files[].path".
type Annotations struct {
	Destinations []string // string values that are written paths
	Opaque       []string // objects and arrays whose keys mean nothing
	// Templates are the entries of murmur-destinations; nil when the schema has no
	// usable list, and empty when it says that the tool writes nothing its input
	// names (MAN-274).
	Templates *[]string
	// Unannotated are the locations whose key looks like a path and that no
	// annotation covers (CON-287); none when Templates is not nil.
	Unannotated []string
}

// Annotate reads a schema, compact JSON as manifest.Artifact.InputSchema holds
// it. A schema that is no object has no annotations. Locations come in the
// order of the schema, which is kept by reading it token by token.
func Annotate(schema string) Annotations {
	r := reader{locations: map[string]bool{rootLocation: true}}
	a := Annotations{Destinations: []string{}, Opaque: []string{}}
	root := r.object(json.RawMessage(schema))
	if root == nil {
		return a
	}
	r.out = &a
	r.walk(root, "", false, 1)
	a.Templates = r.templates(root)
	if a.Templates != nil {
		a.Unannotated = nil
	}
	return a
}

type reader struct {
	out       *Annotations
	locations map[string]bool // every location the schema declares
}

// member is one key of a JSON object, in written order.
type member struct {
	key   string
	value json.RawMessage
}

// object reads a JSON object's members in order; nil when it is none.
func (reader) object(raw json.RawMessage) []member {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	out := []member{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		var v json.RawMessage
		if err != nil || !ok || dec.Decode(&v) != nil {
			return nil
		}
		out = append(out, member{key, v})
	}
	return out
}

func find(members []member, key string) json.RawMessage {
	for _, m := range members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // not a string: empty
	return s
}

// walk reads the schema of the value at a location. Below an opaque value
// nothing is guessed, but a destination still counts.
func (r *reader) walk(schema []member, at string, opaque bool, depth int) {
	if depth > maxDepth {
		return
	}
	for _, p := range r.object(find(schema, "properties")) {
		if strings.ContainsAny(p.key, ".[]{}<>") {
			continue // no location can name it
		}
		where := p.key
		if at != "" {
			where = at + "." + p.key
		}
		r.value(p.value, p.key, where, opaque, depth+1)
	}
	if items := find(schema, "items"); items != nil {
		r.value(items, "", at+"[]", opaque, depth+1)
	}
}

// value reads one property or array element.
func (r *reader) value(raw json.RawMessage, key, where string, opaque bool, depth int) {
	schema := r.object(raw)
	if depth > maxDepth {
		return
	}
	r.locations[where] = true
	kind, format := text(find(schema, "type")), text(find(schema, "format"))
	switch {
	case kind == "string" && format == destinationFormat:
		r.out.Destinations = append(r.out.Destinations, where)
	case (kind == "object" || kind == "array") && format == opaqueFormat:
		r.out.Opaque = append(r.out.Opaque, where)
		opaque = true
	case !opaque && PathKey(key):
		r.out.Unannotated = append(r.out.Unannotated, where)
	}
	r.walk(schema, where, opaque, depth)
}

// templates reads the root's murmur-destinations. One bad entry, or one whose
// location the schema does not declare, discards the whole list.
func (r *reader) templates(root []member) *[]string {
	raw := find(root, templateKey)
	if raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil
	}
	out := []string{}
	for _, e := range list {
		var s string
		if json.Unmarshal(e, &s) != nil {
			return nil
		}
		location, ok := r.location(s)
		if !ok || !r.locations[location] {
			return nil
		}
		out = append(out, s)
	}
	return &out
}

// location checks one template and returns the location in its braces.
func (reader) location(s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "{")
	location, suffix, closed := strings.Cut(rest, "}")
	if !ok || !closed || strings.ContainsAny(suffix, `\`+"\x00") {
		return "", false
	}
	if suffix == "" {
		return location, true
	}
	path, ok := strings.CutPrefix(suffix, "/")
	if !ok {
		return "", false
	}
	for _, part := range strings.Split(path, "/") {
		if part == "" || part == "." || part == ".." {
			return "", false
		}
	}
	return location, true
}

// The keys of CON-248 and CON-249.
var (
	destinationKeys = []string{"dest", "dest_path", "destination", "destination_path", "target_path", "output_path", "out_path", "new_path", "to"}
	pathKeys        = []string{"path", "file_path", "filepath", "filename", "file"}
)

// PathKey tells whether a property's name is one that read-only checks take for
// a path: case does not matter, nor whether words are joined by - or _ (CON-248
// to CON-250).
func PathKey(key string) bool {
	return DestinationKey(key) || slices.Contains(pathKeys, Key(key))
}

// DestinationKey tells whether a property of that name is always taken for a path
// that is written (CON-248).
func DestinationKey(key string) bool { return slices.Contains(destinationKeys, Key(key)) }

// Key is the form in which keys are compared (CON-250).
func Key(key string) string { return strings.ReplaceAll(strings.ToLower(key), "-", "_") }

// UnannotatedWarning is W-SEC-018: a tool whose schema leaves path-shaped
// properties undeclared in a capsule with read-only paths; false when it leaves
// none. mur-stage prints it once per tool (CON-287).
func UnannotatedWarning(tool string, a Annotations) (diag.Warning, bool) {
	if len(a.Unannotated) == 0 {
		return diag.Warning{}, false
	}
	list := strings.Join(a.Unannotated, ", ")
	w := diag.Warningf("W-SEC-018", "filesystem",
		"the input_schema of %s does not say whether these are paths it writes, so read-only paths are guessed for it: %s", tool, list)
	w.Phase = "layout"
	w.Subject = &diag.Subject{Kind: diag.Artifact, Name: tool}
	w.Names = map[string]any{"tool": tool, "properties": list}
	return w, true
}
