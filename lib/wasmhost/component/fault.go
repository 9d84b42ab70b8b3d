package component

import (
	"errors"
	"io"
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// limitKeys names limits as the manifest does.
var limitKeys = map[wasmtime.Limit]string{
	wasmtime.MemoryBytes:   "limits.memory_bytes",
	wasmtime.TableElements: "limits.table_elements",
	wasmtime.Instances:     "limits.instances",
}

// fault says for the contract how a call ended. wasmtime.Error has already put
// the possible reasons into the order of CON-263; over is the call's own end.
func fault(err error, over *deadline, s *streams) *wasmhost.Fault {
	var e *wasmtime.Error
	if !errors.As(err, &e) {
		return &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: err}
	}
	switch e.Kind {
	case wasmtime.LimitHit:
		if key, ok := limitKeys[e.Limit]; ok {
			return &wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: key}
		}
		return &wasmhost.Fault{Cause: wasmhost.Trapped, Err: errors.New("the guest holds too many resources")}
	case wasmtime.Interrupted:
		if errors.Is(e.Err, over) {
			return &wasmhost.Fault{Cause: wasmhost.DeadlinePassed}
		}
		return &wasmhost.Fault{Cause: wasmhost.Canceled, Err: e.Err}
	case wasmtime.Exited:
		return &wasmhost.Fault{Cause: wasmhost.Exited, Status: e.Status, Stderr: s.tail()}
	case wasmtime.HostError:
		return &wasmhost.Fault{Cause: wasmhost.Trapped, Err: e.Err}
	case wasmtime.HostPanic:
		return &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: e.Err}
	}
	return &wasmhost.Fault{Cause: wasmhost.Trapped, Err: err}
}

// tailBytes is how much of standard error a Fault carries (WIT-48).
const tailBytes = 4 << 10

// streams hands on what a guest prints and keeps the end of its standard error.
// The output of a tool or driver goes where its standard error goes (WIT-70).
type streams struct {
	out, err io.Writer

	mu   sync.Mutex // a write that outlived its call may still run
	last []byte
}

func newStreams(in *wasmhost.Instance, kind wasmhost.Kind) *streams {
	s := &streams{out: in.Stdout}
	s.err = &tee{s, in.Stderr}
	if kind != wasmhost.Capsule {
		s.out = in.Stderr
	}
	return s
}

func (s *streams) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.last)
}

func (s *streams) keep(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b) >= tailBytes {
		s.last = append(s.last[:0], b[len(b)-tailBytes:]...)
		return
	}
	if over := len(s.last) + len(b) - tailBytes; over > 0 {
		s.last = append(s.last[:0], s.last[over:]...)
	}
	s.last = append(s.last, b...)
}

// tee keeps what it hands on; w may be nil.
type tee struct {
	s *streams
	w io.Writer
}

func (t *tee) Write(b []byte) (int, error) {
	t.s.keep(b)
	if t.w == nil {
		return len(b), nil
	}
	return t.w.Write(b)
}
