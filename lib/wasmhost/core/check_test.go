package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
)

func reactor(init, handle []byte, imports ...string) wasm {
	return wasm{imports: imports, funcs: []fn{
		{export: "_initialize", sig: ":", code: init},
		{export: "murmur_handle", sig: ":i", code: handle},
	}}
}

// WIT-2, WIT-4, WIT-5, WIT-34, WIT-35
func TestCheck(t *testing.T) { onEach(t, testCheck) }

func testCheck(t *testing.T) {
	good := command(nil)
	tests := []struct {
		name   string
		wasm   []byte
		shape  core.Shape
		reason wasmhost.LoadReason
		says   string
	}{
		{"command", good.bytes(), core.Command, "", ""},
		{"reactor", reactor(nil, i32(0)).bytes(), core.Reactor, "", ""},
		{"served imports", command(nil, coreModule, "slot_len", ":i", wasiModule, "fd_write", "iiii:i").bytes(), core.Command, "", ""},
		{"empty", nil, "", wasmhost.BadFormat, "first eight bytes"},
		{"text", []byte("#!/bin/sh\necho"), "", wasmhost.BadFormat, "first eight bytes"},
		{"component", []byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}, "", wasmhost.BadFormat, "core module"},
		{"cut off", good.bytes()[:20], "", wasmhost.BadFormat, "ends inside"},
		{"newer core", command(nil, "murmur:core@0.2.0", "slot_len", ":i").bytes(), "", wasmhost.BadVersion, "murmur:core@0.2.0; this host serves murmur:core@0.1.0"},
		{"component interface", command(nil, "murmur:text/chunks@0.1.0", "emit-chunk", "ii:").bytes(), "", wasmhost.BadImport, "murmur:text/chunks@0.1.0.emit-chunk"},
		{"other module", command(nil, "env", "abort", ":").bytes(), "", wasmhost.BadImport, "env.abort"},
		{"unknown function", command(nil, coreModule, "exec", ":i").bytes(), "", wasmhost.BadImport, coreModule + ".exec"},
		{"unknown WASI function", command(nil, wasiModule, "sock_connect", ":i").bytes(), "", wasmhost.BadImport, "sock_connect"},
		{"other type", command(nil, coreModule, "slot_len", "i:i").bytes(), "", wasmhost.BadImport, "its type is (i32) -> i32, served is () -> i32"},
		{"no memory", wasm{noMem: true, funcs: []fn{{export: "_start", sig: ":"}}}.bytes(), "", wasmhost.BadExport, "memory"},
		{"neither shape", wasm{funcs: []fn{{export: "main", sig: ":"}}}.bytes(), "", wasmhost.BadExport, "_start or murmur_handle"},
		{"both shapes", wasm{funcs: []fn{{export: "_start", sig: ":"}, {export: "_initialize", sig: ":"},
			{export: "murmur_handle", sig: ":i", code: i32(0)}}}.bytes(), "", wasmhost.BadExport, "both"},
		{"handler alone", wasm{funcs: []fn{{export: "murmur_handle", sig: ":i", code: i32(0)}}}.bytes(), "", wasmhost.BadExport, "_initialize"},
		{"start with a result", wasm{funcs: []fn{{export: "_start", sig: ":i", code: i32(0)}}}.bytes(), "", wasmhost.BadExport, "() -> nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shape, err := core.Check(tt.wasm, wasmhost.Tool)
			if shape != tt.shape {
				t.Errorf("shape %q, want %q", shape, tt.shape)
			}
			if tt.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				g, err := engine.Compile(t.Context(), tt.wasm, wasmhost.Tool)
				if err != nil {
					t.Fatalf("passes the check, but: %v", err)
				}
				g.Close()
				return
			}
			var le *wasmhost.LoadError
			if !errors.As(err, &le) || le.Reason != tt.reason || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want reason %s and %q", err, tt.reason, tt.says)
			}
		})
	}
}

func TestCheckRefusesUnknownKinds(t *testing.T) {
	if _, err := core.Check(command(nil).bytes(), "process-driver"); err == nil || !strings.Contains(err.Error(), "process-driver") {
		t.Errorf("got %v", err)
	}
}

// A body the engine refuses passes the check and fails to compile.
func TestCompileRefuses(t *testing.T) { onEach(t, testCompileRefuses) }

func testCompileRefuses(t *testing.T) {
	_, err := engine.Compile(t.Context(), command([]byte{opDrop}).bytes(), wasmhost.Tool)
	var le *wasmhost.LoadError
	if !errors.As(err, &le) || le.Reason != wasmhost.NoCompile {
		t.Errorf("got %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(command(nil, coreModule, "slot_len", ":i").bytes())
	f.Add(reactor(nil, i32(0)).bytes())
	f.Add(wasm{table: []uint32{1, 2}, memory: []uint32{1, 2}, data: "x", start: []byte{}, funcs: []fn{{export: "_start", sig: ":"}}}.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		shape, err := core.Check(b, wasmhost.Tool)
		var le *wasmhost.LoadError
		if err != nil && !errors.As(err, &le) {
			t.Errorf("error of type %T", err)
		}
		if (err == nil) != (shape != "") {
			t.Errorf("shape %q beside %v", shape, err)
		}
		// What the engine takes, the check must have understood.
		if err != nil && le.Reason == wasmhost.BadFormat && len(b) < 300 {
			if g, cerr := engine.Compile(context.Background(), b, wasmhost.Tool); cerr == nil {
				g.Close()
				t.Errorf("compiles, but: %v", err)
			}
		}
	})
}
