// Package trace is a session's account of itself: every event of trace.jsonl
// as a typed value (docs/spec/trace.md sections 2 and 3), the writer that
// appends them one line one write, chained and sealed (sections 5 and 8), and
// a tolerant reader (section 6).
//
// What it promises: a line is on its way to the kernel when the call that
// wrote it returns; whatever ends a writer, every line whose call returned is
// whole in the file; several writers, in one process or many, never tear each
// other's lines; what was written is never changed or shortened.
//
// What it never does: decide what happened (the caller says), record a secret
// (the caller must not hand it one; peer handles are replaced here), sort by
// time, or write anywhere but in the records directory it was given.
//
// A session's launch writes through two doors. The Owner, one per launch,
// writes the frame, tasks, turns and calls, keeps the counters and knows the
// current nodes of the event tree. Appenders write everything that happens
// beside the loop. Both end in one Log, the shared chain.
package trace
