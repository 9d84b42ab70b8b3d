package wasi

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// twin is a function that moves bytes. Beside it the host serves its packed
// twin, whose type has string in the place of list<u8> and is the same
// otherwise, so that both have the same shape in the guest's memory.
type twin struct {
	iface, name string
	write       bool   // the bytes are a parameter, else the result
	more        string // core types of the parameters after the handle and the bytes
	size        int    // of the results in memory
}

var twins = []twin{
	{"wasi:io/streams", "[method]input-stream.read", false, "i64", 12},
	{"wasi:io/streams", "[method]input-stream.blocking-read", false, "i64", 12},
	{"wasi:io/streams", "[method]output-stream.write", true, "", 12},
	{"wasi:io/streams", "[method]output-stream.blocking-write-and-flush", true, "", 12},
	{"wasi:filesystem/types", "[method]descriptor.read", false, "i64 i64", 16},
	{"wasi:filesystem/types", "[method]descriptor.write", true, "i64", 16},
}

// twin is the name of the packed function.
func (t twin) twin() string { return strings.Replace(t.name, ".", ".packed-", 1) }

// Wrapped are the interfaces, without versions, that have packed twins.
var Wrapped = []string{"wasi:io/streams", "wasi:filesystem/types"}

// Packed tells whether a function of Interfaces, by its name in WIT, is a packed
// twin: only components that went through Wrap import those.
func Packed(name string) bool { return strings.Contains(name, ".packed-") }

//go:embed shim/memory.wat
var shimMemory string

//go:embed shim/read.wat
var shimRead string

//go:embed shim/write.wat
var shimWrite string

// shim is the text of the core module that stands before a twin.
func (t twin) shim() string {
	more := strings.Fields(t.more)
	text, first, handle := shimRead, 1, []string{"i32"}
	gets := "(local.get 0)"
	if t.write {
		text, first, handle, gets = shimWrite, 3, nil, ""
	}
	for i := range more {
		gets += fmt.Sprintf(" (local.get %d)", first+i)
	}
	return strings.NewReplacer(
		"@PARAMS@", strings.Join(append(handle, more...), " "),
		"@MORE@", t.more,
		"@GETS@", gets,
		"@LAST@", fmt.Sprint(first+len(more)),
		"@SIZE@", fmt.Sprint(t.size),
	).Replace(text)
}

// shims are the core modules in the binary format: that of the memory, and one
// for each twin.
type shims struct {
	memory []byte
	twins  [][]byte
}

// assemble translates the shims, once.
var assemble = sync.OnceValues(func() (s shims, err error) {
	if s.memory, err = wasmtime.Wat(shimMemory); err != nil {
		return s, fmt.Errorf("shim memory: %w", err)
	}
	for _, t := range twins {
		b, err := wasmtime.Wat(t.shim())
		if err != nil {
			return s, fmt.Errorf("shim of %s: %w", t.name, err)
		}
		s.twins = append(s.twins, b)
	}
	return s, nil
})
