package wasi

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// interrupted calls a function under a deadline of 200 ms and checks that it ends
// the guest within the second that CON-262 gives it, and leaves nothing behind.
// (On an idle machine it takes 200 to 202 ms.)
func interrupted(t *testing.T, g *guest, name string, args ...val) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	g.ctx = ctx
	start := time.Now()
	_, err := g.try(name, args...)
	took := time.Since(start)
	var e *wasmtime.Error
	if !errors.As(err, &e) || e.Kind != wasmtime.Interrupted || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: %v", name, err)
	}
	t.Logf("%s ended after %v", name, took)
	if took < 150*time.Millisecond || took > 1200*time.Millisecond {
		t.Errorf("%s ended after %v", name, took)
	}
	start = time.Now()
	g.close()
	if d := time.Since(start); d > time.Second {
		t.Errorf("%s: closing took %v", name, d)
	}
}

// CON-261, CON-262, WIT-32
func TestDeadlines(t *testing.T) {
	srv := serve(t)
	cfg := Config{HTTP: allow(srv)}
	guest := func() *guest { return newGuest(t, cfg) }

	g := guest()
	interrupted(t, g, "poll-pollable-block", g.call("monotonic-clock-subscribe-duration", uint64(3*time.Second)))
	g = guest()
	interrupted(t, g, "poll-poll", list{g.call("monotonic-clock-subscribe-duration", ^uint64(0)), g.call("monotonic-clock-subscribe-instant", ^uint64(0))})
	g = guest()
	f := g.ok("outgoing-handler-handle", g.request("GET", srv.URL+"/slow"), wasmtime.None)
	interrupted(t, g, "poll-pollable-block", g.call("types-future-incoming-response-subscribe", f))
	g = guest()
	resp, _ := g.send(g.request("GET", srv.URL+"/stall"), wasmtime.None)
	s := g.ok("types-incoming-body-stream", g.ok("types-incoming-response-consume", resp))
	g.ok("streams-input-stream-blocking-read", s, uint64(10))
	interrupted(t, g, "streams-input-stream-blocking-read", s, uint64(10))
	g = guest()
	r := g.request("POST", srv.URL+"/echo")
	out := g.ok("types-outgoing-body-write", g.ok("types-outgoing-request-body", r)) // never handed over: nobody drains it
	g.ok("streams-output-stream-blocking-write-and-flush", out, make([]byte, Chunk))
	interrupted(t, g, "streams-output-stream-blocking-write-and-flush", out, make([]byte, Chunk))

	pr, pw := io.Pipe() // a writer that blocks for ever
	g = newGuest(t, Config{Stdout: pw})
	interrupted(t, g, "streams-output-stream-blocking-write-and-flush", g.call("stdout-get-stdout"), []byte("hello"))
	pr.Close()
}

// TestFloods: what a guest makes the host hold is bounded. WIT-73
func TestFloods(t *testing.T) {
	srv := serve(t)
	g := newGuest(t, Config{HTTP: allow(srv)})
	// An endless body is read ahead of the guest by the buffers alone.
	resp, code := g.send(g.request("GET", srv.URL+"/endless"), wasmtime.None)
	if code != "" {
		t.Fatal(code)
	}
	s := g.ok("types-incoming-body-stream", g.ok("types-incoming-response-consume", resp))
	g.ok("streams-input-stream-blocking-read", s, uint64(10))
	time.Sleep(100 * time.Millisecond)
	g.wasi.exchanges[0].Lock()
	held := g.wasi.exchanges[0].buf.Len()
	g.wasi.exchanges[0].Unlock()
	if held > Chunk+readAhead {
		t.Errorf("%d bytes held, %d on their way", held, sent.Load())
	}
	n := 1
	for ; ; n++ {
		h := g.call("outgoing-handler-handle", g.request("GET", srv.URL+"/slow"), wasmtime.None).(result)
		if !h.OK {
			if h.V.(variant).Name != "connection-limit-reached" {
				t.Errorf("too many requests: %v", h.V)
			}
			break
		}
	}
	if n != maxRequests {
		t.Errorf("%d requests at a time", n)
	}
	g.close()

	ends := func(what string, f func(g *guest) error) {
		t.Helper()
		g := newGuest(t, Config{})
		if err := f(g); err == nil {
			t.Errorf("%s: no end", what)
		}
		g.close()
	}
	ends("one large set of headers", func(g *guest) error {
		f := g.call("types-new-fields")
		for range 1000 {
			if _, err := g.try("types-fields-append", f, "a", make200()); err != nil {
				return err
			}
		}
		return nil
	})
	ends("many sets of headers", func(g *guest) error {
		for range 1000 {
			if _, err := g.try("types-fields-from-list", list{tuple{"a", []byte(strings.Repeat("v", 100_000))}}); err != nil {
				return err
			}
		}
		return nil
	})
	ends("many unsent requests", func(g *guest) error {
		for range 1000 {
			if _, err := g.try("types-new-outgoing-request", g.call("types-new-fields")); err != nil {
				return err
			}
		}
		return nil
	})
	ends("many handles", func(g *guest) error {
		for range 100_000 {
			if _, err := g.try("monotonic-clock-subscribe-duration", uint64(1)); err != nil {
				return err
			}
		}
		return nil
	})
	ends("much randomness", func(g *guest) error { _, err := g.try("random-get-random-bytes", ^uint64(0)); return err })
	ends("an empty poll", func(g *guest) error { _, err := g.try("poll-poll", list{}); return err })
	ends("a write of much more than allowed", func(g *guest) error {
		_, err := g.try("streams-output-stream-write", g.call("stdout-get-stdout"), make([]byte, Chunk+1))
		return err
	})
}

func make200() []byte { return []byte(strings.Repeat("v", 200)) }

// TestNothingIsLeft runs guests side by side, ends them in the middle of all
// they can wait for, and counts the goroutines.
func TestNothingIsLeft(t *testing.T) {
	srv := serve(t)
	needEngine(t)
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 12 {
				dir, _ := testDir(t)
				g := newGuest(t, Config{HTTP: allow(srv), Dirs: []wasmhost.Dir{dir}, Stdout: slowWriter{}})
				path := []string{"/slow", "/drip", "/stall", "/endless", "/echo", "/trailers"}[(i+n)%6]
				r := g.request("GET", srv.URL+path)
				ctx, stop := context.WithTimeout(context.Background(), time.Duration(20+n)*time.Millisecond)
				g.ctx = ctx
				if err := useUp(g, r); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				stop()
				g.close()
			}
		})
	}
	wg.Wait()
	srv.CloseClientConnections()
	for i := 0; runtime.NumGoroutine() > before+2; i++ { // the server's own end a little later
		if i == 100 {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// useUp sends r, reads its response and prints, until an error.
func useUp(g *guest, r val) (err error) {
	do := func(name string, args ...val) (v val) {
		if err == nil {
			v, err = g.try(name, args...)
		}
		if r, ok := v.(result); ok && r.OK {
			return r.V
		}
		return v
	}
	f := do("outgoing-handler-handle", r, wasmtime.None)
	do("poll-pollable-block", do("types-future-incoming-response-subscribe", f))
	v := do("types-future-incoming-response-get", f)
	if err != nil {
		return err
	}
	if r := v.(option).V.(result).V.(result); r.OK {
		s := do("types-incoming-body-stream", do("types-incoming-response-consume", r.V))
		for err == nil {
			if b, _ := do("streams-input-stream-blocking-read", s, uint64(1000)).([]byte); b == nil {
				break
			}
		}
	}
	do("streams-output-stream-blocking-write-and-flush", do("stdout-get-stdout"), []byte("x"))
	return err
}

type slowWriter struct{}

func (slowWriter) Write(p []byte) (int, error) { time.Sleep(5 * time.Millisecond); return len(p), nil }
