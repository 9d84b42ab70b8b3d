// Package schema holds the JSON Schema (draft 2020-12) of the staged-session
// document, for programs that read or write one without this library. It says
// which members there are and what shape each has; rules between members are in
// SES section 4 and checked by package session.
package schema

import _ "embed"

// Session is the schema of murmur.session/1.
//
//go:embed murmur.session.1.json
var Session []byte
