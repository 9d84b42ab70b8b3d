// Package launch runs one staged session from its document to its records: it
// takes the session's lock, proves that everything the document names is what
// was staged, opens the trace, runs the capsule and tears everything down again
// (docs/spec/session.md sections 5 and 9).
//
// It promises that a session is launched at most once; that a refusal before
// session_start leaves nothing but the records directory's empty folders
// (SES-104); that whatever ends a session after session_start, session_end is
// the last line of its trace, the running record goes and the session directory
// is removed last (SES-134); and that a signal ends the guest at once and the
// session in that same order.
//
// Script capsules and agent capsules have the same opening and the same ending;
// what they do between is capsule in run.go and agent in agent.go. An agent
// capsule has no door yet: it runs the task it was staged or launched with.
//
// It never reads a manifest, a lock or a store, and never grants what the
// document does not.
package launch
