//go:build linux && cgo

// Package holder keeps a session's network namespace (CON-204). The holder is a
// process of the importing program that has not started its Go runtime: the program
// re-executed under the name mur-holder, or, for "mur-shell run", forked before the
// runtime starts. It enters a network namespace of its own, owned by a user
// namespace unless it is root, opens the egress sockets there, hands them out,
// forks the scoped workers, which share the namespace, and ends when its client
// goes. It holds no policy and sees no command.
package holder

/*
#include "holder.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/mur-capsules/mur/lib/confine/egress"
	_ "github.com/mur-capsules/mur/lib/confine/netns" // the C of the holder calls it
	"github.com/mur-capsules/mur/lib/confine/packet"
	"github.com/mur-capsules/mur/lib/confine/worker"
)

// Name is the argv[0] under which the program becomes a holder, before main.
const Name = "mur-holder"

// orphanTime is how long processes of a dead worker may take to end.
const orphanTime = 2 * time.Second

// Holder is the client's side.
type Holder struct {
	mu      sync.Mutex // one request at a time
	conn    *packet.Conn
	proc    *os.Process
	orphans bool // a worker may leave processes to the holder
}

// Start starts a holder with an empty environment and opens the egress sockets
// of the ports, at most 16, in its namespace. The error of the namespaces is a
// *worker.StepError. When ctx ends before Start returns, the holder ends.
func Start(ctx context.Context, ports []int) (*Holder, egress.Sockets, error) {
	h, err := takeAhead()
	if h == nil && err == nil {
		h, err = spawn()
	}
	if err != nil {
		return nil, egress.Sockets{}, err
	}
	stop := h.conn.Expire(ctx)
	s, err := h.open(ports)
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		h.Stop()
		return nil, egress.Sockets{}, err
	}
	return h, s, nil
}

// spawn re-executes this program as a holder.
func spawn() (*Holder, error) {
	conn, theirs, err := packet.Pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() // or the holder's death would not be seen
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{Name}, Env: []string{}, ExtraFiles: []*os.File{theirs}}
	if err := cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("start holder: %w", err)
	}
	return &Holder{conn: conn, proc: cmd.Process}, nil
}

// ahead guards the holder that was begun before this program's Go runtime.
var ahead sync.Mutex

// takeAhead takes the holder that was begun ahead, once; nil: there is none.
func takeAhead() (*Holder, error) {
	ahead.Lock()
	defer ahead.Unlock()
	if C.mur_hold_ahead.pid <= 0 {
		return nil, nil
	}
	proc, err := os.FindProcess(int(C.mur_hold_ahead.pid))
	if err != nil {
		return nil, fmt.Errorf("holder begun ahead: %w", err)
	}
	C.mur_hold_ahead.pid = 0
	conn, err := packet.From(int(C.mur_hold_ahead.fd))
	if err != nil {
		_ = proc.Kill()
		_, _ = proc.Wait()
		return nil, err
	}
	return &Holder{conn: conn, proc: proc}, nil
}

// Settle ends a holder that was begun ahead and not asked for, and waits for it. A
// program whose end must leave no process calls it before.
func Settle() {
	if h, err := takeAhead(); err == nil && h != nil {
		h.Stop()
	}
}

// steps names the steps of holder.h.
var steps = map[C.uint32_t]string{
	C.MUR_HOLD_USERNS: "unshare user namespace", C.MUR_HOLD_SETGROUPS: "deny setgroups", C.MUR_HOLD_UIDMAP: "write uid_map",
	C.MUR_HOLD_GIDMAP: "write gid_map", C.MUR_HOLD_NETNS: "unshare network namespace", C.MUR_HOLD_SUBREAPER: "become subreaper",
	C.MUR_HOLD_LO_UP: "bring lo up", C.MUR_HOLD_ROUTE: "add local route", C.MUR_HOLD_LISTEN: "listen on port", C.MUR_HOLD_DNS: "open DNS socket",
	C.MUR_HOLD_FORK: "fork", C.MUR_HOLD_PACKET: "read request",
}

// open opens the sockets of the ports.
func (h *Holder) open(ports []int) (egress.Sockets, error) {
	q := C.struct_mur_hold{kind: C.MUR_HOLD_OPEN, count: C.uint32_t(len(ports))}
	if len(ports) > len(q.ports) {
		return egress.Sockets{}, fmt.Errorf("%d ports to listen on, at most %d", len(ports), len(q.ports))
	}
	for i, p := range ports {
		q.ports[i] = C.uint16_t(p)
	}
	r, fds, err := h.ask(&q)
	if err != nil {
		return egress.Sockets{}, err
	}
	files := make([]*os.File, len(fds))
	for i, fd := range fds {
		files[i] = os.NewFile(uintptr(fd), "socket")
	}
	return egress.From(files, len(ports), r.value != 0)
}

// ask sends one request and waits for its answer. A step that failed is a
// *worker.StepError.
func (h *Holder) ask(q *C.struct_mur_hold, fds ...int) (C.struct_mur_held, []int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var r C.struct_mur_held
	// A holder that could not enter its namespaces said so and ended.
	if err := h.conn.Send(bytesOf(q), fds...); err != nil && !errors.Is(err, packet.ErrGone) {
		return r, nil, err
	}
	n, got, err := h.conn.Receive(bytesOf(&r))
	switch {
	case err != nil:
		return r, nil, err
	case n != int(unsafe.Sizeof(r)):
		return r, nil, fmt.Errorf("the holder answered %d bytes", n)
	case r.step == C.MUR_HOLD_LISTEN:
		return r, nil, &worker.StepError{Step: fmt.Sprintf("%s %d", steps[r.step], r.value), Errno: syscall.Errno(r.err)}
	case r.step != C.MUR_HOLD_DONE:
		return r, nil, &worker.StepError{Step: steps[r.step], Errno: syscall.Errno(r.err)}
	}
	return r, got, nil
}

func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// Worker starts a scoped worker in the holder's network namespace and sets it up.
// started, if not nil, is called with its process id while it sets itself up, which
// may take as long. Closing the worker ends it.
func (h *Holder) Worker(ctx context.Context, s worker.Setup, started func(pid int)) (*worker.Worker, int, error) {
	conn, theirs, err := packet.Pair()
	if err != nil {
		return nil, 0, err
	}
	defer theirs.Close()
	q := C.struct_mur_hold{kind: C.MUR_HOLD_WORKER}
	if s.PrivateMounts {
		q.flags |= C.MUR_HOLD_PRIVATE
	}
	if s.PrivateProc {
		q.flags |= C.MUR_HOLD_PID
	}
	h.mu.Lock()
	h.orphans = h.orphans || !s.PrivateProc
	h.mu.Unlock()
	r, _, err := h.ask(&q, int(theirs.Fd()))
	if err != nil {
		_ = conn.Close()
		return nil, 0, fmt.Errorf("start worker: %w", err)
	}
	theirs.Close()
	pid := int(r.value)
	var wg sync.WaitGroup
	if started != nil {
		wg.Go(func() { started(pid) })
	}
	w, err := worker.Attach(ctx, conn, s)
	wg.Wait()
	if err != nil {
		return nil, 0, err
	}
	return w, pid, nil
}

// Bequeath names a scope's directories, at most 16, to be emptied and removed by
// the holder should its client die without having done so.
func (h *Holder) Bequeath(groups []string) error {
	for _, g := range groups {
		q := C.struct_mur_hold{kind: C.MUR_HOLD_GROUP}
		if len(g) >= len(q.path) {
			return fmt.Errorf("the path of a group is too long: %s", g)
		}
		for i := range len(g) {
			q.path[i] = C.char(g[i])
		}
		if _, _, err := h.ask(&q); err != nil {
			return err
		}
	}
	return nil
}

// PID is the holder's process id.
func (h *Holder) PID() int { return h.proc.Pid }

// Stop ends the holder and waits for it. Workers end with their own sockets, which
// are closed before.
func (h *Holder) Stop() {
	_ = h.conn.Close()
	if h.orphans {
		// It ends by itself when nothing is left that a worker left.
		late := time.AfterFunc(orphanTime+time.Second, func() { _ = h.proc.Kill() })
		defer late.Stop()
	} else {
		_ = h.proc.Kill()
	}
	_, _ = h.proc.Wait()
}
