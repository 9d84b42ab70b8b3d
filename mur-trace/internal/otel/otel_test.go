package otel

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mur-capsules/mur/lib/trace/tracegen"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

const recorded = `
session_start {"gateways":[{"artifact":"acme-driver","host":"api.example:443","credential_source":"config","metered":true}]}
a2a_task_received {"task_id":"tsk_1","traceparent_from_caller":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
at 100
task_start {"task_id":"tsk_1","source":"a2a","origin":"peer","trust":"untrusted","lane":"peer"}
at 400
inference {"task_id":"tsk_1","decision":"tool_call","stop_reason":"tool_use","tool_name":"read_file","input_tokens":90,"input_tokens_actual":100,"cached_tokens":40}
at 1000
tool_call {"task_id":"tsk_1","tool_call_id":"c1","duration_ms":250,"status":"error","input":{"secret":"prompt text"}}
shell {"task_id":"tsk_1","binary":"/bin/sh","command":["sh","-c","exit 3"],"exit_code":3,"duration_ms":40}
compaction {"task_id":"tsk_1","tokens_before":9,"tokens_after":3}
delegation_start {"delegation_id":"dlg_1","capsule":"worker","child_session_id":"ses_x"}
at 1200
delegation {"delegation_id":"dlg_1","outcome":"timed_out"}
task_reopened {"task_id":"tsk_1","reopen_number":1}
inference {"task_id":"tsk_1","turn":1,"decision":"error","error_code":"E-RUN-030"}
task_end {"task_id":"tsk_1","exit_status":"failed","reopen_count":1}
task_start {"task_id":"tsk_2","trace_id":"11111111111111111111111111111111"}
inference {"task_id":"tsk_2","decision":"end_turn","stop_reason":"end_turn"}
task_end {"task_id":"tsk_2"}
inference {"decision":"text","origin":"hook:h","model":"other"}
at 2000
session_end {"exit_status":"ok"}
`

func load(t *testing.T, text string) *record.Record {
	t.Helper()
	dir := t.TempDir()
	if _, err := tracegen.Script(dir, text); err != nil {
		t.Fatal(err)
	}
	r, err := record.Load(source.Trace{Path: dir + "/trace.jsonl", RecordsDir: dir}, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func spansOf(r *record.Record) map[string]Span {
	out := map[string]Span{}
	Plan(r, func(s Span) {
		name := s.Name
		for _, a := range s.Attributes {
			if a.Key == "task_id" {
				name += " " + a.Value.AsString()
			}
			if a.Key == "decision" {
				name += " " + a.Value.AsString()
			}
		}
		out[name] = s
	})
	return out
}

func attr(t *testing.T, s Span, key string, want any) {
	t.Helper()
	set := attribute.NewSet(s.Attributes...)
	v, ok := set.Value(attribute.Key(key))
	if want == nil {
		if ok {
			t.Errorf("%s: %s is %v", s.Name, key, v.AsInterface())
		}
		return
	}
	if !ok || v.AsInterface() != want {
		t.Errorf("%s: %s is %v, want %v", s.Name, key, v.AsInterface(), want)
	}
}

// TRC-128 to TRC-134, TRC-202, DEL-1905 to DEL-1907, DEL-1909, DEL-1911
func TestPlan(t *testing.T) {
	r := load(t, recorded)
	got := spansOf(r)
	if len(got) != 11 {
		t.Fatalf("%d spans", len(got))
	}
	task := got["capsule.session tsk_1"]
	if task.TraceID.String() != "0af7651916cd43dd8448eb211c80319c" || task.Parent.SpanID().String() != "b7ad6b7169203331" || !task.Parent.IsRemote() {
		t.Errorf("the caller's trace is not continued: %+v", task)
	}
	if task.Kind != oteltrace.SpanKindServer || task.ErrorType != "failed" || task.Start.UnixMilli() != tracegen.Epoch+100 || task.End.UnixMilli() != tracegen.Epoch+1200 {
		t.Errorf("%+v", task)
	}
	for k, v := range map[string]any{"exit_status": "failed", "murmur.session_id": r.ID, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "demo",
		"gen_ai.agent.id": r.ID, "gen_ai.conversation.id": "ctx_1", "murmur.task.origin": "peer", "murmur.task.trust": "untrusted", "murmur.task.lane": "peer", "murmur.task.reopens": int64(1)} {
		attr(t, task, k, v)
	}
	inf := got["capsule.inference tool_call"]
	if inf.Parent.SpanID() != task.SpanID || inf.TraceID != task.TraceID || inf.Kind != oteltrace.SpanKindClient || inf.ErrorType != "" ||
		inf.Start.UnixMilli() != tracegen.Epoch+100 || inf.End.UnixMilli() != tracegen.Epoch+400 {
		t.Errorf("%+v", inf)
	}
	for k, v := range map[string]any{"turn": int64(0), "decision": "tool_call", "input_tokens": int64(90), "input_tokens_actual": int64(100), "cached_tokens": int64(40),
		"cache_write_tokens": nil, "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(10),
		"gen_ai.usage.cache_read.input_tokens": int64(40), "gen_ai.request.model": "fake-1", "gen_ai.provider.name": "acme-driver",
		"server.address": "api.example", "server.port": int64(443)} {
		attr(t, inf, k, v)
	}
	call := got["capsule.tool_call"]
	if call.End.Sub(call.Start).Milliseconds() != 250 || call.ErrorType == "" || call.Kind != oteltrace.SpanKindInternal {
		t.Errorf("%+v", call)
	}
	attr(t, call, "gen_ai.tool.call.id", "c1")
	attr(t, call, "gen_ai.operation.name", "execute_tool")
	sh := got["capsule.shell"]
	attr(t, sh, "command", "sh -c exit 3")
	attr(t, sh, "process.exit.code", int64(3))
	attr(t, sh, "process.executable.path", "/bin/sh")
	if c := got["capsule.compaction"]; c.End.Sub(c.Start).Milliseconds() != 1 {
		t.Errorf("%+v", c)
	}
	d := got["capsule.delegation"]
	if d.ErrorType != "timed_out" || d.Kind != oteltrace.SpanKindClient || d.End.Sub(d.Start).Milliseconds() != 200 || d.Parent.SpanID() != task.SpanID {
		t.Errorf("%+v", d)
	}
	attr(t, d, "murmur.child.session.id", "ses_x")
	attr(t, d, "murmur.outcome", "timed_out")
	if f := got["capsule.inference error"]; f.ErrorType != "E-RUN-030" {
		t.Errorf("%+v", f)
	}
	second := got["capsule.session tsk_2"]
	if second.TraceID.String() != strings.Repeat("1", 32) || second.Parent.IsValid() || second.Kind != oteltrace.SpanKindInternal || second.ErrorType != "" {
		t.Errorf("%+v", second)
	}
	outside, hook := got["capsule.session"], got["capsule.inference text"]
	if !outside.TraceID.IsValid() || outside.TraceID == second.TraceID || hook.Parent.SpanID() != outside.SpanID || outside.End.UnixMilli() != tracegen.Epoch+2000 {
		t.Errorf("%+v %+v", outside, hook)
	}
	attr(t, outside, "task_id", nil)
	attr(t, hook, "origin", "hook:h")
	attr(t, hook, "gen_ai.request.model", "other")
	for _, s := range got {
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), "prompt text") {
				t.Errorf("%s exports an input", s.Name)
			}
		}
	}
	again := spansOf(r)
	for name, s := range got {
		if again[name].SpanID != s.SpanID || again[name].TraceID != s.TraceID {
			t.Errorf("%s: another export gives other ids", name)
		}
	}
}

// A session that did not end, and malformed callers.
func TestPlanOfAnIncompleteSession(t *testing.T) {
	r := load(t, "session_start\na2a_task_received {\"task_id\":\"tsk_1\",\"traceparent_from_caller\":\"nonsense\"}\ntask_start\nat 500\ninference\n")
	got := spansOf(r)
	s := got["capsule.session tsk_1"]
	if s.ErrorType != "incomplete" || s.Parent.IsValid() || s.End.UnixMilli() != tracegen.Epoch+500 {
		t.Fatalf("%+v", s)
	}
	for _, bad := range []string{"", "00-x-y-01", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01"} {
		if traceparent(bad).IsValid() {
			t.Errorf("%q is taken for a trace context", bad)
		}
	}
}

// TRC-126, TRC-128, DEL-1902, DEL-1904: what reaches a collector.
func TestSend(t *testing.T) {
	var mu sync.Mutex
	var spans []*tracepb.Span
	var resource map[string]string
	var scope, path, header string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var m collector.ExportTraceServiceRequest
		mu.Lock()
		defer mu.Unlock()
		if err := proto.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		path, header = req.URL.Path, req.Header.Get("x-tenant")
		for _, rs := range m.ResourceSpans {
			resource = map[string]string{}
			for _, a := range rs.Resource.Attributes {
				resource[a.Key] = a.Value.GetStringValue()
			}
			for _, ss := range rs.ScopeSpans {
				scope = ss.Scope.Name
				spans = append(spans, ss.Spans...)
			}
		}
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=mine")
	r := load(t, recorded)
	n, err := Send(context.Background(), r, srv.URL+"/prefix/")
	if err != nil || n != 11 || len(spans) != 11 {
		t.Fatalf("%d, %v; %d arrived", n, err, len(spans))
	}
	if path != "/prefix/v1/traces" || header != "mine" || scope != Scope || resource["service.name"] != "demo" || resource["service.instance.id"] != r.ID ||
		resource["service.version"] != "1.0.0" || resource["murmur.containment.achieved"] != "sealed" {
		t.Errorf("%s %s %s %v", path, header, scope, resource)
	}
	planned := spansOf(r)
	i := slices.IndexFunc(spans, func(s *tracepb.Span) bool { return s.Name == "capsule.tool_call" })
	want := planned["capsule.tool_call"]
	if s := spans[i]; !bytes.Equal(s.SpanId, want.SpanID[:]) || !bytes.Equal(s.TraceId, want.TraceID[:]) || s.StartTimeUnixNano != uint64(want.Start.UnixNano()) ||
		s.EndTimeUnixNano != uint64(want.End.UnixNano()) || s.Status.Code != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("%v", s)
	}
	srv.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Send(ctx, r, srv.URL); err == nil {
		t.Error("a dead collector is silent")
	}
	for _, bad := range []string{"", "localhost:4318", "ftp://x", "http://"} {
		if _, err := Send(context.Background(), r, bad); err == nil {
			t.Errorf("%q is an endpoint", bad)
		}
	}
}

// The JSON form is OTLP's: ids in hexadecimal, kinds and codes as numbers.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	r := load(t, recorded)
	if _, err := Write(context.Background(), r, &out); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					Name, TraceID, SpanID, ParentSpanID, StartTimeUnixNano string
					Kind                                                   int
					Status                                                 struct{ Code int }
				}
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	spans := doc.ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 11 || len(spans[0].TraceID) != 32 || len(spans[0].SpanID) != 16 || spans[0].StartTimeUnixNano == "" || spans[0].Kind != 3 || spans[0].Status.Code != 1 {
		t.Fatalf("%+v", spans)
	}
}
