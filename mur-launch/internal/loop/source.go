package loop

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// MaxTask bounds the bytes of a task.
const MaxTask = 16 << 20

// Task is one unit of work.
type Task struct {
	Text    string
	Source  string // of task_start; empty for the run with the empty task
	Origin  string
	Trust   string
	Lane    string
	Context string // the id it came with, or empty
}

// Source says what is to be done next. Nil is nothing more: the session ends.
type Source interface {
	Next(ctx context.Context) (*Task, error)
	// Done is told that the task is over.
	Done(*Task)
}

// fileSource has the task of the runtime directory and no other: without a door
// nobody can send one (SES-143, SES-150, SES-151).
type fileSource struct {
	doc     *session.Document
	runtime *workfs.Root
	say     func(string)
	asked   bool
}

// FromFile returns the source of a session without a door. Say tells the
// operator something.
func FromFile(d *session.Document, runtime *workfs.Root, say func(string)) Source {
	return &fileSource{doc: d, runtime: runtime, say: say}
}

func (s *fileSource) Next(context.Context) (*Task, error) {
	if s.asked {
		return nil, nil
	}
	s.asked = true
	text, err := s.runtime.ReadFile(session.TaskName, MaxTask)
	if errors.Is(err, fs.ErrNotExist) {
		return s.none(), nil
	}
	if err != nil {
		return nil, workfs.Fault(err, "cannot read the task")
	}
	return &Task{
		Text: strings.ToValidUTF8(string(text), "\ufffd"), Source: "task_md", Origin: "user", Trust: "trusted", Lane: "user",
	}, nil
}

// none is what a session without a task does: under none nothing, else the loop
// runs once with the empty task, at once, since there is no message to wait for
// (SES-154).
func (s *fileSource) none() *Task {
	if s.doc.Lifecycle.TaskAcceptance == "none" {
		return nil
	}
	s.say("there is no task (--task, task.md or input.txt), and no door to wait at for one: the agent runs without")
	return &Task{Trust: "trusted"}
}

// Done deletes the task's file under queue, where the next one would come
// (SES-151).
func (s *fileSource) Done(t *Task) {
	if t.Source != "" && s.doc.Lifecycle.TaskAcceptance == "queue" {
		_ = s.runtime.Remove(session.TaskName)
	}
}

// Import copies the work folder's task.md, else its input.txt, into the runtime
// directory (SES-140, SES-141). A link is refused through the latch, another
// file that can not be read is E-IO-003.
func Import(work, runtime *workfs.Root) error {
	for _, name := range []string{session.TaskName, "input.txt"} {
		text, err := work.ReadFile(name, MaxTask)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			if latched := work.Latch().Err(); latched != nil {
				return latched
			}
			return diag.Errorf("E-IO-003", "the task %s can not be read: %w", work.Join(name), err).
				About(diag.Subject{Kind: diag.Path, Name: work.Join(name)}).Name("path", work.Join(name)).Name("reason", err.Error())
		}
		return WriteTask(runtime, text)
	}
	return nil
}

// WriteTask makes text the task of the runtime directory.
func WriteTask(runtime *workfs.Root, text []byte) error {
	return workfs.Fault(runtime.WriteFileMode(session.TaskName, text, 0o644), "cannot write the task")
}
