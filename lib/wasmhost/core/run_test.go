package core_test

import (
	"context"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// WIT-46, WIT-51, WIT-62
func TestToolCommand(t *testing.T) {
	in := instance()
	in.Env = []string{"A=1", "B=x=y", "PWD=/elsewhere"}
	if got := run(t, in, do{"do": "echo", "text": "héllo"}); got != "héllo" {
		t.Errorf("echo: %q", got)
	}
	if got := run(t, in, do{"do": "args"}); got != "try tool-run" {
		t.Errorf("args: %q", got)
	}
	if got := run(t, in, do{"do": "env"}); got != "A=1\nB=x=y\nPWD=/" {
		t.Errorf("env: %q", got)
	}
}

func BenchmarkCompileGo(b *testing.B) {
	wasm, err := goGuest()
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes of wasm", len(wasm))
	for b.Loop() {
		g, err := engine.Compile(context.Background(), wasm, wasmhost.Tool)
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

func BenchmarkLoadGo(b *testing.B) {
	form, err := goForm()
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes of form", len(form))
	for b.Loop() {
		g, err := engine.Load(context.Background(), form, wasmhost.Tool)
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

func BenchmarkCallGo(b *testing.B) {
	in := instance()
	run(b, in, do{"do": "echo"})
	for b.Loop() {
		run(b, in, do{"do": "echo"})
	}
}
