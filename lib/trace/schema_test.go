package trace_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/trace/schema"
	"github.com/mur-capsules/mur/lib/trace/tracegen"
)

var update = flag.Bool("update", false, "write the schema made from the event types")

type object = map[string]any

const int64Max = json.Number("9223372036854775807")

// lineSchema makes the schema of a line from the event types.
func lineSchema() object {
	defs := object{
		"hash": object{"type": "string", "pattern": "^[0-9a-f]{64}$"},
	}
	var cases []any
	for _, t := range trace.Types() {
		defs[string(t)] = structSchema(reflect.TypeOf(trace.New(t)))
		cases = append(cases, object{
			"if":   object{"properties": object{"event_type": object{"const": string(t)}}},
			"then": object{"$ref": "#/$defs/" + string(t)},
		})
	}
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "murmur.trace/1",
		"title":   "One line of trace.jsonl",
		"type":    "object",
		"properties": object{
			"event_type": object{"type": "string", "pattern": "^[a-z0-9_]+$"},
			"event_id":   object{"type": "string", "pattern": "^evt_[0-9a-f]{32}$"},
			"parent_id":  object{"type": []any{"string", "null"}, "pattern": "^evt_[0-9a-f]{32}$"},
			"session_id": object{"type": "string", "pattern": "^ses_[0-9a-f]{32}$"},
			"timestamp":  object{"type": "integer", "minimum": 0, "maximum": int64Max},
			"prev_hash":  object{"$ref": "#/$defs/hash"},
		},
		"required": []any{"event_type", "event_id", "session_id", "timestamp", "prev_hash"},
		"allOf":    cases,
		"$defs":    defs,
	}
}

func structSchema(t reflect.Type) object {
	props, required := object{}, []any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		props[name] = fieldSchema(f, opts != "omitempty")
		_, hasDefault := f.Tag.Lookup("default")
		if opts != "omitempty" && !hasDefault {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": props, "required": required}
}

func fieldSchema(f reflect.StructField, nullable bool) object {
	t := f.Type
	s := object{}
	switch {
	case f.Tag.Get("kind") == "object":
		return object{"type": "object"}
	case t == reflect.TypeFor[trace.Raw]():
		return s
	}
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		s["type"] = "string"
	case reflect.Bool:
		s["type"] = "boolean"
	case reflect.Int64:
		s["type"] = "integer"
		s["maximum"] = int64Max
		if f.Tag.Get("signed") == "" {
			s["minimum"] = 0
		}
	case reflect.Slice:
		s["type"] = "array"
		s["items"] = fieldSchema(reflect.StructField{Type: t.Elem()}, false)
	case reflect.Struct:
		s = structSchema(t)
	}
	enum := []any{}
	if e := f.Tag.Get("enum"); e != "" {
		for _, v := range strings.Split(e, ",") {
			enum = append(enum, v)
		}
	}
	if pointer && nullable {
		s["type"] = []any{s["type"], "null"}
		if len(enum) > 0 {
			enum = append(enum, nil)
		}
	}
	if len(enum) > 0 {
		s["enum"] = enum
	}
	return s
}

func TestSchemaIsMadeFromTheTypes(t *testing.T) {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(lineSchema()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema/murmur.trace.1.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want.Bytes(), schema.Line) {
		t.Fatal("schema/murmur.trace.1.json is not what the event types say: run go test ./trace -run TestSchemaIsMade -update")
	}
}

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, line []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// TRC-13 to TRC-70, TRC-194 to TRC-201: every event is written with every field
// of its table, in a form its schema accepts, and read back known.
func TestEveryEventKeepsItsSchema(t *testing.T) {
	s := compile(t, schema.Line)
	dir := t.TempDir()
	var script strings.Builder
	script.WriteString("session_start\n")
	for _, typ := range trace.Types() {
		if typ != "session_start" && typ != "session_end" {
			script.WriteString(string(typ) + "\n")
		}
	}
	script.WriteString("session_end\n")
	if _, err := tracegen.Script(dir, script.String()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, trace.FileName))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[trace.Type]bool{}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if err := validate(t, s, line); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
		var l trace.Line
		if !l.Parse(line) || l.Decode() == nil {
			t.Errorf("not known: %s", line)
		}
		checkOrder(t, &l)
		seen[l.Type()] = true
	}
	if len(seen) != len(trace.Types()) {
		t.Errorf("%d types of %d", len(seen), len(trace.Types()))
	}
}

// checkOrder proves TRC-3 and TRC-6: header, payload in table order, prev_hash.
func checkOrder(t *testing.T, l *trace.Line) {
	t.Helper()
	want := []string{"event_type", "event_id", "parent_id", "session_id", "timestamp"}
	rt := reflect.TypeOf(trace.New(l.Type()))
	for i := range rt.NumField() {
		name, _, _ := strings.Cut(rt.Field(i).Tag.Get("json"), ",")
		want = append(want, name)
	}
	want = append(want, "prev_hash")
	for name := range l.All() {
		for len(want) > 0 && want[0] != name {
			want = want[1:]
		}
		if len(want) == 0 {
			t.Errorf("%s: %s stands out of order", l.Type(), name)
			return
		}
	}
}

// Fixtures written by hand: good lines and seals are accepted, each bad one is
// refused.
func TestFixtures(t *testing.T) {
	line, seal := compile(t, schema.Line), compile(t, schema.Seal)
	for _, kind := range []string{"good", "bad"} {
		files, err := filepath.Glob("schema/testdata/" + kind + "/*")
		if err != nil || len(files) == 0 {
			t.Fatal("no fixtures", err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			s := line
			docs := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
			if strings.HasSuffix(f, ".seal") {
				s, docs = seal, [][]byte{data}
			}
			for i, d := range docs {
				if err := validate(t, s, d); (err == nil) != (kind == "good") {
					t.Errorf("%s:%d: %v", f, i+1, err)
				}
				if s == seal {
					continue
				}
				var l trace.Line
				if known := l.Parse(d) && l.Known(); kind == "good" && !known && !strings.Contains(f, "unknown") {
					t.Errorf("%s:%d is not known to the reader", f, i+1)
				}
			}
		}
	}
}
