package trace

import (
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

// TRC-86, TRC-87, TRC-88, TRC-90, TRC-93: what a reader tolerates, whatever the
// size of the reads.
func TestReaderTolerates(t *testing.T) {
	long := strings.Repeat("x", 3*readSize)
	text := `{"event_type":"hook_dispatch_error","hook_name":"h","event":"e","arm":"a","timestamp":9}` + "\n" +
		"\x00\x00\x00\n" + `{"event_type":"from_the_future","x":1}` + "\n\n" +
		`{"event_type":"hook_dispatch_error","hook_name":"h","event":"e","arm":"` + long + `","timestamp":1,"new_field":{}}` + "\n" +
		`{"event_type":"hook_dispatch_error","hook_name":"h"}` + "\n" + // a required field is missing
		`{"event_type":"task_end","task_id":"t","exit_status":"ok","duration_ms":1,"turns":1,"input_tokens":1,"output_tokens":1,"tool_calls":0,"shell_calls":0}` + "\n" + // reopen_count has a default
		`{"event_type":"shell","turn":-1,"task_id":null,"binary":"b","command":[],"exit_code":-1,"stdout_bytes":0,"stderr_bytes":0,"duration_ms":1}` + "\n" +
		`{"event_type":"session_e`
	want := []struct {
		state State
		known bool
	}{{Whole, true}, {Malformed, false}, {Whole, false}, {Malformed, false}, {Whole, true}, {Whole, false}, {Whole, true}, {Whole, false}, {Torn, false}}
	for name, r := range map[string]*Reader{
		"whole":  NewReader(strings.NewReader(text)),
		"halved": NewReader(iotest.HalfReader(strings.NewReader(text))),
		"bytes":  NewReader(iotest.OneByteReader(strings.NewReader(text))),
		"eof":    NewReader(iotest.DataErrReader(strings.NewReader(text))),
	} {
		var joined strings.Builder
		for i := 0; r.Next(); i++ {
			if r.Offset != int64(joined.Len()) || r.Number != int64(i+1) {
				t.Fatalf("%s: line %d at %d, want %d", name, r.Number, r.Offset, joined.Len())
			}
			joined.Write(r.Line.Raw())
			if r.State != Torn {
				joined.WriteByte('\n')
			}
			if r.State != want[i].state || r.Line.Known() != want[i].known {
				t.Errorf("%s: line %d: state %d, known %v", name, i+1, r.State, r.Line.Known())
			}
		}
		if r.Err() != nil || joined.String() != text {
			t.Errorf("%s: %v; the lines are not the text", name, r.Err())
		}
	}
	r := NewReader(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("{}\n{}\n"))))
	for r.Next() {
	}
	if r.Err() == nil {
		t.Error("a failed read is silent")
	}
	r.Reset(strings.NewReader("{}\n"))
	if !r.Next() || r.Next() || r.Err() != nil {
		t.Error("Reset does not begin anew")
	}
}

// TRC-4, TRC-5: an absent count and a count of none differ; every event is read
// back as it was written, beyond 2^53 too.
func TestDecodeIsTheInverseOfWriting(t *testing.T) {
	s := newSession(t, Content)
	s.start(nil)
	const big = 1<<53 + 1
	s.write(Inference{Decision: "text", InputTokens: new(int64(0)), TaskID: new("tsk_1"), StopReason: new("")})
	s.write(Shell{Binary: "/bin/x", Command: Raw(`["a","é\u00e9\n"]`), ExitCode: -7, StdoutBytes: big})
	s.write(ToolCall{ToolName: "t", Status: "ok", Input: Raw("{\"n\": 123456789012345678901234567890, \"f\":1.10}"), Output: new("<a & b>\x1b\xff")})
	f, err := s.records.Open(FileName)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := NewReader(f)
	var got []Payload
	for r.Next() {
		got = append(got, r.Line.Decode())
	}
	inf := got[1].(Inference)
	if inf.InputTokens == nil || *inf.InputTokens != 0 || inf.OutputTokens != nil || *inf.TaskID != "tsk_1" || inf.StopReason == nil {
		t.Errorf("%+v", inf)
	}
	sh := got[2].(Shell)
	if sh.ExitCode != -7 || sh.StdoutBytes != big || string(sh.Command) != `["a","éé\n"]` && string(sh.Command) != `["a","é\u00e9\n"]` {
		t.Errorf("%+v %s", sh, sh.Command)
	}
	call := got[3].(ToolCall)
	if string(call.Input) != `{"n":123456789012345678901234567890,"f":1.10}` || *call.Output != "<a & b>\x1b\uFFFD" {
		t.Errorf("%s %q", call.Input, *call.Output)
	}
	if h := r.Line.Header(); h.SessionID != s.log.opt.SessionID || *h.ParentID == "" {
		t.Errorf("%+v", h)
	}
}

// Every type has a shape, and none is known without its required fields.
func TestShapes(t *testing.T) {
	for _, typ := range Types() {
		var l Line
		if !l.Parse(fmt.Appendf(nil, `{"event_type":%q}`, typ)) {
			t.Fatal(typ)
		}
		if l.Known() {
			t.Errorf("%s needs no field", typ)
		}
	}
	if len(Types()) != len(prototypes) {
		t.Fatalf("%d types of %d prototypes", len(Types()), len(prototypes))
	}
}
