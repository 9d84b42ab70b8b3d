package core_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// sameVerdict wants Vet to say what Compile says, and reports whether they refuse.
func sameVerdict(t testing.TB, wasm []byte, kind wasmhost.Kind) *wasmhost.LoadError {
	t.Helper()
	g, err := engine.Compile(t.Context(), wasm, kind)
	if err == nil {
		g.Close()
	}
	if vet := engine.Vet(t.Context(), wasm, kind); fmt.Sprint(vet) != fmt.Sprint(err) {
		t.Errorf("Vet says %v, Compile %v", vet, err)
	}
	var le *wasmhost.LoadError
	if err != nil && !errors.As(err, &le) {
		t.Errorf("error of type %T", err)
	}
	return le
}

// bodies is a command of many functions, of which one has the code.
func bodies(n int, code []byte) []byte {
	w := command(nil)
	for i := range n {
		f := fn{sig: "i:i", locals: 2, code: slices.Concat([]byte{0x20, 0}, bytes.Repeat(append(i32(int64(i)), 0x6a), 20))}
		if i == n/2 {
			f.code = code
		}
		w.funcs = append(w.funcs, f)
	}
	return w.bytes()
}

// What only the engine sees is refused by Vet as by Compile, with its words, and
// what it takes passes. SES-271, ART-114, WIT-2
func TestVet(t *testing.T) { onEach(t, testVet) }

func testVet(t *testing.T) {
	goGuest, err := goGuest()
	if err != nil {
		t.Fatal(err)
	}
	good := command(nil, coreModule, "slot_len", ":i").bytes()
	table := func(min, max uint32) []byte {
		return wasm{table: []uint32{min, max}, funcs: []fn{{export: "_start", sig: ":"}}}.bytes()
	}
	cut := func(wasm []byte, n int) []byte { return wasm[:len(wasm)-n] }
	// edit changes the one place where old stands.
	edit := func(wasm []byte, old, new string) []byte {
		if bytes.Count(wasm, []byte(old)) != 1 {
			t.Fatalf("%q stands %d times", old, bytes.Count(wasm, []byte(old)))
		}
		return bytes.Replace(wasm, []byte(old), []byte(new), 1)
	}
	for _, tc := range []struct {
		name   string
		wasm   []byte
		reason wasmhost.LoadReason // "" passes
	}{
		{"command", good, ""},
		{"reactor", reactor(nil, i32(0)).bytes(), ""},
		{"many functions", bodies(300, i32(7)), ""},
		{"made by the Go compiler", goGuest, ""},
		{"one of many functions", bodies(300, []byte{0x42, 7}), wasmhost.NoCompile}, // an i64 is no i32
		{"empty stack", command([]byte{opDrop}).bytes(), wasmhost.NoCompile},
		{"unknown local", command([]byte{0x20, 9, opDrop}).bytes(), wasmhost.NoCompile},
		{"unknown function", command([]byte{opCall, 9}).bytes(), wasmhost.NoCompile},
		{"unknown instruction", command([]byte{0xff}).bytes(), wasmhost.NoCompile},
		{"block that does not end", command([]byte{opLoop, opVoid}).bytes(), wasmhost.NoCompile},
		{"atomics", command([]byte{0xfe, 0x03, 0x00}).bytes(), wasmhost.NoCompile},
		{"vectors", command(slices.Concat([]byte{0xfd, 12}, make([]byte, 16), []byte{opDrop})).bytes(), ""},
		{"start that takes an argument", wasm{start: []byte{opDrop}, funcs: []fn{{export: "_start", sig: ":"}}}.bytes(), wasmhost.NoCompile},
		{"memory beyond the format", wasm{memory: []uint32{1 << 17}, funcs: []fn{{export: "_start", sig: ":"}}}.bytes(), wasmhost.NoCompile},
		{"memory with least above most", wasm{memory: []uint32{2, 1}, funcs: []fn{{export: "_start", sig: ":"}}}.bytes(), wasmhost.NoCompile},
		{"table with least above most", table(2, 1), wasmhost.NoCompile},
		{"data outside the memory", wasm{memory: []uint32{0}, data: "x", funcs: []fn{{export: "_start", sig: ":"}}}.bytes(), ""}, // a trap of each run
		{"a section of code cut off", cut(command(nil).bytes(), 1), wasmhost.BadFormat},
		{"code that is missing", cut(command(nil).bytes(), 6), wasmhost.NoCompile},
		{"Go program, cut off", cut(goGuest, len(goGuest)/2), wasmhost.BadFormat},
		{"unknown import", command(nil, "env", "abort", ":").bytes(), wasmhost.BadImport},
		{"import at another version", edit(good, "core@0.1.0", "core@0.2.0"), wasmhost.BadVersion},
		{"no export", edit(good, "_start", "_stort"), wasmhost.BadExport},
		{"no module", []byte("not a guest"), wasmhost.BadFormat},
	} {
		t.Run(tc.name, func(t *testing.T) {
			le := sameVerdict(t, tc.wasm, wasmhost.Tool)
			if (le == nil) != (tc.reason == "") || le != nil && le.Reason != tc.reason {
				t.Errorf("refused with %v, want %q", le, tc.reason)
			}
		})
	}
	// Tables are bounded when they are made; engines differ in what they compile.
	for _, n := range []uint32{1e6, 1e7, 2e7, 1<<32 - 1} {
		sameVerdict(t, table(n, 1<<32-1), wasmhost.Tool)
	}
}

// Vet and Compile agree about any bytes.
func FuzzVet(f *testing.F) {
	f.Add(bodies(3, i32(7)))
	f.Add(reactor(nil, i32(0), coreModule, "slot_len", ":i").bytes())
	f.Add(wasm{table: []uint32{1, 2}, memory: []uint32{1, 2}, data: "x", start: []byte{}, funcs: []fn{{export: "_start", sig: ":"}}}.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2000 {
			t.Skip("long to compile")
		}
		for _, engine = range engines {
			sameVerdict(t, b, wasmhost.Tool)
		}
		engine = engines[0]
	})
}
