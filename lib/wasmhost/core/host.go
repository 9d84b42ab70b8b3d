package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
	"github.com/mur-capsules/mur/lib/wasmhost/core/wasip1"
)

// Results of murmur:core functions (WIT section 5).
const (
	codeOK          = 0
	codeInvalid     = -1
	codeDenied      = -2
	codeUnavailable = -3
	codeNotFound    = -4
	codeTransport   = -5
	codeTooLarge    = -6
	codeTimeout     = -7
	codeCancelled   = -8
	codeInternal    = -9
)

// hostFuncs are the functions of murmur:core@0.1.0. Each takes the call, the
// guest's memory and its arguments, and returns a result code.
var hostFuncs = map[string]func(c *call, m memory, a args) int32{
	"slot_len":      slotLen,
	"slot_read":     slotRead,
	"http_open":     httpOpen,
	"http_read":     httpRead,
	"http_close":    httpClose,
	"emit_chunk":    emitChunk,
	"request_input": requestInput,
	"invoke_tool":   invokeTool,
	"call":          callOperation,
	"respond":       respond,
}

// funcs are all host functions of core modules, each for the *call of its
// instance.
func funcs() []runner.Func {
	var out []runner.Func
	for name, f := range hostFuncs {
		out = append(out, runner.Func{Module: Interface, Name: name, Type: coreSignatures[name], Call: hostFunc(f)})
	}
	for _, f := range wasip1.Funcs() {
		out = append(out, runner.Func{Module: wasip1.Module, Name: f.Name, Type: sections.Signature(f.Type), Call: wasiFunc(f)})
	}
	return out
}

func hostFunc(f func(*call, memory, args) int32) func(any, []byte, []uint64) bool {
	return guarded(func(c *call, mem memory, words []uint64) (end bool) {
		code := f(c, mem, words)
		if c.ctx.Err() != nil {
			return true // whatever the function says: the time is over
		}
		words[0] = uint64(uint32(code))
		return false
	})
}

// guarded turns a panic of a host function, or of a stream of the caller's, into a
// fault and ends the guest.
func guarded(f func(c *call, mem memory, words []uint64) (end bool)) func(any, []byte, []uint64) bool {
	return func(host any, mem []byte, words []uint64) (end bool) {
		c := host.(*call)
		defer func() {
			if r := recover(); r != nil {
				c.note(r)
				end = true
			}
		}()
		return f(c, mem, words)
	}
}

// memory is what a guest has of it during one host call.
type memory []byte

// read is the range a guest named, not a copy; false when it lies outside.
func (m memory) read(ptr, n uint32) ([]byte, bool) {
	end := uint64(ptr) + uint64(n)
	if end > uint64(len(m)) {
		return nil, false
	}
	return m[ptr:end:end], true
}

// args are the arguments of a host function, all of them 32 bits wide.
type args []uint64

func (a args) u32(i int) uint32 { return uint32(a[i]) }
func (a args) i32(i int) int32  { return int32(uint32(a[i])) }

// fail puts one line into the slot that says why, and returns code (WIT-38).
func (c *call) fail(code int32, format string, args ...any) int32 {
	c.slot = []byte(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	return code
}

// fill puts the JSON of v into the slot (WIT-40).
func (c *call) fill(v any) int32 {
	b, err := json.Marshal(v)
	if err != nil {
		return c.fail(codeInternal, "the answer can not be written as JSON: %v", err)
	}
	return c.fillBytes(b)
}

func (c *call) fillBytes(b []byte) int32 {
	if len(b) > maxOutput {
		return c.fail(codeTooLarge, "the answer has %d bytes, more than %d", len(b), maxOutput)
	}
	c.slot = b
	return codeOK
}

// failWith turns an error of the runtime into a result code.
func (c *call) failWith(err error) int32 {
	code := int32(codeInternal)
	switch {
	case errors.Is(err, wasmhost.ErrDenied):
		code = codeDenied
	case errors.Is(err, fs.ErrNotExist):
		code = codeNotFound
	case errors.Is(err, context.DeadlineExceeded):
		code = codeTimeout
	case errors.Is(err, context.Canceled):
		code = codeCancelled
	}
	return c.fail(code, "%v", err)
}

// text copies a string argument out of guest memory.
func text(m memory, ptr, n uint32) (string, bool) {
	b, ok := m.read(ptr, n)
	if !ok || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

// object reads a JSON argument; nothing at all stands for an empty object.
func object(m memory, ptr, n uint32, into any) error {
	b, ok := m.read(ptr, n)
	if !ok {
		return errRange
	}
	if n == 0 {
		return nil
	}
	if !utf8.Valid(b) {
		return errors.New("the input is not UTF-8")
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("the input is not the JSON expected: %w", plain(err))
	}
	return nil
}

var errRange = errors.New("a range lies outside memory")

func slotLen(c *call, _ memory, _ args) int32 { return int32(len(c.slot)) }

func slotRead(c *call, m memory, a args) int32 {
	buf, ok := m.read(a.u32(0), a.u32(1))
	if !ok {
		return c.fail(codeInvalid, "%v", errRange)
	}
	n := copy(buf, c.slot)
	c.slot = c.slot[n:]
	return int32(n)
}

func emitChunk(c *call, m memory, a args) int32 {
	if c.kind != wasmhost.Tool && c.kind != wasmhost.Driver {
		return c.fail(codeUnavailable, "only a tool or driver emits chunks")
	}
	s, ok := text(m, a.u32(1), a.u32(2))
	if !ok || a.u32(0) > uint32(wasmhost.ThinkingChunk) {
		return c.fail(codeInvalid, "a chunk is kind 0 or 1 and UTF-8 text inside memory")
	}
	if c.in.Imports.EmitChunk != nil {
		c.in.Imports.EmitChunk(wasmhost.ChunkKind(a.u32(0)), s)
	}
	return codeOK
}

func requestInput(c *call, m memory, a args) int32 {
	if c.kind != wasmhost.Tool || c.in.Imports.RequestInput == nil {
		return c.fail(codeUnavailable, "nobody can be asked: the tool does not run inside a task that takes input")
	}
	prompt, ok := text(m, a.u32(0), a.u32(1))
	if !ok {
		return c.fail(codeInvalid, "a prompt is UTF-8 text inside memory")
	}
	answer, err := c.in.Imports.RequestInput(c.ctx, prompt)
	if err != nil && c.ctx.Err() == nil {
		// No answer will come: the guest ends, the runtime reports why (WIT-28).
		c.end(&wasmhost.Fault{Cause: wasmhost.Trapped, Err: err})
	}
	return c.fillBytes([]byte(answer))
}

func invokeTool(c *call, m memory, a args) int32 {
	if c.kind != wasmhost.Capsule || c.in.Imports.Invoke == nil {
		return c.fail(codeUnavailable, "only a script capsule invokes tools")
	}
	name, ok := text(m, a.u32(0), a.u32(1))
	if !ok {
		return c.fail(codeInvalid, "a tool name is UTF-8 text inside memory")
	}
	var input wasmhost.ToolInput
	if err := object(m, a.u32(2), a.u32(3), &input); err != nil {
		return c.fail(codeInvalid, "%v", err)
	}
	res, err := c.in.Imports.Invoke(c.ctx, name, input)
	if err != nil {
		return c.failWith(err)
	}
	if res.Metadata == nil {
		res.Metadata = [][2]string{} // a WIT list is an array, never null (WIT-57)
	}
	return c.fill(res)
}

func respond(c *call, m memory, a args) int32 {
	if !c.reactor {
		return c.fail(codeUnavailable, "a command answers on its standard output")
	}
	b, ok := m.read(a.u32(0), a.u32(1))
	if !ok {
		return c.fail(codeInvalid, "%v", errRange)
	}
	if len(b) > maxOutput {
		return c.fail(codeTooLarge, "the response has %d bytes, more than %d", len(b), maxOutput)
	}
	if c.response != nil {
		c.end(&wasmhost.Fault{Cause: wasmhost.BadOutput, Err: errors.New("respond was called twice")})
	}
	c.response = append([]byte{}, b...)
	return codeOK
}
