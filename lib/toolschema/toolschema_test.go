package toolschema

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// MAN-272, MAN-270, DIA-129
func TestRequired(t *testing.T) {
	for _, tt := range []struct {
		schema string
		want   []string
		fault  string
	}{
		{`{}`, nil, ""},
		{`{"required":[]}`, nil, ""},
		{`{"required":["b","a","b"]}`, []string{"b", "a"}, ""},
		{`[]`, nil, "its root is no object"},
		{`null`, nil, "its root is no object"},
		{`"text"`, nil, "its root is no object"},
		{``, nil, "its root is no object"},
		{`{"required":"a"}`, nil, "required is no list"},
		{`{"required":null}`, nil, "required is no list"},
		{`{"required":["a",1]}`, nil, "required holds what is no string"},
	} {
		got, err := Required(tt.schema)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.fault == "") || err != nil && err.Error() != tt.fault {
			t.Errorf("%s: %q %v", tt.schema, got, err)
		}
		if err != nil {
			if w := UncheckedWarning("ana/x", err); w.Code != "W-RUN-004" || !strings.Contains(w.Message, "ana/x") || !strings.HasSuffix(w.Message, tt.fault) {
				t.Errorf("%+v", w)
			}
		}
	}
}

// MAN-272
func TestMissing(t *testing.T) {
	for input, want := range map[string][]string{
		`{"a":1,"b":null}`: nil, `{"a":1}`: {"b"}, `{"A":1,"b":2}`: {"a"}, `{}`: {"a", "b"}, `[]`: {"a", "b"}, `x`: {"a", "b"}, ``: {"a", "b"},
	} {
		if got := Missing([]string{"a", "b"}, input); !slices.Equal(got, want) {
			t.Errorf("%s: %q", input, got)
		}
	}
}

// MAN-273, MAN-275, CON-250, CON-251, CON-253, CON-287, DIA-154
func TestAnnotate(t *testing.T) {
	for _, tt := range []struct {
		name, schema              string
		dest, opaque, unannotated []string
	}{
		{"no object", `"x"`, nil, nil, nil},
		{"cut short", `{"properties":{"path":{`, nil, nil, nil},
		{"nothing", `{"properties":{"query":{"type":"string"}}}`, nil, nil, nil},
		{"annotated", `{"properties":{"z":{"type":"string","format":"murmur-destination"},"path":{"type":"string","format":"murmur-destination"}}}`, []string{"z", "path"}, nil, nil},
		{"not annotated", `{"properties":{"Dest-Path":{"type":"string"},"deep":{"properties":{"FILE":{}}},"to":{"type":"string"}}}`, nil, nil, []string{"Dest-Path", "deep.FILE", "to"}},
		{"wrong type", `{"properties":{"path":{"type":"object","format":"murmur-destination"},"file":{"type":"string","format":"murmur-opaque"}}}`, nil, nil, []string{"path", "file"}},
		{"opaque hides guesses, not destinations", `{"properties":{"data":{"type":"object","format":"murmur-opaque","properties":{"path":{"type":"string"},"out":{"type":"string","format":"murmur-destination"}}}}}`, []string{"data.out"}, []string{"data"}, nil},
		{"arrays", `{"properties":{"files":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string","format":"murmur-destination"},"file":{}}}},"to":{"type":"array","items":{"type":"string","format":"murmur-destination"}}}}`, []string{"files[].path", "to[]"}, nil, []string{"files[].file", "to"}},
		{"references are not followed", `{"properties":{"x":{"$ref":"#/$defs/p"}},"$defs":{"p":{"type":"string","format":"murmur-destination"}}}`, nil, nil, nil},
		{"keys no location can name", `{"properties":{"a.path":{"properties":{"path":{}}}}}`, nil, nil, nil},
	} {
		a := Annotate(tt.schema)
		if !slices.Equal(a.Destinations, tt.dest) || !slices.Equal(a.Opaque, tt.opaque) || !slices.Equal(a.Unannotated, tt.unannotated) || a.Templates != nil || a.Destinations == nil || a.Opaque == nil {
			t.Errorf("%s: %+v", tt.name, a)
		}
		w, ok := UnannotatedWarning("ana/x", a)
		if ok != (len(tt.unannotated) > 0) || ok && (w.Code != "W-SEC-018" || !strings.HasSuffix(w.Message, strings.Join(tt.unannotated, ", "))) {
			t.Errorf("%s: %v %+v", tt.name, ok, w)
		}
	}
	nest := func(n int) string {
		return strings.Repeat(`{"properties":{"a":`, n) + `{"properties":{"path":{"type":"string","format":"murmur-destination"}}}` + strings.Repeat(`}}`, n)
	}
	if a := Annotate(nest(30)); len(a.Destinations) != 1 {
		t.Errorf("depth 32: %+v", a)
	}
	if a := Annotate(nest(31)); len(a.Destinations) != 0 {
		t.Errorf("depth 33: %+v", a)
	}
}

// MAN-274
func TestTemplates(t *testing.T) {
	schema := func(list string) string {
		return `{"properties":{"dir":{"type":"string"},"files":{"type":"array","items":{"properties":{"name":{"type":"string"}}}},"path":{"type":"string"}},"murmur-destinations":` + list + `}`
	}
	for _, tt := range []struct {
		list string
		want []string
	}{
		{`[]`, []string{}},
		{`["{dir}"]`, []string{"{dir}"}},
		{`["{dir}/out/a.txt","{files[].name}","{<input>}"]`, []string{"{dir}/out/a.txt", "{files[].name}", "{<input>}"}},
		{`["{files}","{files[]}/x"]`, []string{"{files}", "{files[]}/x"}},
	} {
		a := Annotate(schema(tt.list))
		if a.Templates == nil || !reflect.DeepEqual(*a.Templates, tt.want) || a.Unannotated != nil {
			t.Errorf("%s: %+v", tt.list, a)
		}
	}
	for _, list := range []string{
		`null`, `"{dir}"`, `{}`, `[1]`, `[null]`, `["dir"]`, `["{dir"]`, `["{nowhere}"]`, `["{}"]`, `["{dir}","{nowhere}"]`, `["{dir}x"]`, `["{dir}/"]`,
		`["{dir}//x"]`, `["{dir}/./x"]`, `["{dir}/../x"]`, `["{dir}/a\\b"]`, `["{files.name}"]`, `["{dir[]}"]`, `["x{dir}"]`,
	} {
		if a := Annotate(schema(list)); a.Templates != nil || !slices.Equal(a.Unannotated, []string{"path"}) {
			t.Errorf("%s: %+v", list, a)
		}
	}
}

// FuzzAnnotate: no schema makes the readers panic.
func FuzzAnnotate(f *testing.F) {
	f.Add(`{"properties":{"path":{"type":"string","format":"murmur-destination"}},"murmur-destinations":["{path}"],"required":["path"]}`)
	f.Add(`{"items":{"items":{"items":[]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		a := Annotate(schema)
		if a.Templates != nil && a.Unannotated != nil {
			t.Fatal("a usable list does not silence")
		}
		if names, err := Required(schema); err == nil && len(Missing(names, schema)) > len(names) {
			t.Fatal("more is missing than is required")
		}
	})
}
