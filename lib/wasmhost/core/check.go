package core

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
	"github.com/mur-capsules/mur/lib/wasmhost/core/wasip1"
)

// Interface is the import module of the core-module interface (WIT-34).
const Interface = "murmur:core@0.1.0"

const corePrefix = "murmur:core@"

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

	sigNothing = sections.Signature(":")
	sigStatus  = sections.Signature(":i")
)

// Check tells whether wasm is a core module that imports and exports what a
// guest of this kind may and must (WIT-4, WIT-34, WIT-35), without compiling
// it: mur-stage and mur-lock ask it. The error is a *wasmhost.LoadError. A
// module that passes may still be refused by Compile, for the reason NoCompile.
func Check(wasm []byte, kind wasmhost.Kind) (Shape, error) {
	if wasmhost.Export(kind) == "" {
		return "", unknownKind(kind)
	}
	if !bytes.HasPrefix(wasm, sections.Header) {
		return "", &wasmhost.LoadError{Reason: wasmhost.BadFormat, Err: errors.New("the first eight bytes are not those of a core module")}
	}
	m, err := sections.Read(wasm)
	if err != nil {
		return "", &wasmhost.LoadError{Reason: wasmhost.BadFormat, Err: err}
	}
	if err := checkImports(m); err != nil {
		return "", err
	}
	shape, err := checkExports(m)
	if err != nil {
		return "", err
	}
	return shape, nil
}

func checkImports(m *sections.Module) error {
	for _, imp := range m.Imports {
		served, known := coreSignatures, imp.Module == Interface
		if imp.Module == wasip1.Module {
			served, known = wasiSignatures, true
		}
		if strings.HasPrefix(imp.Module, corePrefix) && !known {
			return &wasmhost.LoadError{Reason: wasmhost.BadVersion, Name: imp.Module, Served: Interface}
		}
		name := imp.Module + "." + imp.Name
		want, ok := served[imp.Name]
		if !known || !ok {
			return &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: name}
		}
		if imp.Type != want {
			return &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: name,
				Err: fmt.Errorf("its type is %s, served is %s", imp.Type.Text(), want.Text())}
		}
	}
	if m.Foreign != "" {
		return &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: m.Foreign, Err: errors.New("only functions are served")}
	}
	return nil
}

func checkExports(m *sections.Module) (Shape, error) {
	bad := func(name, format string, args ...any) error {
		return &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: name, Err: fmt.Errorf(format, args...)}
	}
	if e, ok := m.Exports[exportMemory]; !ok || e.Kind != sections.Memory {
		return "", bad(exportMemory, "a memory of that name is needed")
	}
	if len(m.Memories) != 1 {
		return "", bad(exportMemory, "exactly one memory is needed, it has %d", len(m.Memories))
	}
	has := func(name string) bool { _, ok := m.Exports[name]; return ok }
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

func wantSignature(m *sections.Module, name string, want sections.Signature) error {
	if got, ok := m.ExportedFunc(name); !ok || got != want {
		return &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: name,
			Err: fmt.Errorf("it must be a function of type %s", want.Text())}
	}
	return nil
}
