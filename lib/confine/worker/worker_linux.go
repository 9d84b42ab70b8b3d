//go:build linux && cgo

package worker

/*
#include "protocol.h"
*/
import "C"

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/landlock"
	"github.com/mur-capsules/mur/lib/confine/packet"
)

// Worker is the client's side of one worker process. Exec may be called by one
// goroutine at a time, Signal and Finish by any.
type Worker struct {
	conn      *packet.Conn
	countsOwn bool
	linger    func(Result) // of the running command

	mu      sync.Mutex
	next    uint64
	running uint64 // id of the running command; 0: none
}

// Attach speaks to the worker at the other end of a socket, makes it confine
// itself and waits until it is ready. The error of a step is a *StepError. On
// error the socket is closed.
func Attach(ctx context.Context, conn *packet.Conn, s Setup) (*Worker, error) {
	w := &Worker{conn: conn}
	stop := conn.Expire(ctx)
	defer stop()
	if err := w.setup(s); err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return w, nil
}

func (w *Worker) setup(s Setup) error {
	if len(s.Groups) > 0 {
		kind, fds := uint32(C.MUR_GROUPS), make([]int, len(s.Groups))
		for i, f := range s.Groups {
			fds[i] = int(f.Fd())
		}
		if err := w.conn.Send(bytesOf(&kind), fds...); err != nil {
			return err
		}
	}
	for rules := s.Rules; len(rules) > 0; {
		n := min(len(rules), C.MUR_MAX_FDS)
		p := C.struct_mur_rules{kind: C.MUR_RULES, count: C.uint32_t(n)}
		fds := make([]int, n)
		for i, r := range rules[:n] {
			p.rights[i] = C.uint64_t(r.Rights)
			fds[i] = r.FD
		}
		if err := w.conn.Send(bytesOf(&p), fds...); err != nil {
			return err
		}
		rules = rules[n:]
	}
	if err := w.sendFilter(s.Filter); err != nil {
		return err
	}
	for _, r := range s.Inside {
		p := C.struct_mur_inside{kind: C.MUR_INSIDE, rights: C.uint64_t(r.Rights)}
		if !place(p.path[:], r.Path) {
			return fmt.Errorf("path of a rule is too long: %s", r.Path)
		}
		if err := w.conn.Send(bytesOf(&p)); err != nil {
			return err
		}
	}
	for _, t := range s.Trees {
		p := C.struct_mur_tree{kind: C.MUR_TREE, noexec: flag(t.Noexec, 1), over_tmp: flag(t.OverTmp, 1), read_only: flag(t.ReadOnly, 1), mapped: flag(t.Mapped, 1)}
		if !place(p.path[:], t.Path) {
			return fmt.Errorf("path of a writable tree is too long: %s", t.Path)
		}
		if err := w.conn.Send(bytesOf(&p), int(t.Dir.Fd())); err != nil {
			return err
		}
	}
	start := C.struct_mur_start{kind: C.MUR_START, flags: flag(s.PrivateMounts, C.MUR_PRIVATE_MOUNTS) | flag(s.PrivateProc, C.MUR_PRIVATE_PROC) | flag(s.KeepPrivileges, C.MUR_KEEP_PRIVILEGES) |
		flag(s.CountOwn, C.MUR_COUNT_OWN)}
	if s.User != nil {
		start.flags |= C.MUR_SWITCH_USER
		if s.Nested {
			start.flags ^= C.MUR_SWITCH_USER | C.MUR_NESTED_USER
		}
		start.uid, start.gid = C.uint32_t(s.User.UID), C.uint32_t(s.User.GID)
	}
	if s.LandlockABI > 0 {
		attr := landlock.Handled(s.LandlockABI)
		start.handled_fs, start.handled_net, start.scoped = C.uint64_t(attr.FS), 0, C.uint64_t(attr.Scoped)
		start.attr_size = C.uint64_t(landlock.AttrSize(s.LandlockABI))
	}
	var fds []int
	if s.IDMap != nil {
		fds = []int{int(s.IDMap.Fd())}
	}
	if err := w.conn.Send(bytesOf(&start), fds...); err != nil {
		return err
	}
	ready, err := w.answer(C.MUR_READY)
	w.countsOwn = ready.counts_own != 0
	return err
}

// CountsOwn reports whether RLIMIT_NPROC is held against the worker and its
// commands alone.
func (w *Worker) CountsOwn() bool { return w.countsOwn }

func (w *Worker) sendFilter(filter []bpf.Instruction) error {
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return fmt.Errorf("assemble filter: %w", err)
	}
	for len(raw) > 0 {
		n := min(len(raw), 1024)
		packet := make([]byte, 4, 4+8*n)
		kind := uint32(C.MUR_FILTER)
		copy(packet, bytesOf(&kind))
		for _, r := range raw[:n] {
			f := unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
			packet = append(packet, bytesOf(&f)...)
		}
		if err := w.conn.Send(packet); err != nil {
			return err
		}
		raw = raw[n:]
	}
	return nil
}

// place copies s and its NUL into a C array, if it has the room.
func place(to []C.char, s string) bool {
	if len(s) >= len(to) {
		return false
	}
	for i := range len(s) {
		to[i] = C.char(s[i])
	}
	return true
}

func flag(on bool, bit C.uint32_t) C.uint32_t {
	if on {
		return bit
	}
	return 0
}

// answer waits for one packet of type struct mur_answer.
func (w *Worker) answer(want uint32) (C.struct_mur_answer, error) {
	var a C.struct_mur_answer
	n, _, err := w.conn.Receive(bytesOf(&a))
	switch {
	case err != nil:
		return a, err
	case n != int(unsafe.Sizeof(a)):
		return a, fmt.Errorf("the worker answered %d bytes", n)
	case a.kind == C.MUR_FAILED:
		return a, &StepError{Step: steps[uint32(a.step)], Errno: syscall.Errno(a.err)}
	case uint32(a.kind) != want:
		return a, fmt.Errorf("the worker answered kind %d", a.kind)
	}
	return a, nil
}

// Exec runs a command and waits for it and for everything it left to be gone:
// Start and Wait.
func (w *Worker) Exec(ctx context.Context, c Command) (Result, error) {
	if err := w.Start(c); err != nil {
		return Result{}, err
	}
	return w.Wait(ctx)
}

// Wait waits until the command that was started and everything of it is gone.
// When ctx ends it is killed, and Wait still waits. An error says that the worker
// is lost, packet.ErrGone that it ended by itself (CON-284).
func (w *Worker) Wait(ctx context.Context) (Result, error) {
	w.mu.Lock()
	id, linger := w.running, w.linger
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.running = 0
		w.mu.Unlock()
	}()
	stop := context.AfterFunc(ctx, func() { _ = w.Finish() })
	defer stop()
	for {
		var e C.struct_mur_ended
		n, _, err := w.conn.Receive(bytesOf(&e))
		if err != nil {
			return Result{}, err
		}
		if n != int(unsafe.Sizeof(e)) || e.kind != C.MUR_ENDED && e.kind != C.MUR_EXITED || uint64(e.id) != id {
			return Result{}, fmt.Errorf("the worker answered %d bytes of kind %d for command %d", n, e.kind, e.id)
		}
		r := Result{
			Status: syscall.WaitStatus(e.status),
			User:   time.Duration(e.user_us) * time.Microsecond, System: time.Duration(e.system_us) * time.Microsecond,
			MaxRSS:    uint64(e.max_rss_kib) << 10,
			Leftovers: int(e.leftovers), Survivors: e.survivors != 0,
		}
		if e.kind == C.MUR_ENDED {
			return r, nil
		}
		linger(r)
	}
}

// Start starts a command; Wait must follow. A *StepError says that it was not
// started and the worker goes on; any other error that the worker is lost.
func (w *Worker) Start(c Command) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	p := C.struct_mur_exec{
		kind: C.MUR_EXEC, argc: C.uint32_t(len(c.Argv)), envc: C.uint32_t(len(c.Env)), id: C.uint64_t(w.next),
		nofile: limit(c.Limits.OpenFiles), fsize: limit(c.Limits.FileSize), cpu: limit(c.Limits.CPUSeconds),
		as: limit(c.Limits.AddressSpace), nproc: limit(c.Limits.Processes), linger: flag(c.Linger != nil, 1),
	}
	strings, err := stringsFile(&p, c)
	if err != nil {
		return err
	}
	defer strings.Close()
	if err := w.conn.Send(bytesOf(&p), int(strings.Fd()), int(c.Stdin.Fd()), int(c.Stdout.Fd()), int(c.Stderr.Fd())); err != nil {
		return err
	}
	if _, err := w.answer(C.MUR_STARTED); err != nil {
		return err
	}
	w.running, w.linger = w.next, c.Linger
	return nil
}

func limit(v *uint64) C.uint64_t {
	if v == nil {
		return C.MUR_NO_LIMIT
	}
	return C.uint64_t(*v)
}

// stringsFile puts program, arguments and environment, each with its NUL, into
// a file in memory: a packet has no room for them.
func stringsFile(p *C.struct_mur_exec, c Command) (*os.File, error) {
	var text []byte
	for _, list := range [][]string{{c.Program}, c.Argv, c.Env} {
		for _, s := range list {
			for i := range len(s) {
				if s[i] == 0 {
					return nil, &StepError{Step: steps[C.MUR_STEP_STRINGS], Errno: unix.EINVAL}
				}
			}
			text = append(append(text, s...), 0)
		}
	}
	p.length = C.uint64_t(len(text))
	fd, err := unix.MemfdCreate("mur-command", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	f := os.NewFile(uintptr(fd), "mur-command")
	if _, err := f.Write(text); err != nil {
		f.Close()
		return nil, fmt.Errorf("memfd: %w", err)
	}
	return f, nil
}

// Signal sends a signal to the process group of the running command; with none
// running it does nothing.
func (w *Worker) Signal(sig syscall.Signal) error { return w.tell(C.MUR_SIGNAL, sig) }

// Finish ends the running command, its first process and all others, at once;
// with none running it does nothing.
func (w *Worker) Finish() error { return w.tell(C.MUR_FINISH, 0) }

func (w *Worker) tell(kind C.uint32_t, sig syscall.Signal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == 0 {
		return nil
	}
	p := C.struct_mur_signal{kind: kind, signal: C.uint32_t(sig), id: C.uint64_t(w.running)}
	return w.conn.Send(bytesOf(&p))
}

// Close lets the worker go: it ends, and everything it runs with it.
func (w *Worker) Close() error { return w.conn.Close() }
