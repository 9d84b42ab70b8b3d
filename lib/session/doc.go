// Package session holds what staging and everything after it agree on: the
// staged-session document "murmur.session/1" (SES section 4), the directories
// of a session (SES section 2), the addresses people name a session by (SES-10)
// and the running records that say which sessions are alive (SES section 13).
//
// mur-stage fills a Document and writes it; mur-launch and mur-shell read it,
// verify what it names and run it. The document grants exactly what it says, so
// the reader is strict: an unknown, missing, repeated or misspelt member, a
// null where a value belongs, or another schema is refused and nothing of the
// document is used. A document never holds the value of a secret; it names
// where one is found (SES-83, SES-84).
//
// Package session decides no grant, runs no guest and starts no command.
package session
