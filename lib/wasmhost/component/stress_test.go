//go:build cgo

package component

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// TestParallel runs one guest on eight goroutines at a time, each call with an
// input, streams and an end of its own. WIT-51
func TestParallel(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 60 {
				mine := fmt.Sprintf("q%d-%d", n, i)
				in := &wasmhost.Instance{Name: mine, Limits: wasmhost.Limits{MemoryBytes: 2 << 20, Deadline: 20 * time.Second}}
				want := wasmhost.Cause("")
				switch i % 6 {
				case 1:
					mine, want = "u", wasmhost.Trapped
				case 2:
					mine, want = "g", wasmhost.LimitReached
				case 3:
					mine, want = "s", wasmhost.DeadlinePassed
					in.Limits.Deadline = 5 * time.Millisecond
				case 4:
					mine, want = "z", wasmhost.DeadlinePassed
					in.Limits.Deadline = 5 * time.Millisecond
				case 5:
					mine = "ask" + mine
					in.Imports.RequestInput = func(_ context.Context, prompt string) (string, error) { return prompt, nil }
				}
				r, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: &mine})
				var f *wasmhost.Fault
				if want == "" && (err != nil || *r.Data != mine) || want != "" && (!errors.As(err, &f) || f.Cause != want) {
					t.Errorf("%s: %v", mine, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// resident returns the process's resident memory in MiB.
func resident(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("needs /proc")
	}
	var size, rss int
	fmt.Sscan(string(b), &size, &rss)
	return rss * os.Getpagesize() >> 20
}

// TestFlat makes 10,000 instances, trapped and interrupted ones among them:
// neither memory, nor descriptors, nor goroutines grow with them.
func TestFlat(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	rounds, each := 5, 2000
	if testing.Short() {
		each = 400
	}
	var before, goroutines int
	for round := range rounds {
		for i := range each {
			data := "q"
			in := &wasmhost.Instance{Limits: wasmhost.Limits{MemoryBytes: 1 << 20}}
			switch {
			case i%10 == 1:
				data = "u"
			case i%10 == 2:
				data = "g"
			case i%200 == 3:
				data, in.Limits.Deadline = "z", time.Millisecond
			}
			_, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: &data})
			if (err == nil) != (data == "q") {
				t.Fatal(data, err)
			}
		}
		runtime.GC()
		if round == 0 {
			before, goroutines = resident(t), runtime.NumGoroutine()
		}
	}
	if now := resident(t); now > before+16 {
		t.Errorf("%d MiB after %d instances, %d MiB after %d", before, each, now, rounds*each)
	}
	if now := runtime.NumGoroutine(); now > goroutines+2 {
		t.Errorf("%d goroutines, then %d", goroutines, now)
	}
}
