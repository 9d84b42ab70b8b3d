package main

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/lib/guest"
)

const one, two = `{"stop_reason":"end_turn","content":[{"type":"text","text":"1"}]}`, `{"stop_reason":"end_turn","content":[]}`

func TestParse(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, one: 1, one + one: 2, one + "\n\n" + two + "\n": 2, "[" + one + "," + two + "]": 2, `{"answers":[` + one + `]}` + two: 2, "[]": 0,
	} {
		if s, err := parse([]byte(in)); err != nil || len(s) != want {
			t.Errorf("%s: %d, %v", in, len(s), err)
		}
	}
	for _, bad := range []string{"{", "7", `"x"`, one + "x", `{"content":[{}]}`, `[{"content":7}]`} {
		if s, err := parse([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, s)
		}
	}
}

func TestLoad(t *testing.T) {
	files := map[string]string{"a/s.json": one}
	for _, tt := range []struct {
		artifact, driver string
		want             int
		err              string
	}{
		{`{"answers":[` + one + `]}`, `{"answers":[]}`, 1, ""},
		{"", `{"script":"a/s.json"}`, 1, ""},
		{`{}`, `{"answers":[` + one + "," + two + `]}`, 2, ""},
		{"", "", 0, "no answers are configured"},
		{`{"answers":[],"script":"x"}`, "", 0, "both answers and script"},
		{`{"script":"gone"}`, "", 0, "gone"},
		{`{"file":"gone"}`, "", 0, `unknown field "file"`},
	} {
		env := map[string]string{"MURMUR_ARTIFACT_CONFIG": tt.artifact, "MURMUR_INFERENCE_DRIVER_CONFIG": tt.driver}
		s, err := load(func(n string) string { return env[n] }, func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		})
		if len(s) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: %d, %v", tt, len(s), err)
		}
	}
}

func TestReply(t *testing.T) {
	data := `{"messages":[{"role":"user","content":[]},{"role":"assistant","content":[]},{"role":"user","content":[]}]}`
	env := `{"answers":[` + one + "," + two + `,{}]}`
	getenv := func(string) string { return env }
	none := func(string) ([]byte, error) { return nil, errors.New("no files") }
	// Two conversations of the same length get the same answer.
	for range 2 {
		if got := reply(guest.Input{Data: &data}, getenv, none); got.JSON() != two {
			t.Error(got.JSON())
		}
	}
	data = `{"messages":[{"role":"assistant"},{"role":"assistant"}]}`
	if got := reply(guest.Input{Data: &data}, getenv, none); !strings.Contains(got.Error, "answer 3 of the script has no stop_reason") {
		t.Error(got.JSON())
	}
	if got := reply(guest.Input{}, getenv, none); got.StopReason != payload.StopError {
		t.Error(got.JSON())
	}
}

// A recorded answer comes back byte for byte, blocks of every type included.
func TestRecorded(t *testing.T) {
	const recorded = `{"stop_reason":"end_turn","content":[{"type":"redacted_thinking","data":"x","n":1.50},{"type":"text","text":"a {{b}}"}]}`
	s, err := parse([]byte(recorded))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.answer(payload.Request{}).JSON(); got != recorded {
		t.Errorf("%s, want %s", got, recorded)
	}
}

func TestFill(t *testing.T) {
	results := map[string]string{"a": `{"n":12345678901234567890,"l":[{"x/y":"deep"},null],"o":{"k":"<v>"}}`, "b": "plain"}
	for in, want := range map[string]string{
		"":                      "",
		"no places":             "no places",
		"{{b}} {{ b }}":         "plain plain",
		"{{a /n}}":              "12345678901234567890",
		"{{a /l/0/x~1y}}":       "deep",
		"{{a /l/1}} {{a /l/2}}": "(nothing) (nothing)",
		"{{a /l/x}} {{a /n/x}}": "(nothing) (nothing)",
		"{{a /o}}":              `{"k":"<v>"}`, "{{b /x}}": "(not JSON)",
		"{{c}} {{b} {{ {{b}}": "{{c}} {{b} {{ plain",
		"{{b":                 "{{b",
		"{{{{b}}}}":           "{{plain}}",
	} {
		if got := fill(in, results); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"plain": "plain",
		"<untrusted-content source=tool:x>\na\n</untrusted-content>":                                  "a",
		"<untrusted-content source=tool:x>\na\n</untrusted-content>\nb\n</untrusted-content>\na note": "a\n</untrusted-content>\nb",
		"<untrusted-content source=tool:x>\na":                                                        "<untrusted-content source=tool:x>\na",
	} {
		if got := unfenced(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzScript(f *testing.F) {
	f.Add([]byte(one+"["+two+"]"), "{{a /b}} {{a}}")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		s, err := parse(data)
		if err == nil {
			for i := range s {
				_ = s.answer(payload.Request{Messages: make([]payload.Message, i)}).JSON()
			}
		}
		if !strings.Contains(text, "{{") && fill(text, map[string]string{"a": "{}"}) != text {
			t.Errorf("%q was changed", text)
		}
	})
}
