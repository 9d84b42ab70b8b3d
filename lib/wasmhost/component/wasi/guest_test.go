package wasi

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// TestToolChainGuest runs a component as tool chains make it, from C with
// wasi-libc and the preview 1 adapter, plain and wrapped. (testdata/files.c
// checks itself, testdata/build.sh builds it.)
func TestToolChainGuest(t *testing.T) {
	p := needEngine(t)
	e, _ := testEngine()
	plain, err := os.ReadFile("testdata/files.wasm")
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := Wrap(plain)
	if err != nil || bytes.Equal(plain, wrapped) {
		t.Fatal("not wrapped", err)
	}
	for name, b := range map[string][]byte{"plain": plain, "wrapped": wrapped} {
		c, err := e.Compile(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		work, path := testDir(t)
		state, _ := testDir(t)
		state.Guest = "state"
		os.WriteFile(path+"/../x", []byte("x"), 0o600)
		var out bytes.Buffer
		in := New(Config{Args: []string{"files"}, Env: []string{"K=v"}, Dirs: []wasmhost.Dir{work, state}, Stdout: &out, Stderr: &out})
		s := e.NewStore(wasmtime.StoreConfig{Data: in, MemoryBytes: 16 << 20})
		i, err := p.linker.Instantiate(context.Background(), s, c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var run string
		for _, x := range c.Exports() {
			run = x
		}
		ix, err := c.Index(run, "run")
		if err != nil {
			t.Fatal(err)
		}
		f, err := i.Func(ix)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Call(context.Background(), 1)
		var exit *wasmtime.Error
		if !errors.As(err, &exit) || exit.Kind != wasmtime.Exited || exit.Status != 1 || out.String() != "args 1 files env v\ndone\n" {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
		ix.Close()
		s.Close()
		in.Close()
		c.Close()
	}
}
