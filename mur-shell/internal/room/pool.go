package room

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/worker"
	"github.com/mur-capsules/mur/lib/policy"
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

// start makes a worker, in a group of its own where the session has a scope.
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
	// No command is sent before the worker is in its group (CON-132). It enters by
	// itself where there are doors; moving a process can take as long as setting it
	// up, so that both go on at once.
	var (
		placed error
		doors  []*os.File
	)
	if m.leaf != nil {
		if doors, err = m.leaf.Doors(); err != nil {
			return nil, fmt.Errorf("enter the worker's group: %w", err)
		}
		defer func() {
			for _, f := range doors {
				_ = f.Close()
			}
		}()
	}
	m.w, m.end, err = r.worker(ctx, n, doors, func(pid int) {
		if m.leaf != nil && len(doors) == 0 {
			placed = m.leaf.Add(pid)
		}
	})
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

// Unconfined reports whether the session asked for no confinement.
func (r *Room) Unconfined() bool { return r.cfg.Plan.Class == policy.Unconfined }
