package schema_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/session/schema"
)

var update = flag.Bool("update", false, "write the schema the Go types call for")

const file = "murmur.session.1.json"

type object = map[string]any

var (
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	class           = reflect.TypeFor[policy.Class]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// generate builds the schema from the Go types, so that the two can not drift
// apart.
func generate() []byte {
	g := generator{defs: object{}}
	root := g.object(reflect.TypeFor[session.Document]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "urn:mur:murmur.session:1"
	root["title"] = "Staged session"
	root["properties"].(object)["schema"] = object{"const": session.Schema}
	root["properties"].(object)["session_id"] = object{"type": "string", "pattern": "^ses_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$"}
	root["$defs"] = g.defs
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(root); err != nil {
		panic(err)
	}
	return b.Bytes()
}

type generator struct{ defs object }

func (g generator) of(t reflect.Type, f reflect.StructField) object {
	switch {
	case t == rawMessage:
		return object{}
	case t == class:
		return object{"enum": policy.ClassNames()}
	case t.Kind() == reflect.Pointer:
		return object{"anyOf": []any{g.of(t.Elem(), f), object{"type": "null"}}}
	case reflect.PointerTo(t).Implements(textUnmarshaler):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		name := strings.ReplaceAll(t.String(), ".", "_")
		if _, ok := g.defs[name]; !ok {
			g.defs[name] = nil // a type never holds itself
			g.defs[name] = g.object(t)
		}
		return object{"$ref": "#/$defs/" + name}
	case reflect.Slice:
		return object{"type": "array", "items": g.of(t.Elem(), f)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.of(t.Elem(), f)}
	case reflect.String:
		switch w := f.Tag.Get("words"); {
		case w != "":
			return object{"enum": strings.Split(w, ",")}
		case f.Name == "SHA256":
			return object{"type": "string", "pattern": "^[0-9a-f]{64}$"}
		case f.Name == "Mode": // of a StagedFile
			return object{"type": "string", "pattern": "^[0-7]{4}$"}
		}
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	}
	panic("no schema for " + t.String())
}

func (g generator) object(t reflect.Type) object {
	props, required := object{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" {
			continue
		}
		props[tag] = g.of(f.Type, f)
		if opts != "omitempty" {
			required = append(required, tag)
		}
	}
	return object{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}

func TestSchemaFollowsTheTypes(t *testing.T) {
	want := generate()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(schema.Session, want) {
		t.Error("the schema is not what the types call for: run go test ./session/schema -update")
	}
}

// A good fixture passes schema and reader. A bad one is refused by the schema,
// unless its name begins with "rule-": those break a rule between members that
// only the reader knows. Every bad one is E-STG-101 for the reader. SES-78
func TestFixtures(t *testing.T) {
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Session))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("urn:mur:murmur.session:1", doc); err != nil {
		t.Fatal(err)
	}
	sch, err := c.Compile("urn:mur:murmur.session:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"good", "bad"} {
		names, err := filepath.Glob(filepath.Join("testdata", kind, "*.json"))
		if err != nil || len(names) == 0 {
			t.Fatalf("no %s fixtures: %v", kind, err)
		}
		for _, name := range names {
			t.Run(kind+"/"+filepath.Base(name), func(t *testing.T) {
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				schemaErr := sch.Validate(inst)
				_, readErr := session.Decode(data, name, nil)
				rule := strings.HasPrefix(filepath.Base(name), "rule-")
				switch {
				case kind == "good" && (schemaErr != nil || readErr != nil):
					t.Errorf("schema: %v\nreader: %v", schemaErr, readErr)
				case kind == "bad" && (schemaErr == nil) != rule:
					t.Errorf("schema: %v", schemaErr)
				case kind == "bad" && diag.CodeOf(readErr) != "E-STG-101":
					t.Errorf("reader: %v", readErr)
				}
			})
		}
	}
}
