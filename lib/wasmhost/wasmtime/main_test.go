//go:build cgo

package wasmtime

import (
	"context"
	"os"
	"testing"
)

var engine *Engine

func TestMain(m *testing.M) {
	var err error
	if engine, err = NewEngine(); err != nil {
		panic(err)
	}
	code := m.Run()
	engine.Close()
	os.Exit(code)
}

// guest is a compiled text component with a linker and a store of its own.
type guest struct {
	t testing.TB
	c *Component
	l *Linker
	s *Store
	i *Instance
}

func compile(t testing.TB, text string) *Component {
	t.Helper()
	b, err := Wat(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := engine.Compile(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func start(t testing.TB, text string, cfg StoreConfig, ifaces ...Interface) *guest {
	t.Helper()
	g := &guest{t: t, c: compile(t, text), l: engine.NewLinker()}
	if err := g.l.Define(ifaces...); err != nil {
		t.Fatal(err)
	}
	g.s = engine.NewStore(cfg)
	t.Cleanup(func() { g.s.Close(); g.l.Close() })
	var err error
	if g.i, err = g.l.Instantiate(context.Background(), g.s, g.c); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *guest) call(ctx context.Context, name string, results int, args ...Val) ([]Val, error) {
	g.t.Helper()
	ix, err := g.c.Index("", name)
	if err != nil {
		g.t.Fatal(err)
	}
	defer ix.Close()
	f, err := g.i.Func(ix)
	if err != nil {
		g.t.Fatal(err)
	}
	return f.Call(ctx, results, args...)
}
