//go:build linux && cgo

package probe

/*
#include "probe.h"
*/
import "C"

import (
	"io"
	"os"
	"sync"
	"unsafe"
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

// takeAhead takes what was begun ahead, once: a later reading tries anew. Without
// a whole answer there is none, and the caller tries itself.
func takeAhead() map[C.int]result {
	ahead.Lock()
	defer ahead.Unlock()
	if ahead.taken || C.mur_probe_ahead.pid <= 0 {
		return nil
	}
	ahead.taken = true
	pipe := os.NewFile(uintptr(C.mur_probe_ahead.fd), "probes")
	var raw [C.MUR_PROBES]C.struct_mur_result
	_, err := io.ReadFull(pipe, unsafe.Slice((*byte)(unsafe.Pointer(&raw)), unsafe.Sizeof(raw)))
	_ = pipe.Close()
	if p, ferr := os.FindProcess(int(C.mur_probe_ahead.pid)); ferr == nil {
		ahead.ends = p
	}
	if err != nil {
		return nil
	}
	out := map[C.int]result{}
	for _, p := range []C.int{C.MUR_PROBE_LANDLOCK, C.MUR_PROBE_SECCOMP, C.MUR_PROBE_MOUNT, C.MUR_PROBE_PROC, C.MUR_PROBE_IDMAP} {
		out[p] = result{step: raw[p].step, errno: int(raw[p].err), value: int(raw[p].value)}
	}
	return out
}

// Settle waits for the end of what was begun ahead, asked for or not: it answers
// before its children's namespaces are taken down, which takes long. A program
// whose end must leave no process calls it before.
func Settle() {
	takeAhead()
	ahead.Lock()
	defer ahead.Unlock()
	if ahead.ends != nil {
		_, _ = ahead.ends.Wait()
		ahead.ends = nil
	}
}
