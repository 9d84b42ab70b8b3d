package trace

import (
	"encoding/json"
	"strings"
	"testing"
)

var scanSeeds = []string{
	`{}`, ` { } `, `{"a":1}`, `{"a":1,"a":2}`, `{"event_type":"x","n":-12,"f":1.5e-3,"b":true,"z":null}`,
	`{"a":{"b":[1,2,{"c":"d"}]},"e":[]}`, `{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`, `{"\u0061":1}`,
	`{"a":12345678901234567890}`, `{"a":"long string that is more than eight bytes, with ünïcödé"}`,
	``, `null`, `[]`, `1`, `"a"`, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`,
	`{"a":+1}`, `{"a":1e}`, `{"a":tru}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", "\x00\x00",
	`{"a":1}{`, `{"a":1} x`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"a":{"b" 1}}`, `{"a":{1:2}}`, `{"a":[}`, `{"a":{]}`, `{a:1}`,
	`{"a":"\ud800"}`, `{"a":"\ud800\u0041"}`, `{"a":"\udc00\ud800\udc00x"}`, "{\"a\":\"\\n\xff\xc3\"}", `{"a":"\ud83d\n"}`, `{"a":"\u0000\""}`,
	`{"a":-}`, `{"a":"unterminated`, `{"a":"12345678\"}`,
}

// TRC-88: what is a JSON object and what is not, as encoding/json has it.
func TestParseAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range scanSeeds {
		checkParse(t, s)
	}
	deep := strings.Repeat(`{"a":[`, 4000) + "1" + strings.Repeat(`]}`, 4000)
	checkParse(t, deep)
	var l Line
	if l.Parse([]byte(`{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}")) {
		t.Error("nesting has no bound")
	}
}

func checkParse(t *testing.T, s string) {
	t.Helper()
	var l Line
	got := l.Parse([]byte(s))
	want := json.Valid([]byte(s)) && strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{")
	if got != want {
		t.Errorf("Parse(%.80q) = %v, want %v", s, got, want)
		return
	}
	if !got {
		return
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err)
	}
	for k, v := range m {
		if have := l.Get(k); string(have) != string(v) && strings.ToValidUTF8(k, "") == k && !strings.Contains(k, "\uFFFD") {
			t.Errorf("%.80q: %q is %q, want %q", s, k, have, v)
		}
	}
	for k, v := range m {
		var want string
		if json.Unmarshal(v, &want) == nil && strings.ToValidUTF8(k, "") == k && !strings.Contains(k, "\uFFFD") && string(v) != "null" {
			if got := l.Get(k).Str(); got != want && strings.Contains(string(v), `\`) {
				t.Errorf("%.80q: %q is %q, want %q", s, k, got, want)
			}
		}
	}
	if len(m) == 0 && len(l.members) > 0 {
		t.Errorf("%.80q has members", s)
	}
}

func FuzzParseLine(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkParse(t, s) })
}

// TRC-4: integers are exact over the whole of int64.
func TestValueInt(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "-1": -1, "9007199254740993": 9007199254740993, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63} {
		if n, ok := Value(s).Int(); !ok || n != want {
			t.Errorf("%s: %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "null", `"1"`, "1.0", "1e3", "9223372036854775808", "true"} {
		if n, ok := Value(s).Int(); ok {
			t.Errorf("%q is %d", s, n)
		}
	}
}
