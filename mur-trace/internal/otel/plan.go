// Package otel turns a recorded session into OpenTelemetry spans (TRC section
// 10) and hands them to the official SDK. It is the one place of mur-trace that
// knows OpenTelemetry. Prompts, answers, inputs and outputs are never exported
// (TRC-131, DEL-1909).
//
// Ids follow from the trace: a task's trace id is the one it recorded, else
// made of its own id, and a span's id is made of its event's, so that exporting
// a session twice gives the same spans.
package otel

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0" // the last that names gen_ai; pinned here alone (DEL-1908)
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/metrics"
	"github.com/mur-capsules/mur/mur-trace/internal/record"
)

// SchemaURL is that of the semantic conventions used.
const SchemaURL = semconv.SchemaURL

// Scope is the name of the instrumentation (TRC-128).
const Scope = "murmur-capsule-runtime"

// Span is one span to be.
type Span struct {
	Name       string
	Kind       oteltrace.SpanKind
	TraceID    oteltrace.TraceID
	SpanID     oteltrace.SpanID
	Parent     oteltrace.SpanContext // zero for the root of a trace
	Start, End time.Time
	Attributes []attribute.KeyValue
	ErrorType  string // "" for a span that is ok
}

// Resource are the attributes of everything a session exports (TRC-128,
// DEL-1905).
func Resource(r *record.Record) []attribute.KeyValue {
	out := []attribute.KeyValue{semconv.ServiceInstanceID(r.ID)}
	s := r.Start()
	if s == nil {
		return out
	}
	out = append(out, semconv.ServiceName(s.CapsuleName), semconv.ServiceVersion(s.CapsuleVersion),
		attribute.String("murmur.containment.achieved", s.ContainmentAchieved))
	if s.SpawnedBy != "" {
		out = append(out, attribute.String("murmur.spawned_by", s.SpawnedBy), attribute.String("murmur.delegation.id", s.DelegationID))
	}
	return out
}

// planner walks a session and makes spans of its events.
type planner struct {
	r     *record.Record
	start *trace.SessionStart
	emit  func(Span)

	root        *Span // of the running task, or of what runs outside any
	outside     *Span // kept while a task runs
	reopens     int64
	remote      map[string]oteltrace.SpanContext // callers' spans by task
	last        int64                            // timestamp of the line before
	delegations map[string]Span
}

// Plan makes the spans of a session, each when its event is met, a task's own
// after those beneath it.
func Plan(r *record.Record, emit func(Span)) {
	p := &planner{r: r, start: r.Start(), emit: emit, remote: map[string]oteltrace.SpanContext{}, delegations: map[string]Span{}}
	p.last = r.StartedAt
	for _, l := range r.Events() {
		p.event(l)
		p.last, _ = l.Get("timestamp").Int()
	}
	// A session that did not end ends with its last line.
	if p.root != nil && p.root != p.outside {
		p.close(p.last, metrics.Incomplete)
	}
	if p.outside != nil {
		p.root = p.outside
		p.close(p.last, r.Metrics.ExitStatus)
	}
}

func (p *planner) event(l *trace.Line) {
	switch e := l.Decode().(type) {
	case trace.A2ATaskReceived:
		if e.TraceparentFromCaller != nil {
			p.remote[e.TaskID] = traceparent(*e.TraceparentFromCaller)
		}
	case trace.TaskStart:
		p.taskStart(l, e)
	case trace.TaskReopened:
		p.reopens++
	case trace.TaskEnd:
		if p.root != nil && p.root != p.outside {
			p.close(at(l), e.ExitStatus)
		}
		p.root = p.outside
	case trace.Inference:
		p.child(l, p.inference(e), p.last)
	case trace.ToolCall:
		p.child(l, toolCall(e), at(l)-e.DurationMS)
	case trace.Shell:
		p.child(l, shell(e), at(l)-e.DurationMS)
	case trace.Compaction:
		p.child(l, Span{Name: "capsule.compaction", Kind: oteltrace.SpanKindInternal, Attributes: []attribute.KeyValue{
			attribute.Int64("tokens_before", e.TokensBefore), attribute.Int64("tokens_after", e.TokensAfter)}}, at(l)-1)
	case trace.DelegationStart:
		s := Span{Name: "capsule.delegation", Kind: oteltrace.SpanKindClient, Start: time.UnixMilli(at(l)), SpanID: spanID(id(l)),
			Attributes: []attribute.KeyValue{semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(e.Capsule),
				attribute.String("murmur.delegation.id", e.DelegationID), attribute.String("murmur.child.session.id", e.ChildSessionID)}}
		s.TraceID, s.Parent = p.parent(l)
		p.delegations[e.DelegationID] = s
	case trace.Delegation:
		if e.DelegationID == nil {
			return
		}
		if s, ok := p.delegations[*e.DelegationID]; ok {
			s.End = time.UnixMilli(at(l))
			s.Attributes = append(s.Attributes, attribute.String("murmur.outcome", e.Outcome))
			if e.Outcome != "ok" && e.Outcome != "completed" {
				s.ErrorType = e.Outcome
			}
			p.emit(s)
			delete(p.delegations, *e.DelegationID)
		}
	}
}

// taskStart opens a task's span (TRC-129, TRC-132).
func (p *planner) taskStart(l *trace.Line, e trace.TaskStart) {
	p.reopens = 0
	s := p.newRoot(l, e.TaskID, e.TraceID)
	if e.Source == "a2a" {
		s.Kind = oteltrace.SpanKindServer
	}
	if caller := p.remote[e.TaskID]; caller.IsValid() {
		s.TraceID, s.Parent = caller.TraceID(), caller
	}
	s.Attributes = append(s.Attributes, attribute.String("task_id", e.TaskID), semconv.GenAIConversationID(e.ContextID),
		attribute.String("murmur.task.origin", e.Origin), attribute.String("murmur.task.trust", e.Trust), attribute.String("murmur.task.lane", e.Lane))
	p.root = s
}

func (p *planner) newRoot(l *trace.Line, key, recorded string) *Span {
	s := &Span{Name: "capsule.session", Kind: oteltrace.SpanKindInternal, Start: time.UnixMilli(at(l)), SpanID: spanID(id(l)), TraceID: traceID(p.r.ID + key)}
	if t, err := oteltrace.TraceIDFromHex(recorded); err == nil {
		s.TraceID = t
	}
	s.Attributes = []attribute.KeyValue{attribute.String("murmur.session_id", p.r.ID), semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentID(p.r.ID)}
	if p.start != nil {
		s.Attributes = append(s.Attributes, semconv.GenAIAgentName(p.start.CapsuleName))
		if p.start.FormationID != "" {
			s.Attributes = append(s.Attributes, attribute.String("murmur.formation_id", p.start.FormationID))
		}
	}
	return s
}

func (p *planner) close(end int64, status string) {
	s := *p.root
	s.End = time.UnixMilli(end)
	s.Attributes = append(s.Attributes, attribute.String("exit_status", status), attribute.Int64("murmur.task.reopens", p.reopens))
	if status != "ok" {
		s.ErrorType = status
	}
	p.emit(s)
}

// parent is the span an event's span hangs from: that of the running task, or
// of what runs outside any, which begins with the event (TRC-202).
func (p *planner) parent(l *trace.Line) (oteltrace.TraceID, oteltrace.SpanContext) {
	if p.root == nil {
		if p.outside == nil {
			p.outside = p.newRoot(l, "", "")
			p.outside.Start = time.UnixMilli(p.r.StartedAt)
			p.outside.SpanID = spanID(p.r.ID)
		}
		p.root = p.outside
	}
	return p.root.TraceID, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: p.root.TraceID, SpanID: p.root.SpanID, TraceFlags: oteltrace.FlagsSampled})
}

// child emits the span of one event: it ends as the event was written and
// begins at start (TRC-133).
func (p *planner) child(l *trace.Line, s Span, start int64) {
	s.TraceID, s.Parent = p.parent(l)
	s.SpanID = spanID(id(l))
	s.Start, s.End = time.UnixMilli(max(0, min(start, at(l)))), time.UnixMilli(at(l))
	p.emit(s)
}

func (p *planner) inference(e trace.Inference) Span {
	s := Span{Name: "capsule.inference", Kind: oteltrace.SpanKindClient}
	a := attrs{attribute.Int64("turn", e.Turn), attribute.String("decision", e.Decision), semconv.GenAIOperationNameChat}
	a.count("input_tokens", e.InputTokens)
	a.count("output_tokens", e.OutputTokens)
	a.text("stop_reason", e.StopReason)
	a.text("tool_name", e.ToolName)
	a.count("input_tokens_actual", e.InputTokensActual)
	a.count("output_tokens_actual", e.OutputTokensActual)
	a.count("cached_tokens", e.CachedTokens)
	a.count("cache_write_tokens", e.CacheWriteTokens)
	a.word("origin", e.Origin)
	a.word("model", e.Model)
	a.count(string(semconv.GenAIUsageInputTokensKey), either(e.InputTokensActual, e.InputTokens))
	a.count(string(semconv.GenAIUsageOutputTokensKey), either(e.OutputTokensActual, e.OutputTokens))
	a.count(string(semconv.GenAIUsageCacheReadInputTokensKey), e.CachedTokens)
	a.count(string(semconv.GenAIUsageCacheCreationInputTokensKey), e.CacheWriteTokens)
	if e.StopReason != nil && *e.StopReason != "" {
		a = append(a, semconv.GenAIResponseFinishReasons(*e.StopReason))
	}
	model := e.Model
	if p.start != nil {
		if model == "" && p.start.Model != nil {
			model = *p.start.Model
		}
		if len(p.start.Gateways) > 0 {
			a.gateway(p.start.Gateways[0])
		}
	}
	a.word(string(semconv.GenAIRequestModelKey), model)
	if e.Decision == "error" {
		s.ErrorType = firstOf(e.ErrorCode, "error")
	}
	s.Attributes = a
	return s
}

func toolCall(e trace.ToolCall) Span {
	s := Span{Name: "capsule.tool_call", Kind: oteltrace.SpanKindInternal}
	a := attrs{attribute.String("tool_name", e.ToolName), attribute.Int64("input_bytes", e.InputBytes), attribute.Int64("output_bytes", e.OutputBytes),
		attribute.Int64("duration_ms", e.DurationMS), attribute.String("status", e.Status),
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(e.ToolName), semconv.GenAIToolType("function")}
	a.text(string(semconv.GenAIToolCallIDKey), e.ToolCallID)
	if e.Status != "ok" {
		s.ErrorType = "tool_error"
	}
	s.Attributes = a
	return s
}

func shell(e trace.Shell) Span {
	s := Span{Name: "capsule.shell", Kind: oteltrace.SpanKindInternal}
	s.Attributes = attrs{attribute.String("command", first200(commandText(e.Command))), attribute.Int64("exit_code", e.ExitCode),
		attribute.Int64("duration_ms", e.DurationMS), semconv.ProcessExecutablePath(e.Binary), attribute.Int64("process.exit.code", e.ExitCode)}
	if e.ExitCode != 0 {
		s.ErrorType = "exit_" + strconv.FormatInt(e.ExitCode, 10)
	}
	return s
}

// commandText is a script's text, or an argument list with spaces between.
func commandText(raw trace.Raw) string {
	v := trace.Value(raw)
	if v.Kind() == '"' {
		return v.Str()
	}
	var words []string
	for w := range v.Elements() {
		words = append(words, w.Str())
	}
	return strings.Join(words, " ")
}

func first200(s string) string {
	n := 0
	for i := range s {
		if n == 200 {
			return s[:i]
		}
		n++
	}
	return s
}

type attrs []attribute.KeyValue

func (a *attrs) count(key string, n *int64) {
	if n != nil {
		*a = append(*a, attribute.Int64(key, *n))
	}
}

func (a *attrs) text(key string, s *string) {
	if s != nil {
		*a = append(*a, attribute.String(key, *s))
	}
}

func (a *attrs) word(key, s string) {
	if s != "" {
		*a = append(*a, attribute.String(key, s))
	}
}

func (a *attrs) gateway(g trace.Gateway) {
	a.word(string(semconv.GenAIProviderNameKey), g.Artifact)
	host, port, err := net.SplitHostPort(g.Host)
	if err != nil {
		host = g.Host
	}
	a.word(string(semconv.ServerAddressKey), host)
	if n, err := strconv.Atoi(port); err == nil {
		*a = append(*a, semconv.ServerPort(n))
	}
}

func either(a, b *int64) *int64 {
	if a != nil {
		return a
	}
	return b
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func at(l *trace.Line) int64 {
	n, _ := l.Get("timestamp").Int()
	return n
}

func id(l *trace.Line) string { return l.Get("event_id").Str() }

func traceID(from string) (t oteltrace.TraceID) {
	sum := sha256.Sum256([]byte("murmur trace " + from))
	copy(t[:], sum[:])
	return t
}

func spanID(from string) (s oteltrace.SpanID) {
	sum := sha256.Sum256([]byte("murmur span " + from))
	copy(s[:], sum[:])
	return s
}

// traceparent reads a W3C trace context; a malformed one is ignored (DEL-1911).
func traceparent(s string) oteltrace.SpanContext {
	parts := strings.Split(s, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || len(parts[3]) != 2 {
		return oteltrace.SpanContext{}
	}
	t, err1 := oteltrace.TraceIDFromHex(parts[1])
	sp, err2 := oteltrace.SpanIDFromHex(parts[2])
	flags, err3 := hex.DecodeString(parts[3])
	if err1 != nil || err2 != nil || err3 != nil {
		return oteltrace.SpanContext{}
	}
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: t, SpanID: sp, TraceFlags: oteltrace.TraceFlags(flags[0]) | oteltrace.FlagsSampled, Remote: true})
}
