package core_test

import (
	"bytes"
	"slices"
)

// wasm assembles small modules by hand, for what no compiler would produce.
type wasm struct {
	imports []string // module, name, signature, each
	start   []byte   // code of the start section's function
	funcs   []fn
	memory  []uint32 // min, max
	table   []uint32 // min, max
	data    string   // at address 1024
	noMem   bool
}

type fn struct {
	export string
	sig    string
	locals int // of type i32
	code   []byte
}

// Instructions.
const (
	opUnreachable = 0x00
	opLoop        = 0x03
	opIf          = 0x04
	opBr          = 0x0c
	opCall        = 0x10
	opDrop        = 0x1a
	opEnd         = 0x0b
	opVoid        = 0x40
)

func leb(n int64) (out []byte) {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func uleb(n int) (out []byte) {
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

// i32 pushes a constant.
func i32(n int64) []byte { return append([]byte{0x41}, leb(int64(int32(n)))...) }

// call pushes constants and calls function index f.
func callFn(f int, args ...int64) (out []byte) {
	for _, a := range args {
		out = append(out, i32(a)...)
	}
	return append(append(out, opCall), uleb(f)...)
}

func code(parts ...any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

func vec(items ...[]byte) []byte { return append(uleb(len(items)), bytes.Join(items, nil)...) }

func text(s string) []byte { return append(uleb(len(s)), s...) }

func limitsOf(l []uint32) []byte {
	if len(l) == 1 {
		return append([]byte{0}, uleb(int(l[0]))...)
	}
	return append(append([]byte{1}, uleb(int(l[0]))...), uleb(int(l[1]))...)
}

func (w wasm) bytes() []byte {
	var sigs []string
	typeOf := func(sig string) []byte {
		if !slices.Contains(sigs, sig) {
			sigs = append(sigs, sig)
		}
		return uleb(slices.Index(sigs, sig))
	}
	var imports, funcs, bodies, exports [][]byte
	for i := 0; i < len(w.imports); i += 3 {
		imports = append(imports, code(text(w.imports[i]), text(w.imports[i+1]), 0, typeOf(w.imports[i+2])))
	}
	all := w.funcs
	if w.start != nil {
		all = append(slices.Clone(all), fn{sig: ":", code: w.start})
	}
	for i, f := range all {
		funcs = append(funcs, typeOf(f.sig))
		locals := vec()
		if f.locals > 0 {
			locals = vec(append(uleb(f.locals), 0x7f))
		}
		body := code(locals, f.code, opEnd)
		bodies = append(bodies, append(uleb(len(body)), body...))
		if f.export != "" {
			exports = append(exports, code(text(f.export), 0, uleb(len(imports)+i)))
		}
	}
	if !w.noMem {
		exports = append(exports, code(text("memory"), 2, 0))
	}
	var types [][]byte
	for _, s := range sigs {
		var params, results []byte
		into := &params
		for _, c := range s {
			if c == ':' {
				into = &results
				continue
			}
			*into = append(*into, map[rune]byte{'i': 0x7f, 'I': 0x7e}[c])
		}
		types = append(types, code(0x60, uleb(len(params)), params, uleb(len(results)), results))
	}
	if w.memory == nil {
		w.memory = []uint32{1}
	}
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	section := func(id byte, body []byte) {
		out = append(append(append(out, id), uleb(len(body))...), body...)
	}
	section(1, vec(types...))
	section(2, vec(imports...))
	section(3, vec(funcs...))
	if w.table != nil {
		section(4, vec(append([]byte{0x70}, limitsOf(w.table)...)))
	}
	section(5, vec(limitsOf(w.memory)))
	section(7, vec(exports...))
	if w.start != nil {
		section(8, uleb(len(imports)+len(all)-1))
	}
	section(10, vec(bodies...))
	if w.data != "" {
		section(11, vec(code(0, i32(1024), opEnd, text(w.data))))
	}
	return out
}

// command is a module whose _start is code.
func command(code []byte, imports ...string) wasm {
	return wasm{imports: imports, funcs: []fn{{export: "_start", sig: ":", code: code}}}
}

const coreModule, wasiModule = "murmur:core@0.1.0", "wasi_snapshot_preview1"
