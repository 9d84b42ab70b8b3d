// Package schema holds the JSON Schemas of a line of trace.jsonl and of a seal.
// The trace's is made from the event types (see schema_test.go of package
// trace), so the two can not disagree; both allow members they do not name,
// since a reader tolerates them.
package schema

import _ "embed"

// Line is the schema of one line of a trace (TRC sections 1 and 3).
//
//go:embed murmur.trace.1.json
var Line []byte

// Seal is the schema of a seal (TRC-112).
//
//go:embed murmur.seal.1.json
var Seal []byte
