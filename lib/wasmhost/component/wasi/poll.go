package wasi

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

var typePollable = wasmtime.NewResourceType()

// maxPoll is the most pollables one call may name; a handle may be named twice.
const maxPoll = 16384

// source is what a pollable watches: ready returns nil when it is ready, else
// a channel that closes when it is worth asking again.
type source interface{ ready() <-chan struct{} }

// always is a source that is ready at any time.
type always struct{}

func (always) ready() <-chan struct{} { return nil }

// wait returns when src is ready; the error is a trap, that of the context.
func wait(ctx context.Context, src source) error {
	for {
		ch := src.ready()
		if ch == nil {
			return nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return trap{context.Cause(ctx)}
		}
	}
}

// waitAny returns the indices of the sources that are ready, at least one.
func waitAny(ctx context.Context, sources []source) (list, error) {
	for {
		var ready list
		cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
		for i, src := range sources {
			if ch := src.ready(); ch == nil {
				ready = append(ready, uint32(i))
			} else if len(ready) == 0 {
				cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)})
			}
		}
		if len(ready) > 0 {
			return ready, nil
		}
		if i, _, _ := reflect.Select(cases); i == 0 {
			return nil, context.Cause(ctx)
		}
	}
}

// signal is a lock whose holder can wake those who wait for a change.
type signal struct {
	sync.Mutex
	ch chan struct{}
}

// wait returns a channel that closes at the next wake. The lock is held.
func (s *signal) wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// wake wakes all who wait. The lock is held.
func (s *signal) wake() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// alarm is ready from a time on. Close frees its timer.
type alarm struct {
	at    time.Time
	timer *time.Timer
	ch    chan struct{}
}

func (a *alarm) ready() <-chan struct{} {
	left := time.Until(a.at)
	if left <= 0 {
		return nil
	}
	if a.timer == nil {
		ch := make(chan struct{})
		a.ch, a.timer = ch, time.AfterFunc(left, func() { close(ch) })
	}
	return a.ch
}

func (a *alarm) Close() error {
	if a.timer != nil {
		a.timer.Stop()
	}
	return nil
}

// subscribe returns a handle for src, the pollable child of another resource.
// Dropping it does not close src.
func subscribe(c *call, src source) val {
	return c.Own(typePollable, struct{ source }{src})
}

func pollInterface() wasmtime.Interface {
	return wasmtime.Interface{Name: "io/poll", Resources: resources{"pollable": typePollable}, Funcs: funcs{
		"[method]pollable.ready": method(func(c *call, src source, a []val) (val, error) { return src.ready() == nil, nil }),
		"[method]pollable.block": method(func(c *call, src source, a []val) (val, error) { return nil, wait(c.Context(), src) }),
		"poll": func(c *call, a []val) (val, error) {
			handles, _ := a[0].(list)
			if len(handles) == 0 || len(handles) > maxPoll { // "traps if the list is empty"
				return nil, trapf("poll of %d pollables; 1 to %d are served", len(handles), maxPoll)
			}
			sources := make([]source, len(handles))
			for i, h := range handles {
				sources[i] = wasmtime.Res[source](c, h)
			}
			return waitAny(c.Context(), sources)
		},
	}}
}
