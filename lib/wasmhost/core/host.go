package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/mur-capsules/mur/lib/wasmhost"
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
var hostFuncs = map[string]func(c *call, m api.Memory, a []uint32) int32{
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

// instantiateHost provides murmur:core and WASI in one runtime. The functions
// find their call in the context the guest is called with.
func instantiateHost(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(Interface)
	for name, f := range hostFuncs {
		params := make([]api.ValueType, strings.Index(string(coreSignatures[name]), ":"))
		for i := range params {
			params[i] = api.ValueTypeI32
		}
		b.NewFunctionBuilder().
			WithGoModuleFunction(hostFunc(f), params, []api.ValueType{api.ValueTypeI32}).
			Export(name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return err
	}
	return instantiateWASI(ctx, r)
}

func hostFunc(f func(*call, api.Memory, []uint32) int32) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		c := callOf(ctx)
		defer c.guard()
		var args [4]uint32
		n := copyArgs(args[:], stack)
		code := f(c, mod.Memory(), args[:n])
		if c.ctx.Err() != nil {
			panic(errEnded) // whatever the function says: the time is over
		}
		stack[0] = uint64(uint32(code))
	}
}

func copyArgs(args []uint32, stack []uint64) int {
	n := min(len(args), len(stack))
	for i := range n {
		args[i] = uint32(stack[i])
	}
	return n
}

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
func text(m api.Memory, ptr, n uint32) (string, bool) {
	b, ok := m.Read(ptr, n)
	if !ok || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

// object reads a JSON argument; nothing at all stands for an empty object.
func object(m api.Memory, ptr, n uint32, into any) error {
	b, ok := m.Read(ptr, n)
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

func slotLen(c *call, _ api.Memory, _ []uint32) int32 { return int32(len(c.slot)) }

func slotRead(c *call, m api.Memory, a []uint32) int32 {
	buf, ok := m.Read(a[0], a[1])
	if !ok {
		return c.fail(codeInvalid, "%v", errRange)
	}
	n := copy(buf, c.slot)
	c.slot = c.slot[n:]
	return int32(n)
}

func emitChunk(c *call, m api.Memory, a []uint32) int32 {
	if c.kind != wasmhost.Tool && c.kind != wasmhost.Driver {
		return c.fail(codeUnavailable, "only a tool or driver emits chunks")
	}
	s, ok := text(m, a[1], a[2])
	if !ok || a[0] > uint32(wasmhost.ThinkingChunk) {
		return c.fail(codeInvalid, "a chunk is kind 0 or 1 and UTF-8 text inside memory")
	}
	if c.in.Imports.EmitChunk != nil {
		c.in.Imports.EmitChunk(wasmhost.ChunkKind(a[0]), s)
	}
	return codeOK
}

func requestInput(c *call, m api.Memory, a []uint32) int32 {
	if c.kind != wasmhost.Tool || c.in.Imports.RequestInput == nil {
		return c.fail(codeUnavailable, "nobody can be asked: the tool does not run inside a task that takes input")
	}
	prompt, ok := text(m, a[0], a[1])
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

func invokeTool(c *call, m api.Memory, a []uint32) int32 {
	if c.kind != wasmhost.Capsule || c.in.Imports.Invoke == nil {
		return c.fail(codeUnavailable, "only a script capsule invokes tools")
	}
	name, ok := text(m, a[0], a[1])
	if !ok {
		return c.fail(codeInvalid, "a tool name is UTF-8 text inside memory")
	}
	var input wasmhost.ToolInput
	if err := object(m, a[2], a[3], &input); err != nil {
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

func respond(c *call, m api.Memory, a []uint32) int32 {
	if !c.reactor {
		return c.fail(codeUnavailable, "a command answers on its standard output")
	}
	b, ok := m.Read(a[0], a[1])
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
