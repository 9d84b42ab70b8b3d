package wasip1

import (
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"time"
)

func argsGet(h *Host, m memory, a args) Errno { return putStrings(m, h.args, a.u32(0), a.u32(1)) }

func argsSizesGet(h *Host, m memory, a args) Errno { return putSizes(m, h.args, a.u32(0), a.u32(1)) }

func environGet(h *Host, m memory, a args) Errno { return putStrings(m, h.env, a.u32(0), a.u32(1)) }

func environSizesGet(h *Host, m memory, a args) Errno { return putSizes(m, h.env, a.u32(0), a.u32(1)) }

// putSizes writes how many strings there are and how many bytes they take, each
// with a NUL after it.
func putSizes(m memory, values []string, count, size uint32) Errno {
	if errno := m.putU32(count, uint32(len(values))); errno != 0 {
		return errno
	}
	return m.putU32(size, uint32(sizeOf(values)))
}

func sizeOf(values []string) uint64 {
	var n uint64
	for _, v := range values {
		n += uint64(len(v)) + 1
	}
	return n
}

// putStrings writes the strings one after the other, each with a NUL after it, and
// a pointer to each.
func putStrings(m memory, values []string, pointers, text uint32) Errno {
	table, ok := m.at(pointers, 4*uint64(len(values)))
	if !ok {
		return EFAULT
	}
	b, ok := m.at(text, sizeOf(values))
	if !ok {
		return EFAULT
	}
	at := 0
	for i, v := range values {
		binary.LittleEndian.PutUint32(table[4*i:], text+uint32(at))
		at += copy(b[at:], v)
		b[at] = 0
		at++
	}
	return 0
}

// Clocks a guest may read; there are none of its CPU time.
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// clockResGet says 1 µs for the time of day, which can be set, and 1 ns else.
func clockResGet(_ *Host, m memory, a args) Errno {
	switch a.u32(0) {
	case clockRealtime:
		return m.putU64(a.u32(1), uint64(time.Microsecond))
	case clockMonotonic:
		return m.putU64(a.u32(1), 1)
	}
	return EINVAL
}

func clockTimeGet(h *Host, m memory, a args) Errno {
	now, ok := h.now(a.u32(0))
	if !ok {
		return EINVAL
	}
	return m.putU64(a.u32(2), uint64(now))
}

// now reads a clock, in nanoseconds; false when there is no such clock. The
// monotonic one is never zero: Go's run-time library takes that for a broken clock.
func (h *Host) now(clock uint32) (int64, bool) {
	switch clock {
	case clockRealtime:
		return time.Now().UnixNano(), true
	case clockMonotonic:
		return int64(time.Since(h.zero)) + 1, true
	}
	return 0, false
}

// randomGet takes its bytes from the operating system (WIT-63), in pieces, with a
// look at the time before each.
func randomGet(h *Host, m memory, a args) Errno {
	b, ok := m.at(a.u32(0), uint64(a.u32(1)))
	if !ok {
		return EFAULT
	}
	for len(b) > 0 && h.Context.Err() == nil {
		// rand.Read never fails: without random bytes it ends the program.
		n, _ := rand.Read(b[:min(len(b), piece)])
		b = b[n:]
	}
	return 0
}

func schedYield(*Host, memory, args) Errno {
	runtime.Gosched()
	return 0
}

func procExit(h *Host, _ memory, a args) Errno {
	h.end = &Exit{a.u32(0)}
	return 0
}

// procRaise ends the guest (WIT-61).
func procRaise(h *Host, _ memory, a args) Errno {
	h.end = &Signal{a.u32(0)}
	return 0
}
