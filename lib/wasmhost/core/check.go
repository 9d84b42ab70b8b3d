package core

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Interface is the import module of the core-module interface (WIT-34).
const Interface = "murmur:core@0.1.0"

const (
	wasiModule = "wasi_snapshot_preview1"
	corePrefix = "murmur:core@"
)

// Shape says how a core module is run.
type Shape string

// The shapes of a core module (WIT-35).
const (
	Command Shape = "command" // runs once through _start
	Reactor Shape = "reactor" // _initialize once, murmur_handle for each call
)

// exports of the interface and their signatures.
const (
	exportMemory     = "memory"
	exportStart      = "_start"
	exportInitialize = "_initialize"
	exportHandle     = "murmur_handle"

	sigNothing = signature(":")
	sigStatus  = signature(":i")
)

// magic and version of a core module (WIT-5).
var header = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// Check tells whether wasm is a core module that imports and exports what a
// guest of this kind may and must (WIT-4, WIT-34, WIT-35), without compiling
// it: mur-stage and mur-lock ask it. The error is a *wasmhost.LoadError. A
// module that passes may still be refused by Compile, for the reason NoCompile.
func Check(wasm []byte, kind wasmhost.Kind) (Shape, error) {
	_, shape, err := inspect(wasm, kind)
	return shape, err
}

func inspect(wasm []byte, kind wasmhost.Kind) (*module, Shape, error) {
	if interfaceOf(kind) == "" {
		return nil, "", &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: "what its kind asks for", Err: fmt.Errorf("kind %q is unknown", kind)}
	}
	if !bytes.HasPrefix(wasm, header) {
		return nil, "", &wasmhost.LoadError{Reason: wasmhost.BadFormat, Err: errors.New("the first eight bytes are not those of a core module")}
	}
	m, err := parseModule(wasm)
	if err != nil {
		return nil, "", &wasmhost.LoadError{Reason: wasmhost.BadFormat, Err: err}
	}
	if err := checkImports(m); err != nil {
		return nil, "", err
	}
	shape, err := checkExports(m)
	if err != nil {
		return nil, "", err
	}
	return m, shape, nil
}

func checkImports(m *module) error {
	for _, imp := range m.imports {
		served, known := coreSignatures, imp.module == Interface
		if imp.module == wasiModule {
			served, known = wasiSignatures, true
		}
		if strings.HasPrefix(imp.module, corePrefix) && !known {
			return &wasmhost.LoadError{Reason: wasmhost.BadVersion, Name: imp.module, Served: Interface}
		}
		name := imp.module + "." + imp.name
		want, ok := served[imp.name]
		if !known || !ok {
			return &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: name}
		}
		if imp.sig != want {
			return &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: name,
				Err: fmt.Errorf("its type is %s, served is %s", imp.sig.text(), want.text())}
		}
	}
	if m.foreign != "" {
		return &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: m.foreign, Err: errors.New("only functions are served")}
	}
	return nil
}

func checkExports(m *module) (Shape, error) {
	bad := func(name, format string, args ...any) error {
		return &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: name, Err: fmt.Errorf(format, args...)}
	}
	if e, ok := m.exports[exportMemory]; !ok || e.kind != externMemory {
		return "", bad(exportMemory, "a memory of that name is needed")
	}
	if len(m.memories) != 1 {
		return "", bad(exportMemory, "exactly one memory is needed, it has %d", len(m.memories))
	}
	has := func(name string) bool { _, ok := m.exports[name]; return ok }
	start, handle := has(exportStart), has(exportHandle)
	switch {
	case start && handle:
		return "", bad("either _start or murmur_handle", "it exports both")
	case start:
		return Command, wantSignature(m, exportStart, sigNothing)
	case handle:
		if !has(exportInitialize) {
			return "", bad(exportInitialize, "a reactor exports _initialize and murmur_handle")
		}
		if err := wantSignature(m, exportInitialize, sigNothing); err != nil {
			return "", err
		}
		return Reactor, wantSignature(m, exportHandle, sigStatus)
	}
	return "", bad("_start or murmur_handle", "it is neither a command nor a reactor")
}

func wantSignature(m *module, name string, want signature) error {
	if got, ok := m.exportedFunc(name); !ok || got != want {
		return &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: name,
			Err: fmt.Errorf("it must be a function of type %s", want.text())}
	}
	return nil
}

// text spells a signature for people: (i32, i64) -> i32.
func (s signature) text() string {
	params, results, ok := strings.Cut(string(s), ":")
	if !ok {
		return "unknown"
	}
	names := map[rune]string{'i': "i32", 'I': "i64", 'f': "f32", 'F': "f64", 'r': "ref"}
	list := func(letters string) string {
		var out []string
		for _, c := range letters {
			out = append(out, names[c])
		}
		return strings.Join(out, ", ")
	}
	if results == "" {
		results = "nothing"
	} else {
		results = list(results)
	}
	return "(" + list(params) + ") -> " + results
}

// interfaceOf is the versioned export a guest of the kind stands for, whatever
// its format (WIT-25).
func interfaceOf(kind wasmhost.Kind) string {
	switch kind {
	case wasmhost.Tool, wasmhost.Driver:
		return "murmur:tool/run@0.1.0"
	case wasmhost.Capsule:
		return "murmur:capsule/run@0.1.0"
	case wasmhost.Hook:
		return "murmur:hook/lifecycle@0.9.0"
	}
	return ""
}
