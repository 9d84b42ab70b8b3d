package wasip1

import (
	"encoding/binary"
	"time"
)

// Layout of poll_oneoff: subscription, event.
const (
	subscriptionSize = 48
	eventSize        = 32
	eventClock       = 0
	eventFdRead      = 1
	eventFdWrite     = 2
	clockAbsolute    = 1
)

// maxSubscriptions is more than a guest has descriptors, each for reading and
// writing, and clocks.
const maxSubscriptions = 4096

// due is a subscription that is answered.
type due struct {
	index int
	errno Errno
}

// pollOneoff waits for the earliest clock, or until the context ends. Files and
// streams never block, so a subscription to one is due at once.
func pollOneoff(h *Host, m memory, a args) Errno {
	n := uint64(a.u32(2))
	if n == 0 {
		return EINVAL
	}
	subs, ok := m.at(a.u32(0), n*subscriptionSize)
	if !ok {
		return EFAULT
	}
	events, ok := m.at(a.u32(1), n*eventSize)
	if !ok {
		return EFAULT
	}
	if n > maxSubscriptions {
		return EINVAL
	}
	wait, answers, ok := h.subscribed(subs)
	if !ok {
		return EINVAL
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-h.Context.Done():
			return 0 // Func.Call ends the guest
		}
	}
	// The two arrays may overlap: make all events before writing one.
	made := make([]byte, len(answers)*eventSize)
	for i, d := range answers {
		s, e := subs[d.index*subscriptionSize:], made[i*eventSize:]
		copy(e[:8], s) // what the guest knows it by
		binary.LittleEndian.PutUint16(e[8:], uint16(d.errno))
		e[10] = s[8]
	}
	copy(events, made)
	return m.putU32(a.u32(3), uint32(len(answers)))
}

// subscribed returns how long to wait and which subscriptions are due then; ok is
// false when one makes no sense.
func (h *Host) subscribed(subs []byte) (wait time.Duration, answers []due, ok bool) {
	for i := range len(subs) / subscriptionSize {
		s := subs[i*subscriptionSize:][:subscriptionSize]
		var until time.Duration
		var errno Errno
		switch s[8] {
		case eventFdRead, eventFdWrite:
			if h.fds.get(binary.LittleEndian.Uint32(s[16:])) == nil {
				errno = EBADF
			}
		case eventClock:
			until, ok = h.until(s)
			if !ok {
				return 0, nil, false
			}
		default:
			return 0, nil, false
		}
		switch {
		case len(answers) == 0 || until < wait:
			wait, answers = until, append(answers[:0], due{i, errno})
		case until == wait:
			answers = append(answers, due{i, errno})
		}
	}
	return wait, answers, true
}

// until is how long a subscription to a clock waits from now.
func (h *Host) until(s []byte) (time.Duration, bool) {
	now, ok := h.now(binary.LittleEndian.Uint32(s[16:]))
	if !ok {
		return 0, false
	}
	timeout := time.Duration(min(binary.LittleEndian.Uint64(s[24:]), 1<<62))
	if binary.LittleEndian.Uint16(s[40:])&clockAbsolute == 0 {
		return timeout, true
	}
	return max(0, timeout-time.Duration(now)), true
}
