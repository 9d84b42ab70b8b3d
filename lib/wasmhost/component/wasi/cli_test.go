package wasi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// WIT-31, WIT-70, CON-265: a guest has what its Config gives and nothing of the
// process.
func TestCommandLine(t *testing.T) {
	t.Setenv("WASI_TEST_SECRET", "x")
	var out, errs bytes.Buffer
	g := newGuest(t, Config{Args: []string{"tool", "a b"}, Env: []string{"K=v=w", "EMPTY"}, Stdout: &out, Stderr: &errs})
	if v := g.call("environment-get-environment"); fmt.Sprint(v) != "[{K v=w} {EMPTY }]" && fmt.Sprint(v) != "[[K v=w] [EMPTY ]]" {
		t.Errorf("environment %v", v)
	}
	if v := g.call("environment-get-arguments"); fmt.Sprint(v) != "[tool a b]" {
		t.Errorf("arguments %v", v)
	}
	in := g.call("stdin-get-stdin")
	for _, read := range []string{"streams-input-stream-read", "streams-input-stream-blocking-read"} {
		if code := g.fails(read, in, uint64(10)); code != "closed" {
			t.Errorf("standard input: %s", code)
		}
	}
	if g.call("poll-pollable-ready", g.call("streams-input-stream-subscribe", in)) != true {
		t.Error("standard input is not ready")
	}
	for _, none := range []string{"environment-initial-cwd", "terminal-stdin-get-terminal-stdin", "terminal-stdout-get-terminal-stdout", "terminal-stderr-get-terminal-stderr"} {
		if v := g.call(none).(option); v.Some {
			t.Errorf("%s: %v", none, v)
		}
	}
	g.ok("streams-output-stream-blocking-write-and-flush", g.call("stdout-get-stdout"), []byte("one"))
	o := g.call("stderr-get-stderr")
	if v := g.ok("streams-output-stream-check-write", o); v != uint64(Chunk) {
		t.Errorf("room %v", v)
	}
	g.ok("streams-output-stream-write-zeroes", o, uint64(3))
	g.ok("streams-output-stream-blocking-write-zeroes-and-flush", o, uint64(2))
	g.ok("streams-output-stream-flush", o)
	g.ok("streams-output-stream-blocking-flush", o)
	if out.String() != "one" || errs.String() != "\x00\x00\x00\x00\x00" {
		t.Errorf("printed %q and %q", out.String(), errs.String())
	}
	if v := g.call("preopens-get-directories").(list); len(v) != 0 {
		t.Errorf("directories %v", v)
	}
	for call, want := range map[string]val{"exit-exit": wasmtime.Ok(nil), "exit-exit-with-code": uint8(7)} {
		g := newGuest(t, Config{})
		_, err := g.try(call, want)
		var e *wasmtime.Error
		if !errors.As(err, &e) || e.Kind != wasmtime.Exited || e.Status != map[string]int{"exit-exit": 0, "exit-exit-with-code": 7}[call] {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestStdoutErrors: what the writer says reaches the guest, by both ways.
func TestStdoutErrors(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(errors.New("full"))
	g := newGuest(t, Config{Stdout: w})
	res := g.call("streams-output-stream-write", g.call("stdout-get-stdout"), []byte("x")).(result)
	if res.OK || res.V.(variant).Name != "last-operation-failed" {
		t.Fatalf("write: %v", res)
	}
	if s := g.call("error-error-to-debug-string", res.V.(variant).V); s != "full" {
		t.Errorf("error %v", s)
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pw.Close()
	defer pr.Close()
	g = newGuest(t, Config{Stdout: pw}) // nobody reads: the pipe fills up
	out := g.call("stdout-get-stdout")
	// More than a pipe holds, in pieces that the guest hands over long before the
	// deadline; Close wakes the writer.
	interrupted(t, g, "streams-output-stream-blocking-write-and-flush", out, make([]byte, Chunk+10))
	select {
	case <-g.wasi.stdout.ended:
	default:
		t.Error("the goroutine of the blocked write is left")
	}
}

func TestClocksAndRandom(t *testing.T) {
	now := time.Unix(1_700_000_000, 5)
	g := newGuest(t, Config{Now: func() time.Time { return now }, Rand: bytes.NewReader(bytes.Repeat([]byte{1}, 1000))})
	if v := g.call("wall-clock-now").(record); v.Get("seconds") != uint64(1_700_000_000) || v.Get("nanoseconds") != uint32(5) {
		t.Errorf("now %v", v)
	}
	if v := g.call("wall-clock-resolution").(record); v.Get("nanoseconds") != uint32(1) {
		t.Errorf("resolution %v", v)
	}
	t0 := g.call("monotonic-clock-now").(uint64)
	p := g.call("monotonic-clock-subscribe-duration", uint64(30*time.Millisecond))
	if g.call("poll-pollable-ready", p) != false {
		t.Error("ready too early")
	}
	at := g.call("monotonic-clock-subscribe-instant", t0+uint64(10*time.Millisecond))
	if v := g.call("poll-poll", list{p, at, p}).(list); fmt.Sprint(v) != "[1]" {
		t.Errorf("poll: %v", v)
	}
	g.call("poll-pollable-block", p)
	if d := g.call("monotonic-clock-now").(uint64) - t0; d < uint64(30*time.Millisecond) {
		t.Errorf("slept %d", d)
	}
	if v := g.call("poll-poll", list{at, p}).(list); fmt.Sprint(v) != "[0 1]" {
		t.Errorf("poll: %v", v)
	}
	g.drop("pollable", p)
	if v := g.call("random-get-random-bytes", uint64(5)); !bytes.Equal(listBytes(v), []byte{1, 1, 1, 1, 1}) {
		t.Errorf("random bytes %v", v)
	}
	if v := g.call("random-get-random-u64"); v != uint64(0x0101010101010101) {
		t.Errorf("random number %v", v)
	}
	g.call("insecure-get-insecure-random-bytes", uint64(5))
	g.call("insecure-get-insecure-random-u64")
	g.call("insecure-seed-insecure-seed")
	h := newGuest(t, Config{})
	if a, b := h.call("random-get-random-u64"), h.call("random-get-random-u64"); a == b {
		t.Error("two random numbers are the same")
	}
}

// WIT-26, CON-266: sockets are linked and every call is denied.
func TestSockets(t *testing.T) {
	g := newGuest(t, Config{})
	for _, family := range []val{enum("ipv4"), enum("ipv6")} {
		for _, create := range []string{"tcp-create-socket-create-tcp-socket", "udp-create-socket-create-udp-socket"} {
			if code := g.fails(create, family); code != "access-denied" {
				t.Errorf("%s: %s", create, code)
			}
		}
	}
	if code := g.fails("ip-name-lookup-resolve-addresses", g.call("instance-network-instance-network"), "localhost"); code != "access-denied" {
		t.Errorf("resolve-addresses: %s", code)
	}
}

func TestSplice(t *testing.T) {
	dir, path := testDir(t)
	os.WriteFile(path+"/f", bytes.Repeat([]byte("0123456789"), 10_000), 0o600)
	var out bytes.Buffer
	g := newGuest(t, Config{Dirs: dirs(dir), Stdout: &out})
	f := g.open(g.top(), "f", nil, flags{"read"})
	in := g.ok("types-descriptor-read-via-stream", f, uint64(3))
	o := g.call("stdout-get-stdout")
	if n := g.ok("streams-output-stream-splice", o, in, uint64(5)); n != uint64(5) || out.String() != "34567" {
		t.Errorf("splice %v %q", n, out.String())
	}
	if n := g.ok("streams-input-stream-skip", in, uint64(2)); n != uint64(2) {
		t.Errorf("skip %v", n)
	}
	if n := g.ok("streams-output-stream-blocking-splice", o, in, ^uint64(0)); n != uint64(Chunk) || !strings.HasPrefix(out.String()[5:], "0123") {
		t.Errorf("blocking-splice %v", n)
	}
	for {
		r := g.call("streams-input-stream-blocking-skip", in, ^uint64(0)).(result)
		if !r.OK {
			break
		}
	}
	if code := g.fails("streams-output-stream-splice", o, in, uint64(1)); code != "closed" {
		t.Errorf("splice at the end: %s", code)
	}
	if p := g.call("streams-output-stream-subscribe", o); g.call("poll-pollable-ready", p) != true {
		t.Error("stdout is not ready")
	}
}
