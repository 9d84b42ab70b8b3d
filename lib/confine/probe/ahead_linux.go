//go:build linux && cgo

package probe

/*
#include "probe.h"
*/
import "C"

import (
	"errors"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ahead is what was begun before this program's Go runtime started.
var ahead struct {
	sync.Mutex
	taken bool
	ends  *os.Process // to be waited for
}

// begunAhead reports whether there is something to take.
func begunAhead() bool {
	ahead.Lock()
	defer ahead.Unlock()
	return !ahead.taken && C.mur_probe_ahead.pid > 0
}

// takeAhead takes what was begun ahead and has passed, once: a later reading tries
// anew, and so does the caller for what is not among it.
func takeAhead() map[C.int]result {
	ahead.Lock()
	defer ahead.Unlock()
	if ahead.taken || C.mur_probe_ahead.pid <= 0 {
		return nil
	}
	ahead.taken = true
	pipe := int(C.mur_probe_ahead.fd)
	defer unix.Close(pipe)
	if p, err := os.FindProcess(int(C.mur_probe_ahead.pid)); err == nil {
		ahead.ends = p
	}
	want := 4
	if os.Getuid() == 0 {
		want++ // the map of ids
	}
	passed := map[C.int]result{}
	for end := time.Now().Add(C.MUR_PROBE_TIMEOUT * time.Millisecond); want > 0; want-- {
		t, ok := readTold(pipe, end)
		if !ok {
			// It hangs, or has ended with less: what is missing is tried alone.
			if ahead.ends != nil {
				_ = ahead.ends.Kill()
			}
			break
		}
		if r := (result{step: t.result.step, errno: int(t.result.err), value: int(t.result.value)}); r.ok() {
			passed[t.probe] = r
		}
	}
	return passed
}

// readTold reads what came of one probe, if that is known before end.
func readTold(pipe int, end time.Time) (t C.struct_mur_told, ok bool) {
	p := []unix.PollFd{{Fd: int32(pipe), Events: unix.POLLIN}}
	for {
		switch n, err := unix.Poll(p, int(max(time.Until(end).Milliseconds(), 0))); {
		case errors.Is(err, unix.EINTR):
		case err != nil || n == 0:
			return t, false
		default:
			// Shorter than PIPE_BUF, it comes whole (pipe(7)).
			n, err := unix.Read(pipe, unsafe.Slice((*byte)(unsafe.Pointer(&t)), unsafe.Sizeof(t)))
			return t, err == nil && n == int(unsafe.Sizeof(t))
		}
	}
}

// Settle waits for the end of what was begun ahead, asked for or not: it answers
// before its namespaces are taken down, which takes long. A program whose end must
// leave no process calls it before.
func Settle() {
	takeAhead()
	ahead.Lock()
	defer ahead.Unlock()
	if ahead.ends != nil {
		_, _ = ahead.ends.Wait()
		ahead.ends = nil
	}
}
