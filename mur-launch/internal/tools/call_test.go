package tools

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// TRC-34, TOL-28, TOL-42, TOL-43, TOL-45
func TestToolLine(t *testing.T) {
	passed := wasmhost.ToolResult{
		Status: wasmhost.Passed, Data: text("answer"), Summary: text("short"),
		Metadata: [][2]string{{"state_effect", "read"}, {"state_effect", "mutate"}, {"resource_id", "x"}},
	}
	for _, c := range []struct {
		name                          string
		in                            *string
		result                        wasmhost.ToolResult
		err                           error
		input, output, status, effect string
		reason                        string
	}{
		{"passed", text(`{"a":1}`), passed, nil, `{"a":1}`, "answer", "ok", "read", ""},
		{"no input", nil, passed, nil, `null`, "answer", "ok", "read", ""},
		{"no JSON", text(`say "hi"`), passed, nil, `"say \"hi\""`, "answer", "ok", "read", ""},
		{"summary alone", text(`1`), wasmhost.ToolResult{Status: wasmhost.Failed, Summary: text("why")}, nil, `1`, "why", "error", "", ""},
		{"no data", text(`1`), wasmhost.ToolResult{Status: wasmhost.Error}, nil, `1`, "the tool returned no data", "error", "", ""},
		{"not run", text(`1`), wasmhost.ToolResult{}, errors.New("no such tool"), `1`, "no such tool", "error", "", "no such tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := toolLine("t", wasmhost.ToolInput{Data: c.in}, c.result, c.err)
			if string(l.Input) != c.input || *l.Output != c.output || l.Status != c.status || l.StateEffect != c.effect || l.Error != c.reason {
				t.Errorf("got %+v, input %s, output %s", l, l.Input, *l.Output)
			}
			if l.OutputBytes != int64(len(c.output)) || (c.in != nil && l.InputBytes != int64(len(*c.in))) {
				t.Errorf("%d bytes in, %d out", l.InputBytes, l.OutputBytes)
			}
		})
	}
	if l := toolLine(strings.Repeat("n", 500), wasmhost.ToolInput{}, passed, nil); len(l.ToolName) != 200 {
		t.Errorf("a guest can write a name of %d bytes", len(l.ToolName))
	}
}

// DIA-79, DIA-80, TOL-29, WIT-32
func TestExplain(t *testing.T) {
	limits := wasmhost.Limits{MemoryBytes: 64 << 20, Deadline: 2 * time.Second}
	for _, c := range []struct {
		err  error
		code diag.Code
		says string
	}{
		{&wasmhost.Fault{Cause: wasmhost.DeadlinePassed}, "E-RUN-001", "passed its deadline of 2s (capabilities.limits.deadline_seconds)"},
		{&wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: "limits.memory_bytes"}, "E-RUN-001", "reached capabilities.limits.memory_bytes (67108864 bytes)"},
		{&wasmhost.Fault{Cause: wasmhost.Trapped, Err: errors.New("unreachable")}, "E-RUN-001", "the guest trapped: unreachable"},
		{&wasmhost.Fault{Cause: wasmhost.Exited, Status: 3, Stderr: "no"}, "E-RUN-001", "the guest exited with status 3\nno"},
		{&wasmhost.Fault{Cause: wasmhost.BadOutput, Err: errors.New("it is empty")}, "E-RUN-001", "the guest's output is not a result: it is empty"},
		{&wasmhost.LoadError{Reason: wasmhost.BadImport, Name: "wasi:x/y@0.2.0"}, "E-RUN-002", "imports wasi:x/y@0.2.0"},
		{&wasmhost.LoadError{Reason: wasmhost.BadExport, Name: "murmur:tool/run@0.1.0"}, "E-RUN-001", "does not export murmur:tool/run@0.1.0"},
		{&wasmhost.LoadError{Reason: wasmhost.NoEngine}, "E-RUN-105", "no component engine"},
		{diag.Errorf("E-STG-102", "changed"), "E-STG-102", "changed"},
		{errors.New("odd"), "E-RUN-001", "local/x@1: odd"},
	} {
		got := Explain("local/x@1", wasmhost.Tool, c.err, limits)
		if got.Code != c.code || !strings.Contains(got.Message, c.says) {
			t.Errorf("%v: got %s %q, want %s with %q", c.err, got.Code, got.Message, c.code, c.says)
		}
		if s := (refusal{got}).Error(); !strings.HasPrefix(s, string(c.code)+": ") {
			t.Errorf("a guest reads %q", s)
		}
	}
}
