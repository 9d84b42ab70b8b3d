package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/agent"
)

// ResultName is where the answer of the last task is, beneath the records
// directory (SES-173).
const ResultName = "out/result.txt"

// Session is what the tasks of a launch share.
type Session struct {
	Document *session.Document
	Home     workfs.Home
	Records  *workfs.Root
	Parts    agent.Parts // without Record, which is a task's
	Frame    agent.Frame // without CacheKey, which is a task's
	Source   Source
	Now      func() time.Time
	// Report tells the operator what went wrong and ended nothing.
	Report func(string)
	// Started is told of each task that begins, its id empty for the run without
	// one.
	Started func(task string)
}

// Outcome is how the session's tasks ended (SES-159).
type Outcome struct {
	Status string // a status of SES section 11
	Reason string // for every status but ok
	Coded  *diag.Error
	// Fatal has ended the session, not a task of it.
	Fatal  error
	Result string // where the answer lies beneath the records directory; "" for none
	Text   string // the answer of the last task that ended ok
}

// Run runs tasks until there is none left or one has ended the session.
func Run(ctx context.Context, s *Session) Outcome {
	out := Outcome{Status: agent.OK}
	for ctx.Err() == nil {
		t, err := s.Source.Next(ctx)
		if err != nil {
			return s.fatal(out, err)
		}
		if t == nil {
			break
		}
		end := s.task(ctx, t)
		s.Source.Done(t)
		out.Result = ResultName
		if end.Status == agent.OK {
			out.Text = end.Result
		}
		if out.Status == agent.OK && end.Status != agent.OK {
			out.Status, out.Reason, out.Coded = end.Status, end.Reason, end.Coded
		}
		if end.Fatal != nil {
			return s.fatal(out, end.Fatal)
		}
	}
	if out.Status == agent.OK && ctx.Err() != nil && out.Result == "" {
		out.Status, out.Reason = agent.Canceled, "the session was ended before its first task"
	}
	return out
}

func (s *Session) fatal(out Outcome, err error) Outcome {
	out.Status, out.Reason, out.Fatal = agent.Failed, err.Error(), err
	_ = errors.As(err, &out.Coded)
	return out
}

// task runs one task from its task_start to its task_end.
func (s *Session) task(ctx context.Context, t *Task) agent.Outcome {
	d := s.Document
	conversation := t.Context
	if conversation == "" && d.ContextID != nil {
		conversation = *d.ContextID
	}
	id := ""
	if t.Source != "" {
		if conversation == "" {
			conversation = ids.New(ids.Context)
		}
		id = ids.New(ids.Task)
	}
	text := s.Parts.Mask(t.Text)
	if id != "" {
		line := trace.TaskStart{
			TaskID: id, ContextID: conversation, Source: t.Source, Origin: t.Origin, Trust: t.Trust, Lane: t.Lane,
			MessagePartsBytes: int64(len(text)),
		}
		if err := s.Parts.Trace.Write(line); err != nil {
			return agent.Outcome{Status: agent.Failed, Fatal: err}
		}
	}
	s.Started(id)
	end := s.attempt(ctx, t, id, conversation, text)
	if err := s.keep(id, end.Result); err != nil && end.Fatal == nil {
		end.Status, end.Fatal = agent.Failed, err
	}
	if id != "" {
		if err := s.Parts.Trace.Write(trace.TaskEnd{TaskID: id, ExitStatus: end.Status}); err != nil && end.Fatal == nil {
			end.Status, end.Fatal = agent.Failed, err
		}
	}
	s.Started("")
	return end
}

// attempt runs the task's one attempt: nothing can reopen it yet.
func (s *Session) attempt(ctx context.Context, t *Task, id, conversation, text string) agent.Outcome {
	d, parts, frame := s.Document, s.Parts, s.Frame
	frame.CacheKey = agent.CacheKey(d.Capsule.Name, d.Capsule.Version, conversation)
	task := agent.Task{
		ID: id, Text: text, MaxTurns: d.Inference.MaxTurns, Threshold: d.Inference.Compaction.Threshold,
	}
	if t.Trust == "untrusted" {
		task.Fence = "task:" + t.Origin
	}
	if m := d.Context.MaxTokens; m != nil {
		task.Window = *m
	}
	if conversation != "" {
		if r := openRecord(d, s.Home, conversation, s.Now, s.Report); r != nil {
			defer r.close()
			parts.Record = r
			if d.Lifecycle.Conversation == "threaded" {
				task.History = r.load()
			}
		}
	}
	return agent.Run(ctx, parts, frame, task)
}

// keep writes a task's result (AGT-79).
func (s *Session) keep(id, text string) error {
	names := []string{ResultName}
	if id != "" && s.Document.Lifecycle.Conversation == "threaded" {
		names = append(names, "out/result_"+id+".txt")
	}
	for _, name := range names {
		if err := s.Records.WriteFileMode(name, []byte(text), 0o644); err != nil {
			return diag.Errorf("E-RUN-007", "the result can not be kept: %w", err).
				Name("path", s.Records.Join(name)).Name("reason", fmt.Sprint(err))
		}
	}
	return nil
}
