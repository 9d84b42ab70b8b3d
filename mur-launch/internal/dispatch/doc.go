// Package dispatch is the tools of an agent's loop: what the model is offered
// (inventory.go), what a call stands for and who answers it (resolve.go,
// desk.go), and the fence around what an answer says (fence.go).
//
// It promises that the offered array has the same bytes for the same staged
// tools; that a call is resolved once and what was resolved is what runs; that
// each call has exactly one answer, whatever becomes of it; and that no text of
// a tool reaches the model outside a fence (docs/spec/tools.md).
//
// It writes no line of the trace, asks no gate and keeps no conversation: that
// is package agent.
package dispatch
