package core

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

func ptr(s string) *string { return &s }

// WIT-46, WIT-47
func TestParseResult(t *testing.T) {
	tests := []struct {
		out  string
		want wasmhost.ToolResult
		says string
	}{
		{`{"status":"passed"}`, wasmhost.ToolResult{Status: wasmhost.Passed}, ""},
		{" \r\n\t" + `{"status":"failed","summary":"s","data":"","data_path":"p","truncated":true,"extra":[1]}` + "\n\n",
			wasmhost.ToolResult{Status: wasmhost.Failed, Summary: ptr("s"), Data: ptr(""), DataPath: ptr("p"), Truncated: true}, ""},
		{`{"status":"error","summary":null,"data":null,"truncated":null,"metadata":null}`, wasmhost.ToolResult{Status: wasmhost.Error}, ""},
		{`{"status":"passed","metadata":[["b","1"],["a","2"],["b","3"]]}`,
			wasmhost.ToolResult{Status: wasmhost.Passed, Metadata: [][2]string{{"b", "1"}, {"a", "2"}, {"b", "3"}}}, ""},
		{`{"status":"passed","metadata":{"b":"1","a":"2"}}`,
			wasmhost.ToolResult{Status: wasmhost.Passed, Metadata: [][2]string{{"b", "1"}, {"a", "2"}}}, ""},
		{``, wasmhost.ToolResult{}, "empty"},
		{"  \n", wasmhost.ToolResult{}, "empty"},
		{`hello`, wasmhost.ToolResult{}, "not a JSON object"},
		{`null`, wasmhost.ToolResult{}, "null"},
		{`[]`, wasmhost.ToolResult{}, "not a JSON object"},
		{`{"status":"passed"`, wasmhost.ToolResult{}, "ends in the middle"},
		{`{"status":"passed"}{"status":"passed"}`, wasmhost.ToolResult{}, "something follows"},
		{`{"status":"passed"} x`, wasmhost.ToolResult{}, "something follows"},
		{"{\"status\":\"passed\",\"data\":\"\xff\"}", wasmhost.ToolResult{}, "UTF-8"},
		{`{"Status":"passed"}`, wasmhost.ToolResult{}, "missing"},
		{`{"status":"ok"}`, wasmhost.ToolResult{}, `"ok"`},
		{`{"status":null}`, wasmhost.ToolResult{}, "missing"},
		{`{"status":1}`, wasmhost.ToolResult{}, `"status"`},
		{`{"status":"passed","data":{}}`, wasmhost.ToolResult{}, `"data": found object`},
		{`{"status":"passed","metadata":"x"}`, wasmhost.ToolResult{}, `"metadata"`},
		{`{"status":"passed","metadata":[["a"]]}`, wasmhost.ToolResult{}, "1 strings"},
		{`{"status":"passed","metadata":[["a","b","c"]]}`, wasmhost.ToolResult{}, "3 strings"},
		{`{"status":"passed","metadata":{"a":1}}`, wasmhost.ToolResult{}, "number"},
		{`{"status":"passed","metadata":{"a":null}}`, wasmhost.ToolResult{}, "null"},
	}
	for _, tt := range tests {
		got, err := ParseResult([]byte(tt.out))
		if tt.says != "" {
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q: got %v, want %q", tt.out, err, tt.says)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %+v, %v", tt.out, got, err)
		}
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add([]byte(`{"status":"passed","data":"x","metadata":[["a","b"]]}`))
	f.Add([]byte(`{"status":"error","metadata":{"a":"b"},"truncated":true} `))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseResult(b)
		if err != nil {
			return
		}
		// What was accepted says the same when written and read again.
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseResult(again); err != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%q became %+v, then %+v, %v", b, got, back, err)
		}
	})
}
