package wasmtime

import (
	"fmt"
	"io"
	"sync/atomic"
)

// ResourceType identifies a host resource type. Its number is the type's whole
// identity for the library, so it is unique in the process.
type ResourceType uint32

var lastType atomic.Uint32

// NewResourceType returns a type that no other call returned.
func NewResourceType() ResourceType { return ResourceType(lastType.Add(1)) }

// guestFault is panicked by code that host functions call when the guest, not
// the host, is to blame; the callback turns it into a limit.
type guestFault struct{ limit Limit }

// table maps the 32-bit representation of a resource to the Go value behind it.
type table struct {
	slots []slot
	free  []uint32
	max   int
}

type slot struct {
	ty ResourceType // 0 when free
	v  any
}

func (t *table) add(ty ResourceType, v any) uint32 {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.slots[i] = slot{ty, v}
		return i
	}
	if len(t.slots) >= t.max {
		panic(guestFault{Handles})
	}
	t.slots = append(t.slots, slot{ty, v})
	return uint32(len(t.slots) - 1)
}

func (t *table) get(ty ResourceType, rep uint32) any {
	if int(rep) >= len(t.slots) || t.slots[rep].ty != ty {
		panic(fmt.Sprintf("no resource %d of type %d", rep, ty))
	}
	return t.slots[rep].v
}

func (t *table) take(ty ResourceType, rep uint32) any {
	v := t.get(ty, rep)
	t.slots[rep] = slot{}
	t.free = append(t.free, rep)
	return v
}

func (t *table) live() int { return len(t.slots) - len(t.free) }

// closeAll closes what is left, the youngest first.
func (t *table) closeAll() {
	for i := len(t.slots) - 1; i >= 0; i-- {
		closeValue(t.slots[i].v)
	}
	t.slots, t.free = nil, nil
}

func closeValue(v any) {
	if c, ok := v.(io.Closer); ok {
		c.Close() //nolint:errcheck // the guest that could be told is gone
	}
}

// Own puts v behind a new handle that the guest will own when the host function
// returns it. When the guest drops the handle, or the store closes, v is closed
// if it is an io.Closer; its error is ignored. A host function that fails after
// Own leaves v to the store.
func (c *Call) Own(ty ResourceType, v any) Resource {
	return Resource{ty, c.s.table.add(ty, v), true}
}

// Res returns the Go value behind the resource argument v. A borrowed one stays
// the guest's; an owned one leaves the table, and closing it is up to the
// caller. It panics, which ends the guest, when v is no resource or the value
// is no T: the library checks handles and types, so that is a defect of the
// host.
func Res[T any](c *Call, v Val) T {
	r, ok := v.(Resource)
	if !ok {
		panic(fmt.Sprintf("want a resource, have %T", v))
	}
	if r.Owned {
		return c.s.table.take(r.Type, r.Rep).(T)
	}
	return c.s.table.get(r.Type, r.Rep).(T)
}
