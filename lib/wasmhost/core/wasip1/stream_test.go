package wasip1

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

type writer func(p []byte) (int, error)

func (f writer) Write(p []byte) (int, error) { return f(p) }

func TestStreams(t *testing.T) {
	var out, err bytes.Buffer
	g := newGuest(t, Config{Stdin: strings.NewReader("given"), Stdout: &out, Stderr: &err})
	if got, errno := g.read(0, 3); got != "giv" || errno != 0 {
		t.Errorf("read %q, %v", got, errno)
	}
	if got, errno := g.read(0, 100); got != "en" || errno != 0 {
		t.Errorf("read %q, %v", got, errno)
	}
	if got, errno := g.read(0, 100); got != "" || errno != 0 {
		t.Errorf("at the end %q, %v", got, errno)
	}
	g.write(1, "to the output")
	g.write(2, "to the error")
	if out.String() != "to the output" || err.String() != "to the error" {
		t.Errorf("got %q, %q", out.String(), err.String())
	}
	g.want(0, "fd_write", 1, iovs, 0, result)
	for fd := range uint64(3) {
		for _, name := range []string{"fd_pread", "fd_pwrite"} {
			g.want(ESPIPE, name, fd, iovs, 1, 0, result)
		}
		g.want(ESPIPE, "fd_seek", fd, 0, 1, result)
		g.want(ESPIPE, "fd_tell", fd, result)
		g.want(ESPIPE, "fd_allocate", fd, 0, 1)
		g.want(EINVAL, "fd_filestat_set_size", fd, 0)
		g.want(ENOTSUP, "fd_filestat_set_times", fd, 0, 0, 0)
		g.want(0, "fd_sync", fd)
		g.want(0, "fd_datasync", fd)
		g.want(0, "fd_advise", fd, 0, 0, 0)
		g.want(0, "fd_fdstat_set_flags", fd, flagAppend)
		g.want(ENOSYS, "fd_fdstat_set_flags", fd, flagNonblock)
	}
	if errno := g.write(0, "x"); errno != EBADF {
		t.Errorf("writing to the input: %v", errno)
	}
	// Also what moves nothing has to make sense.
	g.want(EBADF, "fd_write", 0, iovs, 0, result)
	g.want(EBADF, "fd_read", 1, iovs, 0, result)
	g.want(ESPIPE, "fd_pread", 0, iovs, 0, 0, result)
	if _, errno := g.read(1, 1); errno != EBADF {
		t.Errorf("reading the output: %v", errno)
	}

	silent := newGuest(t, Config{})
	if got, errno := silent.read(0, 9); got != "" || errno != 0 {
		t.Errorf("no input gives %q, %v", got, errno)
	}
	for fd := range uint64(2) {
		if errno := silent.write(1+fd, "dropped"); errno != 0 {
			t.Error(errno)
		}
	}
}

func TestStreamErrors(t *testing.T) {
	var reply struct {
		n   int
		err error
	}
	var calls int
	g := newGuest(t, Config{
		Stdin:  io.MultiReader(strings.NewReader("ab"), strings.NewReader("cd")),
		Stdout: writer(func(p []byte) (int, error) { calls++; return min(reply.n, len(p)), reply.err }),
	})
	// What is moved counts more than why it stopped.
	for _, s := range []struct {
		n     int
		err   error
		want  Errno
		moved uint32
	}{
		{100, nil, 0, 8},
		{3, nil, 0, 3},
		{3, syscall.ENOSPC, 0, 3},
		{0, syscall.ENOSPC, ENOSPC, 0},
		{0, syscall.EPIPE, EPIPE, 0},
		{0, errors.New("anything"), EIO, 0},
	} {
		reply.n, reply.err = s.n, s.err
		g.putU32(iovs, first, 4, first+4, 4)
		g.putU32(result, 0)
		if errno := g.call("fd_write", 1, iovs, 2, result); errno != s.want || g.u32(result) != s.moved {
			t.Errorf("%+v: %v, %d bytes", s, errno, g.u32(result))
		}
	}
	g.putU32(iovs, area, 4, area+100, 4)
	g.want(0, "fd_read", 0, iovs, 2, result)
	if g.u32(result) != 2 {
		t.Errorf("a short read goes on: %d bytes", g.u32(result))
	}

	// Nothing is moved when the arguments are wrong.
	calls = 0
	g.putU32(iovs, first, 4, last-2, 4)
	g.want(EFAULT, "fd_write", 1, iovs, 2, result)
	g.want(EFAULT, "fd_write", 1, iovs, 1, last-2)
	g.want(EFAULT, "fd_write", 1, last-6, 1, result)
	g.want(EINVAL, "fd_write", 1, iovs, maxBuffers+1, result)
	g.want(EINVAL, "fd_write", 1, iovs, most, result)
	g.putU32(iovs, most, most)
	g.want(EFAULT, "fd_write", 1, iovs, 1, result)
	if calls != 0 {
		t.Errorf("%d writes", calls)
	}
}

// The same large buffer named a thousand times is no way to keep the host busy.
func TestMovedIsBounded(t *testing.T) {
	var moved, largest int
	g := newGuest(t, Config{Stdout: writer(func(p []byte) (int, error) {
		moved += len(p)
		largest = max(largest, len(p))
		return len(p), nil
	})})
	g.mem = make([]byte, 16<<20)
	for i := range maxBuffers {
		g.putU32(8*i, 0, 16<<20)
	}
	g.want(0, "fd_write", 1, 0, maxBuffers, 8)
	if moved != maxMoved || largest > piece || g.u32(8) != maxMoved {
		t.Errorf("%d bytes were moved, %d at a time, %d told", moved, largest, g.u32(8))
	}
}

// WIT-64: the end of the time ends a call that moves much, and the guest.
func TestMovingEnds(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	calls := 0
	g := newGuest(t, Config{Stdout: writer(func(p []byte) (int, error) {
		if calls++; calls == 2 {
			cancel(cause)
		}
		return len(p), nil
	})})
	g.h.Context = ctx
	g.putU32(iovs, 0, 16, 0, 16, 0, 16, 0, 16)
	if _, err := g.try("fd_write", 1, iovs, 4, result); !errors.Is(err, cause) || calls != 2 {
		t.Errorf("after %d writes: %v", calls, err)
	}
}

// clock lays a subscription into memory.
func (g *guest) clock(at int, user uint32, clock uint32, timeout uint64, flags uint32) {
	g.putU32(at, user, 0, eventClock, 0, clock, 0, uint32(timeout), uint32(timeout>>32), 0, 0, flags, 0)
}

func (g *guest) ready(at int, user, kind, fd uint32) {
	g.putU32(at, user, 0, kind, 0, fd, 0, 0, 0, 0, 0, 0, 0)
}

// WIT-61
func TestPoll(t *testing.T) {
	const in, out = 0, 4096
	g := newGuest(t, Config{})
	poll := func(n uint64) []uint32 {
		t.Helper()
		g.want(0, "poll_oneoff", in, out, n, 8000)
		var users []uint32
		for i := range int(g.u32(8000)) {
			users = append(users, g.u32(out+eventSize*i))
		}
		return users
	}
	g.clock(in, 1, clockMonotonic, 20e6, 0)
	start := time.Now()
	if users := poll(1); len(users) != 1 || users[0] != 1 || time.Since(start) < 20*time.Millisecond {
		t.Errorf("a clock of 20 ms: %v after %v", users, time.Since(start))
	}
	// The earliest clock is the only one that is told.
	g.clock(in, 1, clockMonotonic, 3600e9, 0)
	g.clock(in+subscriptionSize, 2, clockMonotonic, 1e6, 0)
	if users := poll(2); len(users) != 1 || users[0] != 2 {
		t.Errorf("of two clocks: %v", users)
	}
	// A time that has passed, on both clocks; the other waits for the end of all times.
	for clock := range uint32(2) {
		g.clock(in, 1, clock, 1, clockAbsolute)
		g.clock(in+subscriptionSize, 2, clock, 1<<64-1, clockAbsolute)
		if users := poll(2); len(users) != 1 || users[0] != 1 {
			t.Errorf("clock %d, a time that has passed: %v", clock, users)
		}
	}
	g.clock(in, 1, clockRealtime, uint64(time.Now().Add(20*time.Millisecond).UnixNano()), clockAbsolute)
	start = time.Now()
	if users := poll(1); len(users) != 1 || time.Since(start) > 10*time.Second {
		t.Errorf("a time to come: %v after %v", users, time.Since(start))
	}
	// Streams and files are always ready, and what is not open is told.
	g.clock(in, 1, clockMonotonic, 3600e9, 0)
	g.ready(in+subscriptionSize, 2, eventFdRead, 0)
	g.ready(in+2*subscriptionSize, 3, eventFdWrite, 9)
	if users := poll(3); len(users) != 2 || users[0] != 2 || users[1] != 3 {
		t.Errorf("streams: %v", users)
	}
	if e := g.mem[out:]; e[8] != 0 || e[10] != eventFdRead || Errno(e[eventSize+8]) != EBADF || e[eventSize+10] != eventFdWrite {
		t.Errorf("events %x", e[:2*eventSize])
	}

	g.want(EINVAL, "poll_oneoff", in, out, 0, 8000)
	g.want(EFAULT, "poll_oneoff", in, out, most, 8000)
	g.want(EFAULT, "poll_oneoff", last-46, out, 1, 8000)
	g.want(EFAULT, "poll_oneoff", in, last-30, 1, 8000)
	g.want(EFAULT, "poll_oneoff", in, out, 3, last-2)
	g.putU32(in+8, 3)
	g.want(EINVAL, "poll_oneoff", in, out, 1, 8000)
	g.clock(in, 1, 2, 0, 0)
	g.want(EINVAL, "poll_oneoff", in, out, 1, 8000)
	g.mem = make([]byte, 1<<20)
	g.want(EINVAL, "poll_oneoff", 0, 0, maxSubscriptions+1, 8000)

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
	g.h.Context = ctx
	g.clock(in, 1, clockMonotonic, 1<<64-1, 0)
	if _, err := g.try("poll_oneoff", in, out, 1, 8000); !errors.Is(err, cause) {
		t.Errorf("a wait that is ended: %v", err)
	}
}
