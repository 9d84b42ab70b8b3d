package serve

import (
	"testing"

	"github.com/mur-capsules/mur/lib/shellproto"
)

// SHL-122 to SHL-124, SHL-128, SHL-153, SHL-P27
func TestNativeResult(t *testing.T) {
	show := func(s *string) string {
		if s == nil {
			return "<nil>"
		}
		return *s
	}
	for _, tc := range []struct {
		name           string
		code           int
		stdout, stderr string
		status, data   string
	}{
		{"nothing", 0, "", "", "passed", "<nil>"},
		{"nothing, failed", 3, " \n", "why", "error", "why"},
		{"text", 0, "hello\n", "", "passed", "hello\n"},
		{"text, failed", 1, "hello", "", "error", "hello"},
		{"JSON", 1, ` {"status":"passed","data":"x"} `, "", "passed", "x"},
		{"failed", 0, `{"status":"failed"}`, "", "failed", "<nil>"},
		{"odd status", 0, `{"status":"odd"}`, "", "error", "<nil>"},
		{"no status", 0, `{"data":"x"}`, "", "error", "x"},
		{"object", 0, `{"status":"passed","data":{"a": [1]}}`, "", "passed", `{"a":[1]}`},
		{"null data", 0, `{"status":"passed","data":null}`, "", "passed", "<nil>"},
		{"no object", 0, `[1]`, "", "error", "<nil>"},
		{"null", 0, `null`, "", "error", "<nil>"},
	} {
		r := nativeResult("t", tc.code, tc.stdout, tc.stderr)
		if r.Status != tc.status || show(r.Data) != tc.data {
			t.Errorf("%s: %s %q", tc.name, r.Status, show(r.Data))
		}
	}
	var r shellproto.ToolResult
	for _, m := range []string{`{"a":"b"}`, `[["a","b"]]`} {
		r = nativeResult("t", 0, `{"status":"passed","truncated":true,"data_path":"p","summary":"s","metadata":`+m+`}`, "")
		if r.Metadata["a"] != "b" || !*r.Truncated || *r.DataPath != "p" || *r.Summary != "s" {
			t.Errorf("%s: %+v", m, r)
		}
	}
	if r = nativeResult("t", 0, `{"status":"passed","metadata":7}`, ""); len(r.Metadata) != 0 {
		t.Errorf("%+v", r)
	}
}
