//go:build cgo

package component

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime/bare"
)

func ctool(t testing.TB) []byte {
	b, err := os.ReadFile("testdata/ctool/ctool.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// BenchmarkTool makes an instance of a C guest of 66 KB and calls it once,
// through this package and by the bare loop in C over the same library, in turns
// so that both see the same machine. It reports medians: host-µs and bare-µs for
// one instance with its call, and their ratio.
func BenchmarkTool(b *testing.B) {
	const batch = 20
	g := compile(b, ctool(b), wasmhost.Tool)
	l, err := bare.New(ctool(b))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	in := &wasmhost.Instance{Name: "t"}
	var host, loop []float64
	for b.Loop() {
		began := time.Now()
		for range batch {
			if _, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: ptr("hello")}); err != nil {
				b.Fatal(err)
			}
		}
		host = append(host, float64(time.Since(began).Nanoseconds())/batch/1e3)
		ns, err := l.Call(batch)
		if err != nil {
			b.Fatal(err)
		}
		loop = append(loop, ns/1e3)
	}
	slices.Sort(host)
	slices.Sort(loop)
	h, c := host[len(host)/2], loop[len(loop)/2]
	b.ReportMetric(h, "host-µs")
	b.ReportMetric(c, "bare-µs")
	b.ReportMetric(h/c, "ratio")
}

func BenchmarkEngine(b *testing.B) {
	for b.Loop() {
		e, err := New()
		if err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		g, err := engine.Compile(context.Background(), ctool(b), wasmhost.Tool)
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

func BenchmarkLoad(b *testing.B) {
	g := compile(b, ctool(b), wasmhost.Tool)
	form, err := g.Form()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		g, err := engine.Load(context.Background(), formFile(b, form), wasmhost.Tool)
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

// BenchmarkCancel measures how long after the end of its context a busy guest
// comes back.
func BenchmarkCancel(b *testing.B) {
	g := compile(b, fixture(b, "tool.wat"), wasmhost.Tool)
	var total time.Duration
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		var at time.Time
		time.AfterFunc(2*time.Millisecond, func() { at = time.Now(); cancel() })
		if _, err := g.RunTool(ctx, &wasmhost.Instance{}, wasmhost.ToolInput{Data: ptr("s")}); err == nil {
			b.Fatal("it ended by itself")
		}
		total += time.Since(at)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs-late/op")
}
