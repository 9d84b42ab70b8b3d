package core

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/onwazero"
)

// Error numbers of WASI preview 1 used here.
const (
	wasiSuccess = 0
	wasiFault   = 21
	wasiInval   = 28
	wasiNotsup  = 58
)

// instantiateWASI provides WASI preview 1: wazero's functions, but for those
// that must end a guest, must not wait beyond its time, or are never served.
func instantiateWASI(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(wasiModule)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	for name, f := range map[string]api.GoModuleFunc{
		"proc_exit":     procExit,
		"proc_raise":    procRaise,
		"poll_oneoff":   pollOneoff,
		"sock_accept":   notSupported,
		"sock_recv":     notSupported,
		"sock_send":     notSupported,
		"sock_shutdown": notSupported,
	} {
		params, results := onwazero.Values(wasiSignatures[name])
		b.NewFunctionBuilder().WithGoModuleFunction(f, params, results).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// procExit notes the status, so that no status can pass for the numbers wazero
// closes an instance with when its context ends.
func procExit(ctx context.Context, _ api.Module, stack []uint64) {
	c := callOf(ctx)
	c.exited, c.status = true, uint32(stack[0])
	onwazero.End()
}

// procRaise ends the guest (WIT-61).
func procRaise(ctx context.Context, _ api.Module, stack []uint64) {
	c := callOf(ctx)
	defer c.guard()
	c.end(&wasmhost.Fault{Cause: wasmhost.Trapped, Err: fmt.Errorf("the guest raised signal %d", uint32(stack[0]))})
}

func notSupported(_ context.Context, _ api.Module, stack []uint64) { stack[0] = wasiNotsup }

// Layout of poll_oneoff (WASI preview 1, subscription and event).
const (
	subscriptionSize = 48
	eventSize        = 32
	eventClock       = 0
	eventFdRead      = 1
	eventFdWrite     = 2
	clockRealtime    = 0
	clockAbsolute    = 1
)

// started is the zero of the monotonic clock guests see.
var started = time.Now()

func monotonic() int64 { return int64(time.Since(started)) }

// pollOneoff waits for the earliest clock, or until the call ends. Files and
// streams of a guest never block, so a subscription to one is due at once.
func pollOneoff(ctx context.Context, mod api.Module, stack []uint64) {
	c := callOf(ctx)
	defer c.guard()
	in, out, n, resultN := uint32(stack[0]), uint32(stack[1]), uint64(uint32(stack[2])), uint32(stack[3])
	stack[0] = wasiInval
	if n == 0 {
		return
	}
	mem := mod.Memory()
	stack[0] = wasiFault
	if n*subscriptionSize > uint64(mem.Size()) {
		return
	}
	subs, ok := mem.Read(in, uint32(n*subscriptionSize))
	if !ok {
		return
	}
	events, ok := mem.Read(out, uint32(n*eventSize))
	if !ok {
		return
	}
	wait, due, ok := readSubscriptions(subs)
	if !ok {
		stack[0] = wasiInval
		return
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.ctx.Done():
			panic(errEnded)
		}
	}
	// The two arrays may overlap: copy before writing.
	made := make([]byte, 0, len(due)*eventSize)
	for _, i := range due {
		var e [eventSize]byte
		copy(e[:8], subs[i*subscriptionSize:])
		e[10] = subs[i*subscriptionSize+8]
		made = append(made, e[:]...)
	}
	copy(events, made)
	if !mem.WriteUint32Le(resultN, uint32(len(due))) {
		return
	}
	stack[0] = wasiSuccess
}

// readSubscriptions returns how long to wait and which subscriptions are due
// then; ok is false for one that makes no sense.
func readSubscriptions(subs []byte) (wait time.Duration, due []int, ok bool) {
	count := len(subs) / subscriptionSize
	waits := make([]time.Duration, count)
	for i := range count {
		s := subs[i*subscriptionSize:][:subscriptionSize]
		switch s[8] {
		case eventFdRead, eventFdWrite:
		case eventClock:
			timeout := binary.LittleEndian.Uint64(s[24:])
			if timeout > 1<<62 {
				timeout = 1 << 62
			}
			waits[i] = time.Duration(timeout)
			if binary.LittleEndian.Uint16(s[40:])&clockAbsolute != 0 {
				now := monotonic()
				if binary.LittleEndian.Uint32(s[16:]) == clockRealtime {
					now = time.Now().UnixNano()
				}
				waits[i] = max(0, time.Duration(int64(timeout)-now))
			}
		default:
			return 0, nil, false
		}
		if i == 0 || waits[i] < wait {
			wait = waits[i]
		}
	}
	for i, w := range waits {
		if w == wait {
			due = append(due, i)
		}
	}
	return wait, due, true
}
