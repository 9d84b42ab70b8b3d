package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/workfs"
)

// TRC-28, TRC-29, TRC-71 to TRC-75: what each mode stores.
func TestCaptureModes(t *testing.T) {
	system, tools, m1, m2, response := []byte("sys"), []byte(`[{"name":"t"}]`), []byte(`{"role":"user"}`), []byte(`{"role":"tool"}`), []byte("\x00raw\n")
	for _, mode := range []Capture{None, Meta, Content} {
		s := newSession(t, mode)
		s.start([]byte("the prompt"))
		s.write(TaskStart{TaskID: "tsk_1"})
		turn := Inference{Decision: "tool_call", MessageIDs: []string{"msg_1", "msg_2"}}
		if _, err := s.own.WriteTurn(turn, &Bodies{System: system, Tools: tools, Messages: [][]byte{m1, m2}, Response: response}); err != nil {
			t.Fatal(err)
		}
		s.write(ToolCall{ToolName: "t", Status: "ok", Input: Raw(`{"a":1}`), Output: new("out")})
		s.write(Inference{Decision: "text", Origin: "hook:h", SystemSHA: "set by mistake", MessageSHAs: []string{"x"}})
		if _, err := s.own.WriteTurn(Inference{Decision: "text"}, nil); err != nil { // transport process
			t.Fatal(err)
		}
		s.log.Appender().Append(PlanStep{Kind: "tool", Status: "success", Input: Raw(`{}`)})
		lines := s.lines()
		start, inf, call, hook, proc, step := lines[0], lines[2], lines[3], lines[4], lines[5], lines[6]
		if start["capture"] != string(mode) || start["system_prompt_sha256"] != hexSum([]byte("the prompt")) {
			t.Errorf("%s: %v", mode, start)
		}
		if mode == None {
			for _, k := range []string{"system_sha", "tools_sha", "response_sha", "message_shas"} {
				if inf[k] != nil {
					t.Errorf("none: %s is there", k)
				}
			}
		} else {
			shas, _ := inf["message_shas"].([]any)
			if inf["system_sha"] != hexSum(system) || inf["tools_sha"] != hexSum(tools) || inf["response_sha"] != hexSum(response) ||
				len(shas) != 2 || shas[0] != hexSum(m1) || shas[1] != hexSum(m2) {
				t.Errorf("%s: %v", mode, inf)
			}
		}
		if (call["input"] != nil) != (mode != None) || (step["input"] != nil) != (mode != None) || (call["output"] != nil) != (mode == Content) {
			t.Errorf("%s: %v %v", mode, call, step)
		}
		if hook["system_sha"] != nil || hook["message_shas"] != nil || proc["system_sha"] != nil {
			t.Errorf("%s: hashes of requests the runtime did not build", mode)
		}
		checkBlobs(t, s, mode, "the prompt", string(system), string(tools), string(m1), string(m2), string(response))
	}
}

func checkBlobs(t *testing.T, s *session, mode Capture, bodies ...string) {
	t.Helper()
	dir := filepath.Join(s.dir, BlobDir)
	if mode != Content {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: %v", mode, err)
		}
		return
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", fi, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(bodies) {
		t.Errorf("%v %v", entries, err)
	}
	for _, b := range bodies {
		path := filepath.Join(dir, hexSum([]byte(b)))
		got, err := os.ReadFile(path)
		if err != nil || string(got) != b {
			t.Errorf("%q: %q %v", b, got, err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", fi, err)
		}
	}
}

// TRC-73: an existing blob is never rewritten.
func TestBlobIsNotRewritten(t *testing.T) {
	s := newSession(t, Content)
	sum, err := s.log.StoreBlob([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.dir, BlobDir, sum)
	if err := os.WriteFile(path, []byte("tampered"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.log.StoreBlob([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "tampered" {
		t.Fatalf("%q", got)
	}
}

// TRC-28: a turn names one hash for each message it embedded.
func TestTurnWithoutAllMessagesIsRefused(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	if _, err := s.own.WriteTurn(Inference{Decision: "text", MessageIDs: []string{"msg_1"}}, &Bodies{}); err == nil {
		t.Fatal("accepted")
	}
}

// TRC-17: the containment fields come from the scope report.
func TestStartFollowsTheScopeReport(t *testing.T) {
	s := newSession(t, Meta)
	err := s.own.Start(SessionStart{ContainmentAchieved: "sealed", WorkdirExec: false, UsernsGrant: new("withheld"),
		EffectiveGrants: Raw(`{"declared_containment":"advisory","achieved_containment":"advisory","workdir_exec":true,"userns_grant":null}`)}, []byte{})
	if err != nil {
		t.Fatal(err)
	}
	m := s.lines()[0]
	if m["system_prompt_sha256"] != nil {
		t.Errorf("no prompt has the hash %v", m["system_prompt_sha256"])
	}
	if m["containment_declared"] != "advisory" || m["containment_achieved"] != "advisory" || m["workdir_exec"] != true || m["userns_grant"] != nil {
		t.Fatalf("%v", m)
	}
	if err := newSession(t, Meta).own.Start(SessionStart{EffectiveGrants: Raw(`{}`)}, nil); err == nil {
		t.Fatal("a report without classes is accepted")
	}
}

// TRC-7, TRC-8: a handle never reaches a line, however it is written.
func TestHandlesAreReplaced(t *testing.T) {
	const token = "mh1.eyJ2IjoxfQ.c2ln_-A"
	want := "<handle:" + hexSum([]byte(token))[:16] + ">"
	s := newSession(t, Content)
	s.start(nil)
	s.write(ToolCall{ToolName: "fetch-peer-file", Status: "ok", Input: Raw(`{"handle":"` + token + `","b":"\u006dh1\u002eeyJ2IjoxfQ.c2ln_\u002dA","q":"\u0022\u005c"}`), Output: new("see " + token + ".")})
	s.log.Appender().Append(PlanStep{Kind: "tool", Status: "success", Input: Raw(`["` + token + `"]`)})
	data, err := os.ReadFile(filepath.Join(s.dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "mh1") || strings.Count(string(data), want) != 4 {
		t.Fatalf("%s", data)
	}
	if in := s.lines()[1]["input"].(map[string]any); in["q"] != `"\` {
		t.Fatalf("%v", in)
	}
}

// TRC-23, TRC-27: texts of failures are cut to 2000 bytes, at a character.
func TestReasonsAreCut(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	long := strings.Repeat("é", 1500)
	s.write(TaskFailed{Cause: "runtime_error", Reason: "x" + long})
	s.write(Inference{Decision: "error", Error: long})
	if n := len(s.lines()[1]["reason"].(string)); n != 1999 {
		t.Errorf("%d bytes", n)
	}
	if n := len(s.lines()[2]["error"].(string)); n != 2000 {
		t.Errorf("%d bytes", n)
	}
}

// A model's broken input ends no session: it is recorded as text.
func TestBrokenInputIsRecordedAsText(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	s.write(ToolCall{Status: "error", Input: Raw(`{"a":`)})
	if in := s.lines()[1]["input"]; in != `{"a":` {
		t.Fatalf("%v", in)
	}
}

// TRC-12, SES-121: a script capsule's run is a session without tasks and turns.
func TestScriptSession(t *testing.T) {
	dir := t.TempDir()
	records, err := workfs.OpenRoot(dir, workfs.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	l, err := Create(records, Options{SessionID: ids.New(ids.Session)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	own := l.Owner("")
	if err := own.Start(SessionStart{CapsuleName: "script", Kind: "script", EffectiveGrants: Raw(grants)}, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Payload{ToolCall{Status: "ok"}, ArtifactPulled{}, A2ASend{}, SessionEnd{ExitStatus: "ok"}} {
		if _, err := own.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	s := &session{t: t, dir: dir, log: l}
	lines := s.lines()
	if lines[0]["kind"] != "script" || lines[0]["model"] != nil || lines[1]["parent_id"] != lines[0]["event_id"] || lines[1]["task_id"] != nil {
		t.Fatalf("%v", lines)
	}
	if end := lines[4]; end["total_turns"] != lines[1]["turn"] || end["total_tool_calls"] == end["total_turns"] {
		t.Fatalf("%v", end)
	}
}
