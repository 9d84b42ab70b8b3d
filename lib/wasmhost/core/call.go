package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
	"github.com/mur-capsules/mur/lib/wasmhost/core/wasip1"
)

// call is the state of one call of a guest: what its host functions may use and
// what they left behind. One goroutine uses it at a time.
type call struct {
	ctx    context.Context // ends with the deadline
	kind   wasmhost.Kind
	in     *wasmhost.Instance
	limits wasmhost.Limits // without zeros
	inst   runner.Instance

	std  stdio
	wasi *wasip1.Host

	slot     []byte
	handles  map[int32]*httpHandle
	lastID   int32
	reactor  bool
	response []byte // of respond; nil before it

	exited bool // the guest called proc_exit
	status uint32
	fault  *wasmhost.Fault // why a host function ended the guest
}

// errEnded unwinds a guest that a host function ends; the reason is in
// call.fault, call.exited or the context.
var errEnded = errors.New("ended by the host")

// end ends the guest with a fault. It does not return.
func (c *call) end(f *wasmhost.Fault) {
	if c.fault == nil {
		c.fault = f
	}
	panic(errEnded)
}

// note keeps what a host function panicked with, unless it is the way to end the
// guest.
func (c *call) note(r any) {
	if err, ok := r.(error); ok && errors.Is(err, errEnded) || c.fault != nil {
		return
	}
	c.fault = &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: fmt.Errorf("panic: %v", r)}
}

// within sets the time of what the guest does next.
func (c *call) within(ctx context.Context) { c.ctx, c.wasi.Context = ctx, ctx }

// withDeadline bounds one phase of a call; a zero deadline is the default one.
func withDeadline(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		d = wasmhost.DefaultLimits().Deadline
	}
	return context.WithTimeoutCause(parent, d, errDeadline)
}

// errDeadline is the cause of a context whose own time is over, unlike one
// whose parent ended.
var errDeadline = errors.New("the deadline passed")

// outcome says how a phase ended: nil when the guest returned, or exited with
// status 0. The order is that of the package comment.
func (c *call) outcome(ctx context.Context, err error) *wasmhost.Fault {
	var f *wasmhost.Fault
	if !errors.As(err, &f) {
		f = &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: err}
	}
	switch {
	case c.fault != nil:
		return c.blame(c.fault)
	case c.exited && c.status == 0:
		return nil
	case c.exited:
		return c.blame(&wasmhost.Fault{Cause: wasmhost.Exited, Status: int(c.status)})
	case err == nil:
		return nil
	case ctx.Err() != nil:
		cause := context.Cause(ctx)
		if errors.Is(cause, errDeadline) {
			return c.blame(&wasmhost.Fault{Cause: wasmhost.DeadlinePassed})
		}
		return &wasmhost.Fault{Cause: wasmhost.Canceled, Err: cause}
	case f.Cause == wasmhost.LimitReached && f.Limit == runner.Table:
		return &wasmhost.Fault{Cause: f.Cause, Limit: f.Limit,
			Err: fmt.Errorf("it starts with a table of more than %d elements", c.limits.TableElements)}
	}
	return c.blame(f)
}

// blame replaces the way a guest failed by the growth it was refused (CON-263).
func (c *call) blame(f *wasmhost.Fault) *wasmhost.Fault {
	switch f.Cause {
	case wasmhost.HostPanic, wasmhost.Canceled:
		return f
	}
	if c.inst.Refused() {
		return &wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: runner.Memory,
			Err: fmt.Errorf("it asked for more than %d bytes of memory", c.limits.MemoryBytes)}
	}
	return f
}
