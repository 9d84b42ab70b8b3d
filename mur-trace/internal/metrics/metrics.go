// Package metrics is the one definition of every number mur-trace prints of a
// session (TRC section 11.2) and of what a redundant call is (section 12).
//
// A Collector is fed the lines of one session in file order and builds no tree
// of them; its memory grows with the resources the session touched and with
// nothing else.
package metrics

import (
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"
)

// Incomplete is the exit status of a session without a session_end.
const Incomplete = "incomplete"

// Metrics are the numbers of one session, under their JSON names. A nil pointer
// is a metric without a value. Durations and latencies are milliseconds, rates
// fractions from 0 to 1; averages and rates are not rounded (TRC-141).
type Metrics struct {
	Turns                int64            `json:"turns"`
	FailedCalls          int64            `json:"failed_calls"`
	AgentTurns           int64            `json:"agent_turns"`
	MaxTurns             *int64           `json:"max_turns"`
	DurationMS           int64            `json:"duration_ms"`
	InputTokens          int64            `json:"input_tokens"`
	OutputTokens         int64            `json:"output_tokens"`
	TotalTokens          int64            `json:"total_tokens"`
	InputPerTurn         *float64         `json:"input_per_turn"`
	OutputPerTurn        *float64         `json:"output_per_turn"`
	Provider             Provider         `json:"provider"`
	CacheReadRate        *float64         `json:"cache_read_rate"`
	ToolCalls            int64            `json:"tool_calls"`
	ToolOK               int64            `json:"tool_ok"`
	ToolError            int64            `json:"tool_error"`
	ToolSuccessRate      *float64         `json:"tool_success_rate"`
	ToolLatencyMSAvg     *float64         `json:"tool_latency_ms_avg"`
	SkillCalls           int64            `json:"skill_calls"`
	SkillOK              int64            `json:"skill_ok"`
	SkillError           int64            `json:"skill_error"`
	SkillSuccessRate     *float64         `json:"skill_success_rate"`
	SkillLatencyMSAvg    *float64         `json:"skill_latency_ms_avg"`
	ShellCalls           int64            `json:"shell_calls"`
	ShellExitCodes       map[string]int64 `json:"shell_exit_codes"`
	ShellFailed          int64            `json:"shell_failed"`
	ShellLatencyMSAvg    *float64         `json:"shell_latency_ms_avg"`
	ShellDetached        int64            `json:"shell_detached"`
	ShellCompleted       int64            `json:"shell_completed"`
	ShellAbandoned       int64            `json:"shell_abandoned"`
	ShellLost            int64            `json:"shell_lost"`
	RedundantCalls       int64            `json:"redundant_calls"`
	Compactions          int64            `json:"compactions"`
	CompactionsDeclined  int64            `json:"compactions_declined"`
	CompactionLast       *Compaction      `json:"compaction_last"`
	DeniedCalls          int64            `json:"denied_calls"`
	ProtectedPathRefused int64            `json:"protected_path_refusals"`
	SpendRefusals        int64            `json:"spend_refusals"`
	HookFaults           int64            `json:"hook_faults"`
	Reopens              int64            `json:"reopens"`
	Tasks                int64            `json:"tasks"`
	TasksOK              int64            `json:"tasks_ok"`
	Plans                int64            `json:"plans"`
	PlanStepsByStatus    map[string]int64 `json:"plan_steps_by_status"`
	DelegationsByOutcome map[string]int64 `json:"delegations_by_outcome"`
	ExitStatus           string           `json:"exit_status"`
}

// Provider are the provider's own counts, nil where no line reports one.
type Provider struct {
	Input          *int64 `json:"input"`
	Output         *int64 `json:"output"`
	Cached         *int64 `json:"cached"`
	CacheWrite     *int64 `json:"cache_write"`
	Thinking       *int64 `json:"thinking"`
	TurnsReporting int64  `json:"turns_reporting"`
}

// Compaction is the last compaction of a session.
type Compaction struct {
	Turn         int64 `json:"turn"`
	TokensBefore int64 `json:"tokens_before"`
	TokensAfter  int64 `json:"tokens_after"`
}

// Task are the numbers of one task.
type Task struct {
	Turns, InputTokens, OutputTokens, DurationMS int64
}

// Collector counts one session. The zero value is ready; Redundant and Task may
// be set before the first line.
type Collector struct {
	// Redundant is told of each redundant call as it is met; nil when only
	// their number matters.
	Redundant func(Redundant)
	// Task is told of each task that ended; nil when nobody asks.
	Task func(Task)

	m          Metrics
	started    bool
	complete   bool
	process    bool
	startedAt  int64
	lastAt     int64
	counted    trace.Totals
	toolMS     int64
	skillMS    int64
	shellLines int64
	shellMS    int64
	cachedOf   [2]int64 // cached and input over lines that report both
	bothLines  int64
	exitCodes  counts
	planSteps  counts
	outcomes   counts
	inFlight   map[string]bool // delegations without their end
	history    history
}

// Started reports whether a session_start was met.
func (c *Collector) Started() bool { return c.started }

// Complete reports whether a session_end was met.
func (c *Collector) Complete() bool { return c.complete }

// StartedAt is the timestamp of session_start.
func (c *Collector) StartedAt() int64 { return c.startedAt }

// Add counts one line, which the caller has found to be Known and of this
// session.
func (c *Collector) Add(l *trace.Line) {
	c.lastAt, _ = l.Get("timestamp").Int()
	m := &c.m
	switch l.Type() {
	case "session_start":
		if c.started {
			return
		}
		c.started, c.startedAt = true, c.lastAt
		m.MaxTurns = new(intOf(l, "max_turns"))
		c.process = l.Get("tool_refresh").Kind() == 'n' && l.Get("kind").Str() != "script"
	case "session_end":
		c.end(l)
	case "inference":
		c.inference(l)
	case "tool_call":
		c.counted.ToolCalls++
		c.toolMS += intOf(l, "duration_ms")
		tally(l, &m.ToolOK, &m.ToolError)
		c.observe(l, toolCall)
	case "skill_call":
		m.SkillCalls++
		c.skillMS += intOf(l, "duration_ms")
		tally(l, &m.SkillOK, &m.SkillError)
	case "shell":
		c.counted.ShellCalls++
		c.shellLines++
		c.shellMS += intOf(l, "duration_ms")
		c.exitCode(l)
	case "shell_detached":
		c.counted.ShellCalls++
		m.ShellDetached++
	case "shell_completed":
		m.ShellCompleted++
		c.exitCode(l)
	case "shell_abandoned":
		m.ShellAbandoned++
	case "shell_lost":
		m.ShellLost++
	case "compaction":
		m.Compactions++
		m.CompactionLast = &Compaction{intOf(l, "turn"), intOf(l, "tokens_before"), intOf(l, "tokens_after")}
	case "compaction_declined":
		m.CompactionsDeclined++
	case "call_denied":
		m.DeniedCalls++
	case "protected_path_denied":
		m.ProtectedPathRefused++
	case "spend_ceiling_reached":
		m.SpendRefusals++
	case "hook_dispatch_error":
		m.HookFaults++
	case "task_reopened":
		m.Reopens++
	case "task_end":
		m.Tasks++
		if l.Get("exit_status").Str() == "ok" {
			m.TasksOK++
		}
		if c.Task != nil {
			c.Task(Task{intOf(l, "turns"), intOf(l, "input_tokens"), intOf(l, "output_tokens"), intOf(l, "duration_ms")})
		}
	case "plan_end":
		m.Plans++
	case "plan_step":
		c.planSteps.bump(l.Get("status").Str())
		if l.Get("status").Str() == "success" {
			c.observe(l, planStep)
		}
	case "delegation_start":
		if c.inFlight == nil {
			c.inFlight = map[string]bool{}
		}
		c.inFlight[strings.Clone(l.Get("delegation_id").Str())] = true
	case "delegation":
		c.outcomes.bump(l.Get("outcome").Str())
		delete(c.inFlight, l.Get("delegation_id").Str())
	}
}

func (c *Collector) end(l *trace.Line) {
	if c.complete {
		return
	}
	c.complete = true
	m := &c.m
	m.Turns = intOf(l, "total_turns")
	m.InputTokens, m.OutputTokens = intOf(l, "total_input_tokens"), intOf(l, "total_output_tokens")
	m.ToolCalls, m.ShellCalls = intOf(l, "total_tool_calls"), intOf(l, "total_shell_calls")
	m.DurationMS = intOf(l, "duration_ms")
	m.ExitStatus = strings.Clone(l.Get("exit_status").Str())
}

func (c *Collector) inference(l *trace.Line) {
	m := &c.m
	failed := l.Get("decision").Str() == "error"
	if failed {
		m.FailedCalls++
	}
	if !failed || c.process {
		c.counted.Turns++
		c.counted.InputTokens += intOf(l, "input_tokens")
		c.counted.OutputTokens += intOf(l, "output_tokens")
		if l.Get("origin") == nil {
			m.AgentTurns++
		}
	}
	p := &m.Provider
	in := add(&p.Input, l, "input_tokens_actual")
	if in != nil {
		p.TurnsReporting++
	}
	add(&p.Output, l, "output_tokens_actual")
	cached := add(&p.Cached, l, "cached_tokens")
	add(&p.CacheWrite, l, "cache_write_tokens")
	add(&p.Thinking, l, "thinking_tokens")
	if in != nil && cached != nil {
		c.bothLines++
		c.cachedOf[0] += *cached
		c.cachedOf[1] += *in
	}
}

func (c *Collector) exitCode(l *trace.Line) {
	code := intOf(l, "exit_code")
	c.exitCodes.bump(strconv.FormatInt(code, 10))
	if code != 0 {
		c.m.ShellFailed++
	}
}

// Metrics returns the numbers of the lines added so far. Without a session_end
// the totals are those of the lines (TRC-89).
func (c *Collector) Metrics() Metrics {
	m := c.m
	if !c.complete {
		m.ExitStatus = Incomplete
		m.Turns, m.InputTokens, m.OutputTokens = c.counted.Turns, c.counted.InputTokens, c.counted.OutputTokens
		m.ToolCalls, m.ShellCalls = c.counted.ToolCalls, c.counted.ShellCalls
		m.DurationMS = max(0, c.lastAt-c.startedAt)
	}
	m.TotalTokens = m.InputTokens + m.OutputTokens
	m.InputPerTurn, m.OutputPerTurn = ratio(m.InputTokens, m.Turns), ratio(m.OutputTokens, m.Turns)
	if c.bothLines > 0 {
		m.CacheReadRate = ratio(c.cachedOf[0], c.cachedOf[1])
	}
	m.ToolSuccessRate = ratio(m.ToolOK, m.ToolCalls)
	m.ToolLatencyMSAvg = ratio(c.toolMS, m.ToolOK+m.ToolError)
	m.SkillSuccessRate = ratio(m.SkillOK, m.SkillCalls)
	m.SkillLatencyMSAvg = ratio(c.skillMS, m.SkillCalls)
	m.ShellLatencyMSAvg = ratio(c.shellMS, c.shellLines)
	m.ShellExitCodes = c.exitCodes.plain()
	m.PlanStepsByStatus = c.planSteps.plain()
	m.DelegationsByOutcome = c.outcomes.plain()
	if n := len(c.inFlight); n > 0 {
		m.DelegationsByOutcome["in_flight"] = int64(n)
	}
	return m
}

func intOf(l *trace.Line, name string) int64 {
	n, _ := l.Get(name).Int()
	return n
}

func tally(l *trace.Line, ok, other *int64) {
	if l.Get("status").Str() == "ok" {
		*ok++
	} else {
		*other++
	}
}

// add adds a field to a sum that stays nil until a line has the field.
func add(sum **int64, l *trace.Line, name string) *int64 {
	n, ok := l.Get(name).Int()
	if !ok {
		return nil
	}
	if *sum == nil {
		*sum = new(int64)
	}
	**sum += n
	return &n
}

// counts are numbers by name. They are kept behind pointers because assigning
// to a map stores the key again, and the key is in a line's memory, which is
// used again.
type counts map[string]*int64

func (c *counts) bump(key string) {
	n, there := (*c)[key]
	if !there {
		if *c == nil {
			*c = counts{}
		}
		n = new(int64)
		(*c)[strings.Clone(key)] = n
	}
	*n++
}

func (c counts) plain() map[string]int64 {
	out := make(map[string]int64, len(c))
	for k, n := range c {
		out[k] = *n
	}
	return out
}

func ratio(a, b int64) *float64 {
	if b == 0 {
		return nil
	}
	return new(float64(a) / float64(b))
}
