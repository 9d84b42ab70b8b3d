//go:build !linux || !cgo

package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoConfinement is the error of a set-up that confines.
var ErrNoConfinement = errors.New("commands can not be confined on this system or by this build")

// confines tells whether the set-up asks for what only Linux has.
func (s Setup) confines() bool {
	return s.LandlockABI > 0 || len(s.Rules) > 0 || len(s.Inside) > 0 || len(s.Filter) > 0 || s.PrivateMounts || s.PrivateProc ||
		s.User != nil || s.Nested || s.CountOwn || s.IDMap != nil
}

// Process starts commands one after another. It is no process of its own here.
type Process struct{ *Worker }

// Start prepares to start commands in the directory of the first tree.
func Start(_ context.Context, _ Namespaces, s Setup) (*Process, error) {
	if s.confines() {
		return nil, ErrNoConfinement
	}
	if len(s.Trees) == 0 {
		return nil, errors.New("a worker needs a work folder")
	}
	return &Process{&Worker{dir: s.Trees[0].Path}}, nil
}

// Stop ends what runs and waits for it.
func (p *Process) Stop() error {
	err := p.Close()
	p.busy.Wait()
	return err
}

// PID is this process: commands are its children.
func (p *Process) PID() int { return os.Getpid() }

// Worker starts commands. Signal, Finish and Close may be called by any goroutine.
type Worker struct {
	dir string

	mu      sync.Mutex
	cmd     *exec.Cmd // the running one; nil: none
	ended   bool      // its first process has been waited for
	linger  func(Result)
	finish  chan struct{} // closed by Finish
	closed  bool
	busy    sync.WaitGroup
	stopped sync.Once
}

// CountsOwn is false: the user's other processes count as well.
func (w *Worker) CountsOwn() bool { return false }

// Start starts a command; Wait must follow. A *StepError says that it was not
// started and the worker goes on; any other error that the worker is lost.
func (w *Worker) Start(c Command) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for _, s := range append(append([]string{c.Program}, c.Argv...), c.Env...) {
		if strings.IndexByte(s, 0) >= 0 {
			return &StepError{Step: "read arguments", Errno: unix.EINVAL}
		}
	}
	r, told, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: self, Args: append([]string{Name, c.Limits.String(), c.Program}, c.Argv...), Env: c.Env, Dir: w.dir,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, ExtraFiles: []*os.File{told},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if cmd.Env == nil {
		cmd.Env = []string{} // not ours
	}
	err = cmd.Start()
	told.Close()
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return &StepError{Step: "fork", Errno: errno}
	case err != nil:
		return fmt.Errorf("start command: %w", err)
	}
	if step := readStep(r); step != nil {
		_ = cmd.Wait()
		return step
	}
	w.cmd, w.ended, w.linger = cmd, false, c.Linger
	w.finish, w.stopped = make(chan struct{}), sync.Once{}
	w.busy.Add(1)
	return nil
}

// Wait waits until the command that was started and everything of its session is
// gone. When ctx ends it is killed, and Wait still waits.
func (w *Worker) Wait(ctx context.Context) (Result, error) {
	defer w.busy.Done()
	w.mu.Lock()
	cmd, linger, finish := w.cmd, w.linger, w.finish
	w.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = w.Finish() })
	defer stop()
	begun := cmd.Process.Pid
	_ = cmd.Wait() // how it ended says its state
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	res := resultOf(cmd.ProcessState)
	if linger != nil && alive(begun) {
		linger(res)
		for alive(begun) {
			select {
			case <-finish:
			case <-time.After(pause):
				continue
			}
			break
		}
	}
	res.Leftovers, res.Survivors = endGroup(begun)
	w.mu.Lock()
	w.cmd = nil
	w.mu.Unlock()
	return res, nil
}

// Times of the end of a command: between two looks, and until what does not end
// by being killed is given up (CON-282).
const (
	pause   = 10 * time.Millisecond
	endTime = 2 * time.Second
)

// alive tells whether anything of a process group is there.
func alive(group int) bool { return unix.Kill(-group, 0) != unix.ESRCH }

// endGroup kills what the first process of a group left in it. How many that were
// nobody says: 1 stands for some.
func endGroup(group int) (leftovers int, survivors bool) {
	for end := time.Now().Add(endTime); unix.Kill(-group, unix.SIGKILL) != unix.ESRCH; time.Sleep(time.Millisecond) {
		leftovers = 1
		if time.Now().After(end) {
			return leftovers, true
		}
	}
	return leftovers, false
}

func resultOf(s *os.ProcessState) Result {
	r := Result{User: s.UserTime(), System: s.SystemTime()}
	r.Status, _ = s.Sys().(syscall.WaitStatus)
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		r.MaxRSS = uint64(u.Maxrss)
		if runtime.GOOS != "darwin" { // getrusage(2): bytes there, KiB elsewhere
			r.MaxRSS <<= 10
		}
	}
	return r
}

// Signal sends a signal to the process group of the running command; with none
// running it does nothing.
func (w *Worker) Signal(sig syscall.Signal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cmd == nil {
		return nil
	}
	if err := unix.Kill(-w.cmd.Process.Pid, sig); err != unix.ESRCH {
		return err
	}
	return nil
}

// Finish ends the running command, its first process and all others of its group,
// at once; with none running it does nothing.
func (w *Worker) Finish() error {
	err := w.Signal(unix.SIGKILL)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cmd != nil {
		w.stopped.Do(func() { close(w.finish) })
	}
	return err
}

// Close lets nothing more be started and ends what runs.
func (w *Worker) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	return w.Finish()
}
