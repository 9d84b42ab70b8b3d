//go:build cgo

package wasmtime

import (
	"context"
	"syscall"
	"testing"
)

// A form loads on an engine of the same settings; damaged ones are errors.
// ART-127, ART-128
func TestForms(t *testing.T) {
	c := compile(t, memories(1, 1))
	form, err := c.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	d, err := engine.Load(formFile(t, form))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l := engine.NewLinker()
	defer l.Close()
	s := engine.NewStore(StoreConfig{})
	defer s.Close()
	if _, err := l.Instantiate(context.Background(), s, d); err != nil {
		t.Error(err)
	}
	for _, n := range []int{0, 1, 7, 8, 64, len(form) / 3, len(form) / 2, len(form) - 1} {
		if c, err := engine.Load(formFile(t, form[:n])); err == nil {
			c.Close()
			t.Errorf("the first %d of %d bytes load", n, len(form))
		}
	}
	if c, err := engine.Load(formFile(t, []byte("no such thing, but long enough for a header of some kind"))); err == nil {
		c.Close()
		t.Error("text loads")
	}
	if _, err := engine.Compile([]byte("\x00asm")); err == nil {
		t.Error("a header compiles")
	}
}

// With too little stack an engine is refused instead of a process lost.
func TestSmallStack(t *testing.T) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &l); err != nil {
		t.Skip("needs RLIMIT_STACK")
	}
	small := l
	small.Cur = 512 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &small); err != nil {
		t.Skip("can not lower RLIMIT_STACK")
	}
	e, err := NewEngine()
	if restore := syscall.Setrlimit(syscall.RLIMIT_STACK, &l); restore != nil {
		t.Fatal(restore)
	}
	if err == nil {
		e.Close()
		t.Error("an engine starts with 512 KiB of stack")
	}
}
