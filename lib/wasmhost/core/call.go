package core

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Manifest keys a LimitReached fault names (MAN-130 to MAN-132).
const (
	keyMemory = "limits.memory_bytes"
	keyTable  = "limits.table_elements"
)

// call is the state of one call of a guest: what its host functions may use and
// what they left behind. One goroutine uses it at a time.
type call struct {
	ctx  context.Context // ends with the deadline
	kind wasmhost.Kind
	in   *wasmhost.Instance
	mem  *linearMemory

	slot     []byte
	handles  map[int32]*httpHandle
	lastID   int32
	reactor  bool
	response []byte // of respond; nil before it

	exited bool // the guest called proc_exit
	status uint32
	fault  *wasmhost.Fault // why a host function ended the guest
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

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

// guard turns a panic of a host function into a fault and ends the guest. It is
// deferred around every host function and every writer of the caller's.
func (c *call) guard() {
	r := recover()
	if r == nil {
		return
	}
	if err, ok := r.(error); !ok || !errors.Is(err, errEnded) {
		if c.fault == nil {
			c.fault = &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: fmt.Errorf("panic: %v", r)}
		}
		panic(errEnded)
	}
	panic(r)
}

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
	}
	var re runtime.Error
	if errors.As(err, &re) { // a panic in wazero's own functions
		return &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: re}
	}
	return c.blame(&wasmhost.Fault{Cause: wasmhost.Trapped, Err: trapText(err)})
}

// blame replaces the way a guest failed by the growth it was refused (CON-263).
func (c *call) blame(f *wasmhost.Fault) *wasmhost.Fault {
	switch f.Cause {
	case wasmhost.HostPanic, wasmhost.Canceled, wasmhost.LimitReached:
		return f
	}
	if c.mem.refused {
		return c.memoryFault()
	}
	return f
}

func (c *call) memoryFault() *wasmhost.Fault {
	return &wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: keyMemory,
		Err: fmt.Errorf("it asked for more than %d bytes of memory", c.mem.limit)}
}

// trapText keeps the line that names the trap and drops wazero's stack trace.
func trapText(err error) error {
	var ee *sys.ExitError
	if errors.As(err, &ee) {
		// Closed by something else than proc_exit or the context.
		return fmt.Errorf("the instance was closed")
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(strings.TrimPrefix(line, "wasm error: "))
}
