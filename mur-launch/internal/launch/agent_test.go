package launch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/spend"
)

// hidden are ways the key could show.
func hidden() []string {
	out := []string{testKey, "rotated-0123456789-key"}
	for _, k := range slices.Clone(out) {
		out = append(out, base64.StdEncoding.EncodeToString([]byte(k))[:20], base64.StdEncoding.EncodeToString([]byte("Token " + k))[8:28])
	}
	return out
}

func (s *staged) showsNoKey(l launched) {
	s.t.Helper()
	for where, text := range s.everything(l) {
		for _, k := range hidden() {
			if strings.Contains(text, k) {
				s.t.Errorf("%s shows the key", where)
			}
		}
	}
}

// SES-124 to SES-128, SES-134, SES-138, SES-148, SES-154, SES-173, SES-208, SES-228, AGT-8 to AGT-11, AGT-24 to
// AGT-27, AGT-48, AGT-76, AGT-79, AGT-130 to AGT-136, AGT-158, TOL-25, TOL-42, TOL-46, TRC-13, TRC-19, TRC-20, TRC-27
func TestLaunchRunsAnAgent(t *testing.T) {
	p := newProvider(t, answers(
		does(`{"do":"print","text":"from the tool"}`, `{"do":"env"}`, `{"do":"panic","text":"oh"}`),
		`{"stop_reason":"tool_call","content":[{"type":"tool_call","id":"s","name":"skill","input":{}},{"type":"tool_call","id":"n","name":"nobody","input":{}},`+
			`{"type":"tool_call","id":"d","name":"driver","input":{}},{"type":"tool_call","id":"r","name":"delegate-task","input":{}}]}`,
		says("all done"),
	))
	s := stageAgent(t, p)
	s.driverConfig(`{"Key":"my own","Peek":true}`)
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Err != nil {
		t.Fatalf("refused %v, ended %+v\n%s", l.err, l.outcome, l.stderr)
	}
	if o := l.outcome; o.Ending != "ok" || o.Text != "all done" || s.records(o.Result) != "all done" || o.ToolCalls != 6 {
		t.Errorf("outcome %+v", o)
	}
	if got, want := s.types(), "session_start task_start inference tool_call tool_call tool_call inference skill_call tool_call tool_call tool_call inference task_end session_end"; got != want {
		t.Errorf("trace %s\nwant  %s", got, want)
	}
	requests, keys := p.seen()
	for i, k := range keys {
		if k != "Token "+testKey {
			t.Errorf("request %d has the key header %q", i, k)
		}
	}
	for i, want := range map[int][]string{
		0: {`{"text":"do it","type":"text"}`, `"system":"[Capsule]\nName: demo\n`, `"tools":[{"description":"# how","name":"skill","parameters":{"properties":{},"type":"object"}},{"description":"does a step","name":"tool"`, `"prompt_cache_key":"demo:1.0.0:ctx_`},
		1: {`\u003cuntrusted-content source=tool:tool>\nfrom the tool\n\u003c/untrusted-content>`, `"is_error":true`, "MURMUR_INFERENCE_MODEL=big", "exited with status 2"},
		2: {`"text":"# how\n"`, `there is no tool \"nobody\"`, `there is no tool \"driver\"`, "does not declare capabilities.spawn"},
	} {
		for _, text := range want {
			if !strings.Contains(strings.ReplaceAll(requests[i], "<", `\u003c`), text) {
				t.Errorf("request %d lacks %s:\n%s", i, text, requests[i])
			}
		}
	}
	seen, err := os.ReadFile(filepath.Join(s.work, "seen.txt"))
	if err != nil || !strings.Contains(string(seen), "MURMUR_INFERENCE_ENDPOINT=http://127.0.0.1:9/v1\n") || !strings.Contains(string(seen), "MURMUR_GATEWAY_ENDPOINT=http://127.0.0.1:9/v1") {
		t.Errorf("the driver saw %s, %v", seen, err)
	}
	if strings.Contains(requests[1], "MURMUR_INFERENCE_ENDPOINT") {
		t.Error("a tool saw the inference endpoint")
	}
	record, err := filepath.Glob(filepath.Join(s.home, "conversations/demo/ctx_*/conversation.jsonl"))
	if err != nil || len(record) != 1 {
		t.Fatalf("records %q %v", record, err)
	}
	if text, _ := os.ReadFile(record[0]); strings.Count(string(text), "\n") != 11 || !strings.Contains(string(text), `"fence":"tool:tool"`) {
		t.Errorf("record\n%s", text)
	}
	if st := l.start; st == nil || st.URL != "" {
		t.Errorf("announced %+v", st)
	}
	first := strings.SplitN(s.records("trace.jsonl"), "\n", 2)[0]
	for _, want := range []string{`"kind":"agent","model":"big","max_turns":10,`, `"credential_source":"config"`, `"gateways":[{"artifact":"local/driver","host":"127.0.0.1:`, `"tools_declared":["skill","tool"]`} {
		if !strings.Contains(first, want) {
			t.Errorf("session_start lacks %s: %s", want, first)
		}
	}
	s.showsNoKey(l)
}

// AGT-58, AGT-78, AGT-81 to AGT-83, AGT-139, AGT-140, AGT-145, AGT-146, TOL-29, TRC-44, TRC-50, DIA-105: faults of
// the provider and of tools.
func TestAgentFaults(t *testing.T) {
	status := func(code int, body string) func(http.ResponseWriter, *http.Request, int) {
		return func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("X-Echo", "Token "+testKey)
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	short := policy.Limits{MemoryBytes: 64 << 20, TableElements: 100_000, Instances: 100, DeadlineSeconds: 1}
	longer := short // what floods and grows is not to be late on a busy machine
	longer.DeadlineSeconds = 8
	for _, c := range []struct {
		name   string
		answer func(s *staged) func(http.ResponseWriter, *http.Request, int)
		edit   func(s *staged)
		ending string
		code   string // of the diagnostic's reason
		result string // begins so
		types  string
	}{
		{"401 twice", func(*staged) func(http.ResponseWriter, *http.Request, int) { return status(401, "bad "+testKey) }, nil, "failed", "E-RUN-027",
			"error: E-RUN-027: the provider answered 401 to the credential credentials.TEST_KEY of ", "session_start task_start inference_credential inference task_failed task_end session_end"},
		{"401, then a new key", func(s *staged) func(http.ResponseWriter, *http.Request, int) {
			return func(w http.ResponseWriter, r *http.Request, turn int) {
				if r.Header.Get("X-Test-Key") == "Token "+testKey {
					s.setKey("rotated-0123456789-key")
					w.WriteHeader(401)
					return
				}
				io.WriteString(w, says("ok now"))
			}
		}, nil, "ok", "", "ok now", "session_start task_start inference_credential inference task_end session_end"},
		{"429", func(*staged) func(http.ResponseWriter, *http.Request, int) { return status(429, "slow down") }, nil, "failed", "E-RUN-040", "error: status 429: slow down Token [", "session_start task_start inference task_failed task_end session_end"},
		{"500 that shows the key", func(*staged) func(http.ResponseWriter, *http.Request, int) {
			return status(500, "you sent "+base64.StdEncoding.EncodeToString([]byte("Token "+testKey)))
		}, nil, "failed", "E-RUN-040", "error: status 500: you sent ", "session_start task_start inference task_failed task_end session_end"},
		{"no JSON", func(*staged) func(http.ResponseWriter, *http.Request, int) { return answers("<html>") }, nil, "failed", "E-RUN-040", "error: the driver's answer is not a JSON object", "session_start task_start inference task_failed task_end session_end"},
		{"cut off", func(*staged) func(http.ResponseWriter, *http.Request, int) {
			return func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Content-Length", "1000")
				io.WriteString(w, `{"stop_reason":`)
			}
		}, nil, "failed", "E-RUN-040", "error: the answer broke off", "session_start task_start inference task_failed task_end session_end"},
		{"slow", func(*staged) func(http.ResponseWriter, *http.Request, int) {
			return func(w http.ResponseWriter, r *http.Request, _ int) {
				io.WriteString(w, `{"stop_reason":`)
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Second):
				}
			}
		}, func(s *staged) { s.limits(short) }, "failed", "E-RUN-040", "error: E-RUN-001: local/driver@1: the call passed its deadline of 1s", "session_start task_start call_deadline inference task_failed task_end session_end"},
		{"tools that hang, flood, grow and babble", func(*staged) func(http.ResponseWriter, *http.Request, int) {
			return answers(does(`{"do":"spin"}`, `{"do":"flood","n":70}`, `{"do":"alloc","n":200}`, `{"do":"bytes"}`, `{"do":"raw","text":"junk"}`, `[1]`, `{"do":"exit","n":3}`), says("survived"))
		}, func(s *staged) { s.limits(longer) }, "ok", "", "survived",
			"session_start task_start inference call_deadline tool_call tool_call tool_call tool_call tool_call tool_input_refused tool_call tool_call inference task_end session_end"},
		{"a config that went away", func(s *staged) func(http.ResponseWriter, *http.Request, int) {
			return func(w http.ResponseWriter, _ *http.Request, turn int) {
				if turn == 0 {
					os.Remove(filepath.Join(s.home, "config.yaml"))
					io.WriteString(w, does(`{"do":"print"}`))
					return
				}
				io.WriteString(w, says("on the last good key"))
			}
		}, nil, "ok", "", "on the last good key", "session_start task_start inference tool_call inference_credential inference task_end session_end"},
		{"turns without end", func(*staged) func(http.ResponseWriter, *http.Request, int) { return answers(does(`{"do":"print"}`)) },
			func(s *staged) { s.doc.Inference.MaxTurns = 2 }, "max_turns_reached", "E-RUN-040", "error: no answer within 2 turns", "session_start task_start inference tool_call inference tool_call task_end session_end"},
		{"a ceiling", func(*staged) func(http.ResponseWriter, *http.Request, int) { return answers(does(`{"do":"print"}`)) },
			func(s *staged) { n := int64(1500); s.doc.Spend.MaxSessionTokens = &n }, "spend_ceiling_reached", "E-RUN-040", "stopped: this session's ceiling of 1500 tokens", "session_start task_start inference tool_call spend_ceiling_reached task_end session_end"},
		{"beyond the gateway", func(*staged) func(http.ResponseWriter, *http.Request, int) { return answers(says("x")) },
			func(s *staged) { s.driverConfig(`{"Beyond":"http://127.0.0.1:8/"}`) }, "ok", "", "x", "session_start task_start inference task_end session_end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s *staged
			p := newProvider(t, func(w http.ResponseWriter, r *http.Request, turn int) { c.answer(s)(w, r, turn) })
			s = stageAgent(t, p)
			if c.edit != nil {
				c.edit(s)
			}
			l := s.launch(context.Background())
			if l.err != nil || l.outcome.Ending != c.ending {
				t.Fatalf("refused %v, ended %+v\n%s", l.err, l.outcome, l.stderr)
			}
			if got := s.records("out/result.txt"); !strings.HasPrefix(got, c.result) {
				t.Errorf("result %q, want %q", got, c.result)
			}
			if got := s.types(); got != c.types {
				t.Errorf("trace %s\nwant  %s", got, c.types)
			}
			if (l.outcome.Err != nil) != (c.code != "") || c.code != "" && l.outcome.Err.Names["code"] != c.code {
				t.Errorf("error %+v, want %s", l.outcome.Err, c.code)
			}
			s.showsNoKey(l)
			if _, err := os.Stat(s.doc.Directories.Session.Path); err == nil {
				t.Error("the session directory was left")
			}
		})
	}
}

// SES-122, SES-179, SES-184, AGT-60, AGT-65, AGT-190: a signal ends an agent in
// each phase, with a whole trace.
func TestAgentIsEndedByASignal(t *testing.T) {
	for _, c := range []struct{ name, types string }{
		{"inference", "session_start task_start task_canceled task_end session_end"},
		{"tool", "session_start task_start inference tool_call task_canceled task_end session_end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			p := newProvider(t, func(w http.ResponseWriter, r *http.Request, turn int) {
				if c.name == "inference" {
					cancel()
					<-r.Context().Done()
					return
				}
				io.WriteString(w, does(`{"do":"spin"}`, `{"do":"print"}`))
				time.AfterFunc(300*time.Millisecond, cancel)
			})
			s := stageAgent(t, p)
			begin := time.Now()
			l := s.launch(ctx)
			if l.err != nil || l.outcome.Ending != "canceled" || l.outcome.Err == nil || time.Since(begin) > teardownLimit {
				t.Fatalf("refused %v, ended %+v after %s", l.err, l.outcome, time.Since(begin))
			}
			if got := s.types(); got != c.types {
				t.Errorf("trace %s\nwant  %s", got, c.types)
			}
			if got := s.records("out/result.txt"); !strings.HasPrefix(got, "canceled: ") {
				t.Errorf("result %q", got)
			}
			if !strings.Contains(l.stderr, "ending the session") {
				t.Errorf("said %q", l.stderr)
			}
		})
	}
}

// AGT-118, SES-204, SES-208, AGT-79: a threaded capsule goes on where it was.
func TestConversationGoesOn(t *testing.T) {
	p := newProvider(t, answers(does(`{"do":"print","text":"t"}`), says("first"), says("second")))
	home := ""
	for i := range 2 {
		s := stageAgent(t, p)
		context0 := "talk"
		s.doc.ContextID, s.doc.Lifecycle.Conversation = &context0, "threaded"
		if i == 1 {
			dir := filepath.Join(s.home, "conversations/demo/talk")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for d := dir; d != s.home; d = filepath.Dir(d) {
				os.Chmod(d, 0o700)
			}
			text, err := os.ReadFile(filepath.Join(home, "conversations/demo/talk/conversation.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "conversation.jsonl"), append(text, "torn"...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		home = s.home
		l := s.launch(context.Background())
		if l.err != nil || l.outcome.Err != nil {
			t.Fatalf("%v %+v", l.err, l.outcome)
		}
		results, _ := filepath.Glob(filepath.Join(s.doc.Directories.Records.Path, "out/result_tsk_*.txt"))
		if len(results) != 1 {
			t.Errorf("results %q", results)
		}
		if i == 1 && !strings.Contains(l.stderr, "line 5 of ") {
			t.Errorf("said %q", l.stderr)
		}
	}
	requests, _ := p.seen()
	end := strings.Index(requests[1], `],"model":`)
	if !strings.HasPrefix(requests[2], requests[1][:end]+`,{"content":[{"text":"first","type":"text"}],"role":"assistant"},{"content":[{"text":"do it"`) {
		t.Errorf("the second launch asks otherwise:\n%s\n%s", requests[1], requests[2])
	}
}

// SES-138 to SES-141, SES-154: where a task comes from.
func TestTaskInput(t *testing.T) {
	task := func(text string) *string { return &text }
	for _, c := range []struct {
		name    string
		flag    *string
		staged  bool
		files   map[string]string
		want    string
		types   string
		refused diag.Code
	}{
		{"the flag's text", task("from the flag"), true, nil, "from the flag", "", ""},
		{"the flag's file", task("in.txt"), true, map[string]string{"in.txt": "from a file"}, "from a file", "", ""},
		{"staged", nil, true, map[string]string{"work/task.md": "no"}, "do it", "", ""},
		{"task.md of the work folder", nil, false, map[string]string{"work/task.md": "from work", "work/input.txt": "no"}, "from work", "", ""},
		{"input.txt of the work folder", nil, false, map[string]string{"work/input.txt": "in\xffput"}, "in\ufffdput", "", ""},
		{"none", nil, false, nil, "", "session_start inference session_end", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProvider(t, answers(says("x")))
			s := stageAgent(t, p)
			if !c.staged {
				os.Remove(s.doc.Directories.Runtime.Path + "/task.md")
				s.doc.Task = session.Task{Import: true}
			}
			for rel, text := range c.files {
				s.write(rel, text)
			}
			s.task = c.flag
			l := s.launch(context.Background())
			if l.err != nil || l.outcome.Err != nil {
				t.Fatalf("%v %+v\n%s", l.err, l.outcome, l.stderr)
			}
			requests, _ := p.seen()
			var got struct {
				Messages []struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal([]byte(requests[0]), &got); err != nil || got.Messages[0].Content[0].Text != c.want {
				t.Errorf("asked %s, %v", requests[0], err)
			}
			if c.types != "" && s.types() != c.types {
				t.Errorf("trace %s", s.types())
			}
		})
	}
	p := newProvider(t, answers(says("x")))
	s := stageAgent(t, p)
	os.Remove(s.doc.Directories.Runtime.Path + "/task.md")
	s.doc.Task = session.Task{Import: true}
	if err := os.Symlink("/etc/hostname", filepath.Join(s.work, "task.md")); err != nil {
		t.Fatal(err)
	}
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Err == nil || l.outcome.Err.Names["code"] != "E-RUN-103" || len(p.requests) != 0 {
		t.Errorf("a task behind a link: %v %+v", l.err, l.outcome)
	}
}

// AGT-151, DEL-1804, AGT-156: two launches share the machine's day.
func TestLaunchesShareTheDay(t *testing.T) {
	p := newProvider(t, answers(does(`{"do":"print"}`)))
	ceiling := int64(6000)
	s := []*staged{stageAgent(t, p), stageAgent(t, p)}
	ends := make(chan launched, 2)
	for _, one := range s {
		one.doc.Spend.MachineTokensPerDay = &ceiling
		one.doc.Inference.MaxTurns = 50
	}
	// Both in one murmur home: the ledger of the first serves the second.
	if err := os.MkdirAll(filepath.Join(s[0].home, spend.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	os.Chmod(filepath.Join(s[0].home, spend.Dir), 0o700)
	for _, one := range s {
		go func() { ends <- one.launch(context.Background()) }()
	}
	for range s {
		l := <-ends
		if l.err != nil || l.outcome.Ending != "spend_ceiling_reached" || !strings.Contains(l.outcome.Err.Message, "daily ceiling of 6000") {
			t.Errorf("%v %+v", l.err, l.outcome)
		}
	}
	for _, one := range s {
		files, _ := filepath.Glob(filepath.Join(one.home, spend.Dir, "*.jsonl"))
		if len(files) != 1 {
			t.Fatalf("ledgers %q", files)
		}
		total := int64(0)
		text, _ := os.ReadFile(files[0])
		for row := range strings.Lines(string(text)) {
			var e struct {
				Input    int64 `json:"input_tokens"`
				Output   int64 `json:"output_tokens"`
				Admitted bool
			}
			if err := json.Unmarshal([]byte(row), &e); err != nil {
				t.Fatal(err)
			}
			if !e.Admitted {
				total += e.Input + e.Output
			}
		}
		if total == 0 || total > ceiling {
			t.Errorf("%d tokens were used", total)
		}
	}
}

// SES-246, SES-143 and the seams: what is not served is refused by name, and a
// credential that is gone refuses before anything is announced.
func TestAgentRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(s *staged)
		code diag.Code
		says string
	}{
		{"no driver", func(s *staged) { s.doc.Inference.Choices = nil }, "E-RUN-005", "inference.driver.artifact is missing"},
		{"a choice of drivers", func(s *staged) { s.doc.Inference.Choices = append(s.doc.Inference.Choices, s.doc.Inference.Choices[0]) }, "E-STG-101", "inference.choices"},
		{"a harness", func(s *staged) { s.doc.Inference.Transport = "process" }, "E-STG-101", "inference.transport"},
		{"a queue that sleeps", func(s *staged) { s.doc.Lifecycle.TaskAcceptance, s.doc.Lifecycle.AfterTask = "queue", "sleep" }, "E-STG-101", "lifecycle.task_acceptance"},
		{"a hook", func(s *staged) { s.doc.Artifacts[0].Role = "hook" }, "E-STG-101", "artifacts[].hook"},
		{"plans", func(s *staged) { s.doc.Policy.PlanSubmit = true }, "E-STG-101", "policy.plan_submit"},
		{"a key that is gone", func(s *staged) { os.Remove(filepath.Join(s.home, "config.yaml")) }, "E-MAN-003", "credentials.TEST_KEY of "},
		{"a ledger that is a file", func(s *staged) {
			n := int64(5)
			s.doc.Spend.MachineTokensPerDay = &n
			s.write("home/spend", "")
		}, "E-RUN-026", "spend"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProvider(t, answers(says("x")))
			s := stageAgent(t, p)
			c.edit(s)
			l := s.launch(context.Background())
			if diag.CodeOf(l.err) != c.code || !strings.Contains(fmt.Sprint(l.err), c.says) || l.start != nil || len(p.requests) > 0 || s.records("trace.jsonl") != "" {
				t.Errorf("got %v, want %s with %q", l.err, c.code, c.says)
			}
		})
	}
}

// AGT-67, AGT-80: text is shown as it comes, and only once.
func TestStreamedText(t *testing.T) {
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request, turn int) {
		if turn == 0 {
			w.Header().Set("X-Stream", "I look around. Token "+testKey)
			io.WriteString(w, does(`{"do":"print"}`))
			return
		}
		io.WriteString(w, says("whole answer"))
	})
	s := stageAgent(t, p)
	var out strings.Builder
	s.stream = &out
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Err != nil {
		t.Fatalf("%v %+v", l.err, l.outcome)
	}
	if got := out.String(); !strings.HasPrefix(got, "I look around. Token ") || !strings.HasSuffix(got, "\nwhole answer\n") || strings.Contains(got, testKey) {
		t.Errorf("shown %q", got)
	}
}

// --task and --stream mean nothing for a script capsule.
func TestScriptTakesNoTask(t *testing.T) {
	s := stageBytes(t, []byte("no guest is needed"), []byte("nor an archive"), "")
	text := "x"
	s.task = &text
	if l := s.launch(context.Background()); l.err == nil || !strings.Contains(l.err.Error(), "are for agent capsules") || l.start != nil {
		t.Errorf("got %v", l.err)
	}
}

// AGT-147, TRC-13, DIA-24: what is warned of before the first line is in it.
func TestEarlyWarningsAreInSessionStart(t *testing.T) {
	p := newProvider(t, answers(says("x")))
	s := stageAgent(t, p)
	if err := os.Chmod(filepath.Join(s.home, "config.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	s.doc.Trace.Retain = &session.TraceRetain{MaxSessions: &n}
	var warned []diag.Code
	s.warn = func(w diag.Warning) { warned = append(warned, w.Code) }
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Err != nil {
		t.Fatalf("%v %+v", l.err, l.outcome)
	}
	first := strings.SplitN(s.records("trace.jsonl"), "\n", 2)[0]
	if !slices.Equal(warned, []diag.Code{"W-SEC-028", ""}) || !strings.Contains(first, `"code":"W-SEC-028"`) || !strings.Contains(first, "trace.retain") {
		t.Errorf("warned %q, session_start %s", warned, first)
	}
}

// AGT-130, AGT-135, AGT-137, AGT-140, AGT-142, AGT-149, AGT-158, TRC-50: a tool with a gateway of its own.
func TestToolHasItsOwnGateway(t *testing.T) {
	const other = "tool-key-0123456789"
	api := newProvider(t, func(w http.ResponseWriter, r *http.Request, turn int) {
		if turn == 1 {
			w.WriteHeader(401)
		}
		io.WriteString(w, "you sent "+r.Header.Get("X-Tool-Key"))
	})
	p := newProvider(t, answers(does(`{"do":"get","text":"http://127.0.0.1:9/a"}`, `{"do":"get","text":"http://127.0.0.1:9/b"}`, `{"do":"env"}`,
		fmt.Sprintf(`{"do":"get","text":"%s/c"}`, api.URL)), says("x")))
	s := stageAgentWith(t, p, web)
	one := 1
	s.doc.Artifacts[0].Gateway = &one
	s.doc.Gateways = append(s.doc.Gateways, session.Gateway{
		Artifact: "local/tool", Endpoint: api.URL + "/base", Auth: session.GatewayAuth{Header: "X-Tool-Key", Value: "{key}"},
		Credential: &session.CredentialRef{Name: "TOOL_KEY", Source: session.FromEnvironment},
	})
	s.environ = append(s.environ, "TOOL_KEY="+other)
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Err != nil {
		t.Fatalf("%v %+v\n%s", l.err, l.outcome, l.stderr)
	}
	requests, keys := p.seen()
	for _, want := range []string{"you sent *******************", "MURMUR_GATEWAY_ENDPOINT=http://127.0.0.1:9/base", "is not allowed: no entry of network.allow"} {
		if !strings.Contains(requests[1], want) {
			t.Errorf("the results lack %q: %s", want, requests[1])
		}
	}
	if strings.Contains(requests[1], "MURMUR_INFERENCE_ENDPOINT") || strings.Contains(strings.Join(keys, ""), other) {
		t.Error("the two gateways are not apart")
	}
	if got := s.types(); got != "session_start task_start inference tool_call gateway_credential tool_call tool_call tool_call inference task_end session_end" {
		t.Errorf("trace %s", got)
	}
	if n := len(api.requests); n != 2 {
		t.Errorf("the tool's provider got %d requests", n)
	}
	for where, text := range s.everything(l) {
		if strings.Contains(text, other) {
			t.Errorf("%s shows the tool's key", where)
		}
	}
}
