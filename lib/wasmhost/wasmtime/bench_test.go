//go:build cgo

package wasmtime

import (
	"context"
	"testing"
)

// BenchmarkHostCall measures one call from a guest to a host function: with a
// number, with a borrowed resource, and with a resource made and dropped.
func BenchmarkHostCall(b *testing.B) {
	closed := 0
	for _, name := range []string{"nloop", "loop", "churn"} {
		b.Run(name, func(b *testing.B) {
			g := start(b, resourceGuest, StoreConfig{}, things(&closed))
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := g.call(context.Background(), name, 1, uint32(b.N)); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkWarmCall measures a call of a function that does next to nothing.
func BenchmarkWarmCall(b *testing.B) {
	g := start(b, echoText("", "u32", "i32"), StoreConfig{}, Interface{Name: "t:e/e@0.1.0", Funcs: map[string]Func{
		"echo": func(_ *Call, a []Val) (Val, error) { return a[0], nil },
	}})
	ix, err := g.c.Index("", "f")
	if err != nil {
		b.Fatal(err)
	}
	defer ix.Close()
	f, err := g.i.Func(ix)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Call(context.Background(), 1, uint32(7)); err != nil {
			b.Fatal(err)
		}
	}
}
