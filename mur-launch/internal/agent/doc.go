// Package agent is an agent capsule's loop over one task: the request a driver
// is handed (message.go, prompt.go, payload.go), what its answer means
// (answer.go), one turn after the other (attempt.go) and the tool calls of a
// turn (calls.go), in the order of docs/spec/agent.md sections 4 to 9.
//
// It promises that equal state makes an equal request, byte for byte, and that a
// request begins with the bytes of the one before as far as its last message;
// that every tool call in the conversation has exactly one result, in order,
// whatever became of it; that no call is made without an admission; and that an
// attempt ends in exactly one of the six endings.
//
// What an attempt works with are interfaces (seams.go), so that a door, hooks
// and plans can be put behind it. The package opens no file and no connection.
package agent
