package onwazero

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
)

// module exports a function and a memory: (module (memory (export "memory") 1)
// (func (export "_start"))).
var module = []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x05\x03\x01\x00\x01" +
	"\x07\x13\x02\x06memory\x02\x00\x06_start\x00\x00\x0a\x04\x01\x02\x00\x0b")

func compile(t *testing.T) (runner.Engine, runner.Program) {
	t.Helper()
	e, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Compile(context.Background(), module)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return e, p
}

// ART-127, ART-128: a form that is not what was written, or that wazero would not
// take as it is, is refused.
func TestForms(t *testing.T) {
	e, p := compile(t)
	form, err := p.Form()
	if err != nil {
		t.Fatal(err)
	}
	load := func(b []byte) error {
		path := filepath.Join(t.TempDir(), "form")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := e.Load(context.Background(), f)
		if err != nil {
			return err
		}
		if _, err := p.Form(); err == nil {
			t.Error("what was loaded from a form has one of its own")
		}
		return p.Close()
	}
	if err := load(form); err != nil {
		t.Error(err)
	}
	// wazero guards its code with a checksum; the caller's hash is what counts.
	flipped := bytes.Clone(form)
	flipped[len(flipped)-60] ^= 1
	for name, b := range map[string][]byte{
		"longer":            append(bytes.Clone(form), 0),
		"other fingerprint": bytes.Replace(form, []byte(e.Info().Fingerprint), []byte("wazero-0000"), 1),
		"other file":        bytes.Replace(form, []byte(`"file":"`), []byte(`"file":"../`), 1),
		"other name":        bytes.Replace(form, []byte(`"file":"`), []byte(`"file":"x`), 1),
		"flipped bit":       flipped,
	} {
		if err := load(b); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}

// Without a temporary directory a guest runs and has no form (ART-129).
func TestNoTemporaryDirectory(t *testing.T) {
	t.Setenv("TMPDIR", "/nonexistent")
	_, p := compile(t)
	if _, err := p.Form(); err == nil {
		t.Error("it has a form")
	}
}
