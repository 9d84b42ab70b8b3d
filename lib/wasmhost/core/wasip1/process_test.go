package wasip1

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"
)

// guest is a memory and the host of its instance.
type guest struct {
	t   testing.TB
	h   *Host
	mem []byte
}

func newGuest(t testing.TB, c Config) *guest {
	h := New(c)
	h.Context = context.Background()
	t.Cleanup(h.Close)
	return &guest{t, h, make([]byte, 1<<16)}
}

// try calls a function; the arguments have garbage in the upper half of what has
// 32 bits.
func (g *guest) try(name string, arguments ...uint64) (Errno, error) {
	f, ok := table[name]
	if !ok {
		g.t.Fatalf("there is no function %s", name)
	}
	params, _, _ := strings.Cut(f.Type, ":")
	if len(params) != len(arguments) {
		g.t.Fatalf("%s takes %s, not %d arguments", name, f.Type, len(arguments))
	}
	words := make([]uint64, max(1, len(arguments)))
	copy(words, arguments)
	for i, p := range params {
		if p == 'i' {
			words[i] |= 0xdeadbeef << 32
		}
	}
	if err := f.Call(g.h, g.mem, words); err != nil {
		return 0, err
	}
	return Errno(words[0]), nil
}

// call calls a function that does not end the guest.
func (g *guest) call(name string, arguments ...uint64) Errno {
	g.t.Helper()
	errno, err := g.try(name, arguments...)
	if err != nil {
		g.t.Fatalf("%s%v: %v", name, arguments, err)
	}
	return errno
}

// want calls a function and compares its number.
func (g *guest) want(errno Errno, name string, arguments ...uint64) {
	g.t.Helper()
	if got := g.call(name, arguments...); got != errno {
		g.t.Errorf("%s%v: %v, want %v", name, arguments, got, errno)
	}
}

func (g *guest) u32(at int) uint32 { return binary.LittleEndian.Uint32(g.mem[at:]) }
func (g *guest) u64(at int) uint64 { return binary.LittleEndian.Uint64(g.mem[at:]) }

// put lays bytes into memory.
func (g *guest) put(at int, b string) { copy(g.mem[at:], b) }

func (g *guest) putU32(at int, values ...uint32) {
	for i, v := range values {
		binary.LittleEndian.PutUint32(g.mem[at+4*i:], v)
	}
}

// text reads up to a NUL.
func (g *guest) text(at uint32) string {
	s, _, _ := strings.Cut(string(g.mem[at:]), "\x00")
	return s
}

const (
	most = 1<<32 - 1 // the largest pointer and length
	last = 1<<16 - 1 // the last byte of the memory of a test
)

// WIT-61, WIT-62
func TestStrings(t *testing.T) {
	for _, names := range [][2]string{{"args_sizes_get", "args_get"}, {"environ_sizes_get", "environ_get"}} {
		values := []string{"one", "", "A=b c"}
		g := newGuest(t, Config{Args: values, Env: values})
		sizes, get := names[0], names[1]
		g.want(0, sizes, 0, 4)
		if n, size := g.u32(0), g.u32(4); n != 3 || size != 11 {
			t.Errorf("%s: %d strings, %d bytes", sizes, n, size)
		}
		g.want(0, get, 16, 64)
		for i, v := range values {
			if got := g.text(g.u32(16 + 4*i)); got != v {
				t.Errorf("%s: string %d is %q", get, i, got)
			}
		}
		g.want(0, get, 16, last-10)
		for _, a := range [][]uint64{{16, last - 9}, {last - 10, 64}, {most, 64}, {16, most}} {
			g.want(EFAULT, get, a...)
		}
		for _, a := range [][]uint64{{0, last - 2}, {last - 2, 0}, {most, 0}, {0, most}} {
			g.want(EFAULT, sizes, a...)
		}
		empty := newGuest(t, Config{})
		empty.want(0, sizes, 0, 4)
		empty.want(0, get, last+1, last+1)
	}
}

// WIT-63
func TestClocks(t *testing.T) {
	g := newGuest(t, Config{})
	for clock, resolution := range []uint64{1000, 1} {
		g.want(0, "clock_res_get", uint64(clock), 8)
		if got := g.u64(8); got != resolution {
			t.Errorf("clock %d: resolution %d", clock, got)
		}
		g.want(EFAULT, "clock_res_get", uint64(clock), last-6)
		g.want(EFAULT, "clock_time_get", uint64(clock), 1, most)
	}
	before := time.Now()
	g.want(0, "clock_time_get", clockRealtime, 1, 8)
	if now := time.Unix(0, int64(g.u64(8))); now.Before(before) || now.After(time.Now()) {
		t.Errorf("the time of day is %v", now)
	}
	g.want(0, "clock_time_get", clockMonotonic, 1, 8)
	g.want(0, "clock_time_get", clockMonotonic, 1, 16)
	if first, second := g.u64(8), g.u64(16); first == 0 || second < first {
		t.Errorf("the monotonic clock says %d, then %d", first, second)
	}
	for _, clock := range []uint64{2, 3, 4, most} {
		g.want(EINVAL, "clock_time_get", clock, 1, 8)
		g.want(EINVAL, "clock_res_get", clock, 8)
	}
}

// WIT-63
func TestRandom(t *testing.T) {
	g := newGuest(t, Config{})
	g.want(0, "random_get", 1, 64)
	g.want(0, "random_get", 65, 64)
	if string(g.mem[1:65]) == string(g.mem[65:129]) || g.mem[0] != 0 || g.mem[129] != 0 {
		t.Errorf("random bytes: %x", g.mem[:130])
	}
	g.want(0, "random_get", last+1, 0)
	for _, a := range [][]uint64{{last, 2}, {0, most}, {most, most}, {last + 2, 0}} {
		g.want(EFAULT, "random_get", a...)
	}
}

// WIT-61
func TestEnds(t *testing.T) {
	for _, name := range []string{"proc_exit", "proc_raise"} {
		g := newGuest(t, Config{})
		_, err := g.try(name, most)
		var exit *Exit
		var signal *Signal
		if errors.As(err, &exit) && exit.Status == most || errors.As(err, &signal) && signal.Number == most {
			continue
		}
		t.Errorf("%s: %v", name, err)
	}
	g := newGuest(t, Config{})
	g.want(0, "sched_yield")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	g.h.Context = ctx
	if _, err := g.try("sched_yield"); !errors.Is(err, cause) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// WIT-61
func TestSockets(t *testing.T) {
	g := newGuest(t, Config{})
	for name, f := range table {
		if strings.HasPrefix(name, "sock_") {
			params, _, _ := strings.Cut(f.Type, ":")
			g.want(ENOTSUP, name, make([]uint64, len(params))...)
		}
	}
}
