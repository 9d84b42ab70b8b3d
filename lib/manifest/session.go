package manifest

import (
	"math"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
)

// The keys of the blocks that say how a session lives and what it keeps
// (sections 8 to 11), each list in declared order.
var (
	contextKeys       = []string{"max_tokens", "record", "record_store", "retain", "seed_budget", "seed_overflow_margin"}
	contextRetainKeys = []string{"max_messages", "max_age"}
	lifecycleKeys     = []string{
		"task_acceptance", "after_task", "queue_depth", "input_timeout_secs", "conversation", "max_task_reopens",
		"shell_grace_secs", "delegation_deadline_secs", "deadline_notice_secs",
	}
	traceKeys         = []string{"capture", "include_tool_output", "retain"}
	traceRetainKeys   = []string{"max_sessions", "max_age"}
	observabilityKeys = []string{"otel_endpoint", "eval"}
	evalKeys          = []string{"dataset_id", "scorers"}
	scorerKeys        = []string{"type", "name", "max", "expected"}
)

func (d *decoder) context(top *block, name string) Context {
	b := top.Sub("context", contextKeys)
	c := Context{
		MaxTokens:   b.Whole("max_tokens", 1, math.MaxInt64),
		Record:      d.record(b),
		RecordStore: name,
	}
	if store, ok := b.Text("record_store"); ok {
		c.RecordStore = store
	}
	c.Retain = d.retain(b, contextRetainKeys)
	c.SeedBudget = b.Fraction("seed_budget", 0.10, true)
	c.SeedOverflowMargin = b.Fraction("seed_overflow_margin", 0.10, true)
	return c
}

// record reads context.record, text whatever YAML 1.1 thinks of on (MAN-19).
func (d *decoder) record(b *block) bool {
	if n := b.Node("record"); n != nil && strictyaml.KindOf(n) == "boolean" {
		d.Mismatch(n, b.At("record"), "string").Hint("write on or off")
		return true
	}
	return b.WordOr("record", "on", "off") == "on"
}

// retain reads a retain block: a bound by count, the first key, and one by age.
// Written with nothing under it, it is refused and never absent (MAN-205).
func (d *decoder) retain(parent *block, keys []string) *Retain {
	if !parent.Has("retain") {
		return nil
	}
	r := &Retain{}
	if parent.Node("retain") != nil {
		b := parent.Sub("retain", keys)
		if b == nil {
			return nil
		}
		r.Max, r.MaxAgeSecs = b.Whole(keys[0], 1, math.MaxInt64), b.Duration(keys[1], "smhd")
	}
	if d.OK() && r.Max == nil && r.MaxAgeSecs == nil {
		parent.Refuse("retain", "the block bounds nothing").Hint("write %s, or leave the block out to keep everything", strictyaml.List(keys))
	}
	return r
}

func (d *decoder) lifecycle(top *block) Lifecycle {
	b := top.Sub("lifecycle", lifecycleKeys)
	return Lifecycle{
		TaskAcceptance:         b.WordDefault("task_acceptance", AcceptSingle, AcceptNone, AcceptSingle, AcceptQueue),
		AfterTask:              b.WordOr("after_task", AfterExit, AfterSleep),
		QueueDepth:             b.WholeOr("queue_depth", 1, 1, math.MaxInt32),
		InputTimeoutSecs:       b.Whole("input_timeout_secs", 1, maxSeconds),
		Conversation:           b.WordOr("conversation", Stateless, Threaded),
		MaxTaskReopens:         b.WholeOr("max_task_reopens", 1, 0, math.MaxInt64),
		ShellGraceSecs:         b.WholeOr("shell_grace_secs", 10, 0, maxSeconds),
		DelegationDeadlineSecs: b.WholeOr("delegation_deadline_secs", 600, 0, maxSeconds),
		DeadlineNoticeSecs:     b.Whole("deadline_notice_secs", 1, maxSeconds),
	}
}

func (d *decoder) trace(top *block) Trace {
	b := top.Sub("trace", traceKeys)
	t := Trace{Capture: b.WordDefault("capture", "meta", "none", "meta", "content")}
	if old := b.Flag("include_tool_output"); old != nil {
		word := "meta"
		if *old {
			word = "content"
		}
		if b.Node("capture") != nil {
			b.Refuse("include_tool_output", "include_tool_output is the older spelling of capture, which is set too").Hint("keep trace.capture alone")
		}
		t.Capture = word
		d.Warn(b.Keys["include_tool_output"], b.At("include_tool_output"), "the key is retired; write trace.capture: %s", word)
	}
	t.Retain = d.retain(b, traceRetainKeys)
	return t
}

func (d *decoder) observability(top *block) Observability {
	b := top.Sub("observability", observabilityKeys)
	o := Observability{OtelEndpoint: b.Trimmed("otel_endpoint")}
	if e := b.Sub("eval", evalKeys); e != nil {
		o.Eval = &Eval{DatasetID: e.Trimmed("dataset_id"), Scorers: d.scorers(e)}
	}
	return o
}

// scorerMax are the scorer types and the default of max, 0 where it is ignored
// (MAN-223, MAN-225).
var scorerMax = map[string]int64{"exit_ok": 0, "max_turns": 10, "max_tokens": 100_000, "tool_sequence": 0, "llm_judge": 0}

func (d *decoder) scorers(parent *block) []Scorer {
	var out []Scorer
	for _, it := range parent.List("scorers") {
		b := d.Open(it.Node, it.Path, scorerKeys)
		if b == nil {
			continue
		}
		s := Scorer{Type: b.Required("type"), Name: b.Trimmed("name"), Expected: b.Texts("expected")}
		limit := b.Whole("max", 0, math.MaxInt64)
		def, known := scorerMax[s.Type]
		if s.Type == "" {
			continue
		}
		if !known {
			d.Warn(b.Keys["type"], b.At("type"), "the scorer type %s is unknown and was skipped", diag.Quote(s.Type))
			continue
		}
		if s.Name == "" {
			s.Name = s.Type
		}
		if s.Max = def; def > 0 && limit != nil {
			s.Max = *limit
		}
		if s.Expected == nil {
			s.Expected = []string{}
		}
		out = append(out, s)
	}
	return out
}
