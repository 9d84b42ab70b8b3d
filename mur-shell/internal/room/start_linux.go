//go:build linux && cgo

package room

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/worker"
)

// worker starts a worker: in a composed root, in the session's network namespace,
// or directly. It enters its group by the doors before anything else. started is called with its process id, end ends its process and
// waits for it.
func (r *Room) worker(ctx context.Context, n int, doors []*os.File, started func(pid int)) (w *worker.Worker, end func() error, err error) {
	switch {
	case r.cfg.Plan.ComposedRoot:
		return r.compose(ctx, n, doors, started)
	case r.cfg.Network != nil:
		w, pid, err := r.cfg.Network.holder.Worker(ctx, r.setup(doors), started)
		if err != nil {
			return nil, nil, err
		}
		return w, awaitEnd(pid), nil
	default:
		p, err := worker.Start(ctx, worker.Namespaces{}, r.setup(doors))
		if err != nil {
			return nil, nil, err
		}
		started(p.PID())
		return p.Worker, p.Stop, nil
	}
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
func (r *Room) setup(doors []*os.File) worker.Setup {
	p := r.cfg.Plan
	s := worker.Setup{
		KeepPrivileges: r.Unconfined(),
		LandlockABI:    p.Landlock, Rules: r.rules, Inside: r.inside, Filter: r.filter, Trees: r.trees,
		PrivateMounts: p.PrivateMounts, PrivateProc: p.PrivateProc, Groups: doors,
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
