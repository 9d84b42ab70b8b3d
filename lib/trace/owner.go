package trace

import (
	"time"

	"github.com/mur-capsules/mur/lib/diag"
)

// Totals are the counts of a session or a task (TRC-18, TRC-97).
type Totals struct {
	Turns, InputTokens, OutputTokens, ToolCalls, ShellCalls int64
}

// Owner is the one writer of a launch that holds the counters and the event
// tree's current nodes (TRC-77). It is for the goroutine of the task loop.
type Owner struct {
	log       *Log
	process   bool
	nodes     nodes
	total     Totals
	task      Totals
	taskSince time.Time
}

// Owner returns the log's owner; call it once. Under transport process failed
// calls count as turns, under http they do not (TRC-97); a script capsule has
// neither.
func (l *Log) Owner(transport string) *Owner {
	return &Owner{log: l, process: transport == "process"}
}

// tolerated are the events whose failed write ends nothing (TRC-82).
var tolerated = map[Type]bool{"compaction": true, "compaction_declined": true, "context_seed": true, "retention": true}

// Start writes session_start, the first line, and under capture content stores
// the resolved system prompt (empty for none). The containment fields, the hash
// of the prompt and the capture mode are filled in here.
func (o *Owner) Start(e SessionStart, systemPrompt []byte) error {
	if err := e.fill(o.log.opt.Capture, systemPrompt); err != nil {
		return runFailed(err)
	}
	if o.log.opt.Capture == Content && len(systemPrompt) > 0 {
		if _, err := o.log.StoreBlob(systemPrompt); err != nil {
			return runFailed(err)
		}
	}
	_, err := o.Write(e)
	return err
}

// Write appends one event under its place in the tree and returns its event
// id. It fills the duration and counts of TaskEnd and SessionEnd, and leaves
// out what the capture mode does not store. An error carries E-RUN-007 and ends
// the session; a failed write of an event that may be lost is told to
// Options.Survived and returns "" and nil (TRC-82).
func (o *Owner) Write(p Payload) (string, error) {
	now := o.log.opt.Now()
	switch e := p.(type) {
	case TaskEnd:
		e.DurationMS = now.Sub(o.taskSince).Milliseconds()
		e.Turns, e.InputTokens, e.OutputTokens = o.task.Turns, o.task.InputTokens, o.task.OutputTokens
		e.ToolCalls, e.ShellCalls = o.task.ToolCalls, o.task.ShellCalls
		p = e
	case SessionEnd:
		e.DurationMS = now.Sub(o.log.opened).Milliseconds()
		e.TotalTurns, e.TotalInputTokens, e.TotalOutputTokens = o.total.Turns, o.total.InputTokens, o.total.OutputTokens
		e.TotalToolCalls, e.TotalShellCalls = o.total.ToolCalls, o.total.ShellCalls
		p = e
	}
	p = stripped(o.log.opt.Capture, p)
	id, err := o.log.write(event{payload: p, parent: o.nodes.parent(ruleOf(p)), sync: durable[p.Type()]})
	if err != nil {
		if tolerated[p.Type()] {
			o.log.opt.Survived(err)
			return "", nil
		}
		return "", runFailed(err)
	}
	o.nodes = o.nodes.after(p, id)
	switch p.(type) {
	case SessionStart:
		o.log.session = id
	case TaskStart:
		o.task, o.taskSince = Totals{}, now
	}
	o.count(p)
	return id, nil
}

// durable are the events after which the file is synced (TRC-81).
var durable = map[Type]bool{"session_start": true, "task_end": true, "session_end": true}

// WriteTurn writes an agent turn's inference. Under capture meta and content it
// takes the hashes from b, the very bytes handed to and got from the driver
// (TRC-28, TRC-29); under content it stores them. Under transport process pass
// a nil b: the runtime did not build the request (TRC-75).
func (o *Owner) WriteTurn(e Inference, b *Bodies) (string, error) {
	if err := b.record(o.log, &e); err != nil {
		return "", runFailed(err)
	}
	return o.Write(e)
}

// Totals returns what session_end would say now.
func (o *Owner) Totals() Totals { return o.total }

// SessionNode is the event id of session_start, "" before Start.
func (o *Owner) SessionNode() string { return o.nodes.session }

func (o *Owner) count(p Payload) {
	for _, t := range []*Totals{&o.total, &o.task} {
		switch e := p.(type) {
		case Inference:
			if e.Decision == "error" && !o.process {
				continue
			}
			t.Turns++
			t.InputTokens += deref(e.InputTokens)
			t.OutputTokens += deref(e.OutputTokens)
		case ToolCall:
			t.ToolCalls++
		case Shell, ShellDetached:
			t.ShellCalls++
		}
	}
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func runFailed(err error) error {
	return diag.Errorf("E-RUN-007", "a line of the trace was not written: %w", err).
		Hint("look at the free space and the permissions of the records directory").
		Name("reason", err.Error())
}

// Appender writes events that happen beside the task loop: the door's planes,
// credentials, plan steps, delegation watchers (TRC-78). It is safe for
// concurrent use; the zero value drops everything.
type Appender struct {
	log    *Log
	parent string
}

// Appender returns an appender whose events hang from the session node. Call it
// after Owner.Start, so that session_start is the first line (SES-126).
func (l *Log) Appender() Appender { return Appender{log: l, parent: l.session} }

// Under returns an appender whose events hang from the given line, for the
// steps of a plan.
func (a Appender) Under(eventID string) Appender {
	if eventID != "" {
		a.parent = eventID
	}
	return a
}

// Append writes one event and returns its event id. A write that fails is
// dropped and told to Options.Survived: it never turns what it reports into an
// error (TRC-83); the id is then "".
func (a Appender) Append(p Payload) string {
	if a.log == nil {
		return ""
	}
	id, err := a.log.write(event{
		payload:    stripped(a.log.opt.Capture, p),
		parent:     a.parent,
		omitParent: a.parent == "" && appendedByResume[p.Type()],
	})
	if err != nil {
		a.log.opt.Survived(err)
	}
	return id
}

// appendedByResume are the events a resume appends to another session's file;
// they lack parent_id when its session_start could not be read (TRC-10).
var appendedByResume = map[Type]bool{"shell_lost": true, "delegation": true}
