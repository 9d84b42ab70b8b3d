// Package loop runs the tasks of one agent session: where a task comes from
// (source.go), one task from task_start to task_end (task.go), the conversation
// that outlives it (record.go), and which ending is the session's
// (docs/spec/session.md sections 6 and 11).
//
// It promises that a started task ends in exactly one task_end, that its result
// is in out/result.txt whatever the ending, and that no later task replaces the
// session's first failure.
//
// It opens no door: the next task is asked of a Source, behind which one can
// stand.
package loop
