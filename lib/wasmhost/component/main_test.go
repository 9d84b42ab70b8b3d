//go:build cgo

package component

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

var engine *Engine

func TestMain(m *testing.M) {
	var err error
	if engine, err = New(); err != nil {
		panic(err)
	}
	code := m.Run()
	engine.Close()
	os.Exit(code)
}

func wat(t testing.TB, text string) []byte {
	t.Helper()
	b, err := Wat(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return wat(t, string(b))
}

func compile(t testing.TB, wasm []byte, kind wasmhost.Kind) wasmhost.Guest {
	t.Helper()
	g, err := engine.Compile(context.Background(), wasm, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func ptr(s string) *string { return &s }

// formFile is a file that holds a compiled form.
func formFile(t testing.TB, form []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "form")
	if err := os.WriteFile(path, form, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
