package room

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/worker"
)

// Grace is how long a command has between SIGTERM and SIGKILL (SHL-85).
const Grace = 2 * time.Second

// lostTime is how long a worker may take to end a command it was told to kill,
// its own two seconds included, before its group is killed as a whole.
const lostTime = 4 * time.Second

// Command is what is started.
type Command struct {
	Program   string   // absolute path
	Argv, Env []string // Argv[0] is the program's name
	// Stdin is fed to the command through a pipe; nil is an empty input.
	Stdin io.Reader
	// Stdout and Stderr take copies of the streams as they come; nil drops them.
	Stdout, Stderr io.Writer
	// Timeout ends the command; 0: never.
	Timeout time.Duration
	// Linger keeps the command alive while something it started holds one of its
	// streams (SHL-79); otherwise it ends with its first process.
	Linger bool
}

// StartError says that a command was not started: nothing of it ran.
type StartError struct {
	Step  string
	Errno syscall.Errno
}

func (e *StartError) Error() string { return e.Step + ": " + e.Errno.Error() }

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Errno }

// Result is how a command ended.
type Result struct {
	Status       syscall.WaitStatus
	Known        bool // false when the worker was lost: Status says nothing
	TimedOut     bool
	Killed       bool // ended by Kill
	Duration     time.Duration
	Leftovers    int
	Limit        string // the field of CON-198, or ""
	Stdout       []byte // heads
	Stderr       []byte
	StdoutBytes  int64
	StderrBytes  int64
	User, System time.Duration
	MaxRSS       uint64
}

// ExitCode is the status as SHL-72 says it.
func (r Result) ExitCode() int {
	switch {
	case !r.Known:
		return -1
	case r.Status.Signaled():
		return 128 + int(r.Status.Signal())
	default:
		return r.Status.ExitStatus()
	}
}

// Running is a command that was started.
type Running struct {
	room    *Room
	m       *member
	out     *stream
	err     *stream
	begin   time.Time
	started uint64 // the room's count of starts, to tell whether it was alone
	busy    int    // others that ran when it began
	before  cgroup.Counts

	done   chan struct{}
	result Result

	mu       sync.Mutex
	over     bool // its worker may run another command by now
	killing  bool
	timedOut bool
	timer    *time.Timer
	force    *time.Timer
}

// Start starts a command. A *StartError says that it could not be; an error with a
// code ends the session.
func (r *Room) Start(ctx context.Context, c Command) (*Running, error) {
	m, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	x := &Running{room: r, m: m, done: make(chan struct{})}
	r.mu.Lock()
	x.busy, x.started = r.busy, r.overlap
	r.mu.Unlock()
	if m.leaf != nil {
		x.before = m.leaf.Counts()
	}
	streams, err := x.start(c)
	if err != nil {
		var step *worker.StepError
		failed := errors.As(err, &step)
		r.put(m, failed)
		if failed {
			return nil, &StartError{Step: step.Step, Errno: step.Errno}
		}
		return nil, fmt.Errorf("the worker was lost as the command started: %w", err)
	}
	if c.Timeout > 0 {
		x.mu.Lock()
		x.timer = time.AfterFunc(c.Timeout, func() { x.end(unix.SIGTERM, true) })
		x.mu.Unlock()
	}
	go x.wait(streams)
	return x, nil
}

// start makes the streams and sends the command. The wait group counts the two
// outputs.
func (x *Running) start(c Command) (*sync.WaitGroup, error) {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	stdin, feed, err := input(c.Stdin)
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, stdin)
	var outW, errW *os.File
	if x.out, outW, err = newStream(c.Stdout); err == nil {
		theirs = append(theirs, outW)
		if x.err, errW, err = newStream(c.Stderr); err == nil {
			theirs = append(theirs, errW)
		}
	}
	if err != nil {
		x.closeStreams(feed)
		return nil, fmt.Errorf("make pipes: %w", err)
	}
	var streams sync.WaitGroup
	limits := rlimits(x.room.cfg.Policy, x.room.Unconfined())
	if !counted {
		limits.Processes = nil
	} else if limits.Processes != nil {
		*limits.Processes += x.base()
	}
	cmd := worker.Command{
		Program: c.Program, Argv: c.Argv, Env: c.Env, Stdin: stdin, Stdout: outW, Stderr: errW,
		Limits: limits,
	}
	if c.Linger {
		// Its streams have been closed by everything that held them, or will be.
		cmd.Linger = func(worker.Result) {
			go func() {
				streams.Wait()
				x.mu.Lock()
				defer x.mu.Unlock()
				if !x.over {
					_ = x.m.w.Finish()
				}
			}()
		}
	}
	streams.Add(2)
	x.begin = time.Now()
	if err := x.m.w.Start(cmd); err != nil {
		x.closeStreams(feed)
		return nil, err
	}
	for _, s := range []*stream{x.out, x.err} {
		go func() {
			defer streams.Done()
			s.drain()
		}()
	}
	if feed != nil {
		go func() {
			_, _ = io.Copy(feed, c.Stdin)
			feed.Close()
		}()
	}
	return &streams, nil
}

// base is how many processes the user is charged with before the command: the
// worker's one where it is counted by itself (CON-173, CON-175).
func (x *Running) base() uint64 {
	if x.m.w.CountsOwn() {
		return 1
	}
	uid, _ := x.room.ids()
	return tasksOf(uid)
}

func (x *Running) closeStreams(feed *os.File) {
	if feed != nil {
		feed.Close()
	}
	for _, s := range []*stream{x.out, x.err} {
		if s != nil {
			s.from.Close()
		}
	}
}

// input is a command's standard input, and where to write what it reads.
func input(from io.Reader) (stdin, feed *os.File, err error) {
	if from == nil {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
		}
		return os.NewFile(uintptr(fd), os.DevNull), nil, nil
	}
	r, w, err := os.Pipe()
	return r, w, err
}

// wait waits for the end of the command and gives its worker back.
func (x *Running) wait(streams *sync.WaitGroup) {
	res, err := x.m.w.Wait(context.Background())
	r := &x.result
	r.Duration = time.Since(x.begin)
	r.Status, r.Known, r.Leftovers = res.Status, err == nil, res.Leftovers
	r.User, r.System, r.MaxRSS = res.User, res.System, res.MaxRSS
	x.mu.Lock()
	for _, t := range []*time.Timer{x.timer, x.force} {
		if t != nil {
			t.Stop()
		}
	}
	r.TimedOut, r.Killed, x.over = x.timedOut, x.killing, true
	x.mu.Unlock()
	// Nothing of the command is left to write; a pipe that went elsewhere does not
	// hold its end up (SHL-80).
	deadline := time.Now().Add(time.Second)
	_ = x.out.from.SetReadDeadline(deadline)
	_ = x.err.from.SetReadDeadline(deadline)
	streams.Wait()
	r.Stdout, r.StdoutBytes = x.out.head.Bytes(), x.out.n
	r.Stderr, r.StderrBytes = x.err.head.Bytes(), x.err.n
	if x.m.leaf != nil {
		x.room.mu.Lock()
		alone := x.busy == 1 && x.room.overlap == x.started
		x.room.mu.Unlock()
		r.Limit = limitHit(evidence{status: res.Status, before: x.before, after: x.m.leaf.Counts(), alone: alone})
	} else {
		r.Limit = limitHit(evidence{status: res.Status})
	}
	x.room.put(x.m, err == nil && !res.Survivors)
	close(x.done)
}

// Done is closed when the command has ended.
func (x *Running) Done() <-chan struct{} { return x.done }

// Result waits for the end and returns it.
func (x *Running) Result() Result {
	<-x.done
	return x.result
}

// Kill ends the command: first with a signal to its process group, and after the
// grace with SIGKILL to everything of it (SHL-85). A second call does not wait for
// the grace.
func (x *Running) Kill(sig syscall.Signal) { x.end(sig, false) }

func (x *Running) end(sig syscall.Signal, timeout bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	if x.killing {
		if !timeout {
			x.forceLocked()
		}
		return
	}
	x.killing, x.timedOut = true, timeout
	_ = x.m.w.Signal(sig)
	x.force = time.AfterFunc(Grace, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.over {
			x.forceLocked()
		}
	})
}

// forceLocked kills all of the command, and its whole group when that does not
// end it.
func (x *Running) forceLocked() {
	_ = x.m.w.Finish()
	x.force.Stop()
	x.force = time.AfterFunc(lostTime, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.over {
			return
		}
		if x.m.leaf != nil {
			_ = x.m.leaf.Kill()
		}
		_ = x.m.w.Close()
	})
}

// Redirect sends both streams to another writer from now on: between is called
// while neither moves, so that what was copied so far can be moved over first.
func (x *Running) Redirect(between func(), to io.Writer) {
	x.out.mu.Lock()
	defer x.out.mu.Unlock()
	x.err.mu.Lock()
	defer x.err.mu.Unlock()
	between()
	shared := &shared{to: to}
	x.out.to, x.err.to = shared, shared
}

// shared serialises the two streams of a command.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}
