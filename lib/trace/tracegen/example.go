package tracegen

import (
	"reflect"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"
)

// Example returns an event of the given type with every field that is always
// written set to a plausible value, and nil for a type that does not exist.
func Example(typ trace.Type) trace.Payload {
	p := trace.New(typ)
	if p == nil {
		return nil
	}
	v := reflect.New(reflect.TypeOf(p)).Elem()
	fill(v)
	switch e := v.Addr().Interface().(type) {
	case *trace.SessionStart:
		e.CapsuleName, e.CapsuleVersion, e.Kind = "demo", "1.0.0", "agent"
		e.Model, e.MaxTurns, e.ToolRefresh = new("fake-1"), 10, new("compaction")
		e.Capabilities, e.ToolsDeclared = []string{"filesystem", "shell"}, []string{"read_file", "write_file"}
		e.EffectiveGrants, e.CredentialSource = trace.Raw(Grants), "config"
		e.RuntimeVersion = "0.1.0"
	case *trace.Inference:
		e.InputTokens, e.OutputTokens = new(int64(100)), new(int64(10))
	case *trace.ToolCall:
		e.ToolName, e.Input, e.InputBytes, e.DurationMS = "read_file", trace.Raw(`{"path":"a.txt"}`), 16, 5
	case *trace.TaskStart:
		e.TaskID, e.ContextID = "tsk_1", "ctx_1"
	case *trace.TaskEnd:
		e.TaskID = "tsk_1"
	}
	return v.Interface().(trace.Payload)
}

// fill sets what a zero value would make invalid: the first of an
// enumeration's values, a JSON value.
func fill(v reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		f, tag := v.Field(i), t.Field(i).Tag
		if strings.HasSuffix(tag.Get("json"), ",omitempty") {
			continue
		}
		switch {
		case f.Type() == reflect.TypeFor[trace.Raw]():
			f.SetBytes([]byte(`["true"]`))
			if tag.Get("kind") == "object" {
				f.SetBytes([]byte(`{}`))
			}
		case f.Kind() == reflect.String:
			first, _, _ := strings.Cut(tag.Get("enum"), ",")
			f.SetString(first)
		}
	}
}
