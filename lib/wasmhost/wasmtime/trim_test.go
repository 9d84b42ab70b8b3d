//go:build cgo

package wasmtime

import (
	"bytes"
	"context"
	"debug/elf"
	"testing"
)

// A form has lost what only reports use, and nothing else: sections keep their
// bytes, their order and their alignment. On an upgrade of the library see that
// needless still names what it means to.
func TestTrim(t *testing.T) {
	m := compileModule(t, moduleText)
	whole, err := m.serialize()
	if err != nil {
		t.Fatal(err)
	}
	form, err := m.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	before, err := elf.NewFile(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	after, err := elf.NewFile(bytes.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Sections) != len(before.Sections) || len(form) >= len(whole) {
		t.Fatalf("%d sections of %d, %d bytes of %d", len(after.Sections), len(before.Sections), len(form), len(whole))
	}
	gone := 0
	for i, s := range before.Sections {
		a := after.Sections[i]
		if needless[s.Name] {
			gone++
			if a.Size != 0 || s.Size == 0 {
				t.Errorf("%s has %d bytes of %d", s.Name, a.Size, s.Size)
			}
			continue
		}
		want, _ := s.Data()
		got, err := a.Data()
		if err != nil || !bytes.Equal(got, want) || a.Name != s.Name || a.Addralign > 1 && a.Offset%a.Addralign != 0 {
			t.Errorf("%s is %s at %d, same bytes: %v, %v", s.Name, a.Name, a.Offset, bytes.Equal(got, want), err)
		}
	}
	if gone != len(needless) {
		t.Errorf("%d of %d sections were found", gone, len(needless))
	}
	if again := trim(form); !bytes.Equal(again, form) {
		t.Error("trimmed twice differs")
	}
	for _, other := range [][]byte{nil, []byte("no ELF"), whole[:100]} {
		if got := trim(other); !bytes.Equal(got, other) {
			t.Errorf("%d bytes that are no form were changed", len(other))
		}
	}
	// The library still tells what ended a guest.
	_, in := startModule(t, link(t, moduleHost(t), loadModule(t, m)), StoreConfig{})
	if _, err := in.Call(context.Background(), "recurse"); err == nil || err.Error() != "wasm trap: call stack exhausted" {
		t.Errorf("a loaded guest: %v", err)
	}
}
