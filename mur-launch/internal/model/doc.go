// Package model asks an agent's model: the driver's call (driver.go), the
// gateway its requests go through (gateway.go) and the credential that is put on
// them there (credential.go).
//
// It promises that a key is attached by the runtime alone, to requests for the
// gateway's authority made in the one call that was admitted, and to no other;
// that it is read again before every keyed request where it can be; that a
// provider's answer reaches the guest without it; and that no message of the
// package holds it (docs/spec/agent.md sections 16 and 17).
//
// It decides nothing about turns: that is package agent.
package model
