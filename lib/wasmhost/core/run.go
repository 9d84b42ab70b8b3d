package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/wasip1"
)

// The second argument of a command and the op of a reactor (WIT-46, WIT-52,
// WIT-55).
const (
	opTool    = "tool-run"
	opCapsule = "capsule-run"
)

// RunTool calls a tool or driver in an instance of its own (WIT-46 to WIT-51,
// WIT-55, WIT-56).
func (g *Guest) RunTool(ctx context.Context, in *wasmhost.Instance, input wasmhost.ToolInput) (wasmhost.ToolResult, error) {
	var none wasmhost.ToolResult
	if g.kind != wasmhost.Tool && g.kind != wasmhost.Driver {
		return none, &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: fmt.Errorf("a guest of kind %s is called as a tool", g.kind)}
	}
	arg, err := json.Marshal(input)
	if err != nil {
		return none, &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: err}
	}
	var stdout *resultBuffer
	c, fault := g.run(ctx, in, opTool, arg, func(c *call) stdio {
		stdout = &resultBuffer{c: c}
		return stdio{in: bytes.NewReader(arg), out: stdout, err: &errorStream{out: c.stream(in.Stderr), left: maxLog}}
	})
	if fault != nil {
		return none, fault
	}
	out := stdout.b
	if c.reactor {
		out = c.response
	}
	res, err := ParseResult(out)
	if err != nil {
		return none, c.blame(&wasmhost.Fault{Cause: wasmhost.BadOutput, Err: err})
	}
	return res, nil
}

// RunCapsule calls a script capsule (WIT-52).
func (g *Guest) RunCapsule(ctx context.Context, in *wasmhost.Instance) error {
	if g.kind != wasmhost.Capsule {
		return &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: fmt.Errorf("a guest of kind %s is called as a script capsule", g.kind)}
	}
	_, fault := g.run(ctx, in, opCapsule, []byte("null"), func(c *call) stdio {
		return stdio{in: strings.NewReader(""), out: c.stream(in.Stdout), err: &errorStream{out: c.stream(in.Stderr), left: -1}}
	})
	if fault != nil {
		return fault
	}
	return nil
}

type stdio struct {
	in  io.Reader
	out io.Writer
	err *errorStream
}

// run makes an instance, calls it and takes it down. The instance and the call
// each get the full time (TOL-105).
func (g *Guest) run(ctx context.Context, in *wasmhost.Instance, op string, input []byte, streams func(*call) stdio) (*call, *wasmhost.Fault) {
	hostFault := func(err error) (*call, *wasmhost.Fault) {
		return nil, &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: err}
	}
	done, err := g.begin()
	if err != nil {
		return hostFault(err)
	}
	defer done()
	c := &call{
		kind: g.kind, in: in, limits: withDefaults(in.Limits), reactor: g.shape == Reactor,
		handles: map[int32]*httpHandle{},
	}
	defer func() {
		for _, h := range c.handles {
			h.close()
		}
	}()
	c.std = streams(c)
	c.wasi = wasip1.New(wasiConfig(in, op, c.std))
	defer c.wasi.Close()
	if c.inst, err = g.program.New(c.limits, c); err != nil {
		return hostFault(err)
	}
	defer c.inst.Close()

	ictx, cancel := withDeadline(ctx, c.limits.Deadline)
	defer cancel()
	c.within(ictx)
	err = c.inst.Start(ictx)
	if err == nil && c.reactor {
		_, err = c.inst.Call(ictx, exportInitialize)
	}
	if f := c.outcome(ictx, err); f != nil || c.exited {
		return c, c.withStderr(f)
	}

	cctx, cancel := withDeadline(ctx, c.limits.Deadline)
	defer cancel()
	c.within(cctx)
	if c.reactor {
		err = c.handle(cctx, op, input)
	} else {
		_, err = c.inst.Call(cctx, exportStart)
	}
	return c, c.withStderr(c.outcome(cctx, err))
}

// handle is one call of a reactor (WIT-55).
func (c *call) handle(ctx context.Context, op string, input []byte) error {
	request, err := json.Marshal(struct {
		Op    string          `json:"op"`
		Input json.RawMessage `json:"input"`
	}{op, input})
	if err != nil {
		return err
	}
	c.slot = request
	ret, err := c.inst.Call(ctx, exportHandle)
	if err != nil || c.exited {
		return err
	}
	switch {
	case int32(uint32(ret)) != 0:
		c.fault = &wasmhost.Fault{Cause: wasmhost.BadOutput, Err: fmt.Errorf("murmur_handle returned %d", int32(uint32(ret)))}
	case c.response == nil:
		c.fault = &wasmhost.Fault{Cause: wasmhost.BadOutput, Err: errors.New("respond was not called")}
	}
	return nil
}

// withStderr gives an exit its standard error (WIT-48). A reactor that leaves
// through exit has not answered, whatever its status.
func (c *call) withStderr(f *wasmhost.Fault) *wasmhost.Fault {
	if f == nil && c.exited && c.reactor {
		f = c.blame(&wasmhost.Fault{Cause: wasmhost.BadOutput, Err: errors.New("the guest exited without an answer")})
	}
	if f != nil && f.Cause == wasmhost.Exited {
		f.Stderr = strings.ToValidUTF8(string(c.std.err.tail), "\uFFFD")
	}
	return f
}

func withDefaults(l wasmhost.Limits) wasmhost.Limits {
	d := wasmhost.DefaultLimits()
	if l.MemoryBytes == 0 {
		l.MemoryBytes = d.MemoryBytes
	}
	if l.Instances == 0 {
		l.Instances = d.Instances
	}
	if l.TableElements == 0 {
		l.TableElements = d.TableElements
	}
	if l.Deadline <= 0 {
		l.Deadline = d.Deadline
	}
	return l
}
