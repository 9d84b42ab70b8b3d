package room

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/worker"
)

// idleTime is how long a worker beyond the first stays without work (CON-281).
const idleTime = 60 * time.Second

// endTime is how long an ended worker and its processes are waited for.
const endTime = 2 * time.Second

// ErrClosed is the error of a start in a room that is closing.
var ErrClosed = errors.New("the session is ending")

// member is a worker with what belongs to it.
type member struct {
	w     *worker.Worker
	end   func() error // ends its process and waits for it
	leaf  *cgroup.Leaf // nil without a scope
	since time.Time    // idle since then
}

// stop ends a worker and everything in it.
func (m *member) stop() error {
	_ = m.w.Close()
	err := m.end()
	if m.leaf != nil {
		err = errors.Join(err, m.leaf.Kill())
	}
	return err
}

// take returns a worker that nobody else has.
func (r *Room) take(ctx context.Context) (*member, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.busy++
	r.overlap++
	if n := len(r.idle); n > 0 {
		m := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return m, nil
	}
	r.serial++
	n := r.serial
	r.mu.Unlock()
	m, err := r.start(ctx, n)
	if err != nil {
		r.mu.Lock()
		r.busy--
		r.mu.Unlock()
	}
	return m, err
}

// put takes a worker back, or ends it when it can not be used again (CON-282).
func (r *Room) put(m *member, usable bool) {
	r.mu.Lock()
	r.busy--
	keep := usable && !r.closed
	if keep {
		m.since = time.Now()
		r.idle = append(r.idle, m)
		if len(r.idle) > 1 && r.timer == nil {
			r.timer = time.AfterFunc(idleTime, r.trim)
		}
	}
	r.mu.Unlock()
	if !keep {
		if err := m.stop(); err != nil {
			r.cfg.Note(fmt.Sprintf("a worker did not end: %v", err))
		}
	}
}

// trim ends workers that have been idle too long, but for one.
func (r *Room) trim() {
	r.mu.Lock()
	var old []*member
	for len(r.idle) > 1 && time.Since(r.idle[0].since) >= idleTime {
		old = append(old, r.idle[0])
		r.idle = r.idle[1:]
	}
	r.timer = nil
	if len(r.idle) > 1 && !r.closed {
		r.timer = time.AfterFunc(time.Until(r.idle[0].since.Add(idleTime)), r.trim)
	}
	r.mu.Unlock()
	for _, m := range old {
		_ = m.stop()
	}
}

// start makes a worker: in a composed root, in the session's network namespace,
// or directly.
func (r *Room) start(ctx context.Context, n int) (_ *member, err error) {
	m := &member{}
	if r.cfg.Scope != nil {
		if m.leaf, err = r.cfg.Scope.Leaf(fmt.Sprintf("worker-%d", n)); err != nil {
			return nil, fmt.Errorf("make a group for the worker: %w", err)
		}
		defer func() {
			if err != nil {
				_ = m.leaf.Kill()
			}
		}()
	}
	// No command is sent before the worker is in its group (CON-132). Moving a
	// process can take as long as setting it up: both go on at once.
	var placed error
	place := func(pid int) {
		if m.leaf != nil {
			placed = m.leaf.Add(pid)
		}
	}
	switch {
	case r.cfg.Plan.ComposedRoot:
		m.w, m.end, err = r.compose(ctx, n, place)
	case r.cfg.Network != nil:
		var pid int
		if m.w, pid, err = r.cfg.Network.holder.Worker(ctx, nil, r.setup(), place); err == nil {
			m.end = awaitEnd(pid)
		}
	default:
		var p *worker.Process
		if p, err = worker.Start(ctx, worker.Namespaces{CgroupFD: -1}, r.setup()); err == nil {
			m.w, m.end = p.Worker, p.Stop
			place(p.PID())
		}
	}
	if err != nil {
		return nil, err
	}
	if placed != nil {
		_ = m.w.Close()
		_ = m.end()
		return nil, fmt.Errorf("move the worker into its group: %w", placed)
	}
	return m, nil
}

// awaitEnd returns a wait for a process that is the holder's child. As its own
// init a worker has ended when nothing is left in it.
func awaitEnd(pid int) func() error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return func() error { return nil } // it has ended already
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	return func() error {
		defer f.Close()
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for end := time.Now().Add(endTime); ; {
			n, err := unix.Poll(p, int(max(time.Until(end).Milliseconds(), 0)))
			switch {
			case errors.Is(err, unix.EINTR):
			case n > 0:
				return nil
			default:
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
				return fmt.Errorf("worker %d did not end within %s", pid, endTime)
			}
		}
	}
}

// setup is what a worker outside of a composed root confines itself to.
func (r *Room) setup() worker.Setup {
	p := r.cfg.Plan
	s := worker.Setup{
		KeepPrivileges: r.Unconfined(),
		LandlockABI:    p.Landlock, Rules: r.rules, Inside: r.inside, Filter: r.filter, Trees: r.trees,
		PrivateMounts: p.PrivateMounts, PrivateProc: p.PrivateProc,
	}
	switch {
	case r.switches():
		s.User = &worker.User{UID: uint32(p.RunAs.UID), GID: uint32(p.RunAs.GID)}
		s.CountOwn, s.IDMap = true, r.idmap
	case r.cfg.Reading.UID != 0 && r.cfg.Network != nil:
		s.User = &worker.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
		s.Nested = true
	}
	return s
}

// Unconfined reports whether the session asked for no confinement.
func (r *Room) Unconfined() bool { return !r.cfg.Plan.Network && !r.cfg.Plan.Filter }
