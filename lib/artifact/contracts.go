package artifact

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"
)

// Contracts are the interfaces a WASM payload names: what a component exports
// and imports, or the modules a core module imports from (ART-51). Each list is
// sorted and without doubles.
type Contracts struct {
	Exports []string `json:"exports"`
	Imports []string `json:"imports"`
}

// ReadContracts reads the names out of a payload's bytes without compiling it. ok
// is false when they are neither a component nor a core module, or are damaged.
//
// The formats are those of the component model's Binary.md (a component's outer
// sections 10, import, and 11, export) and of the WebAssembly core
// specification, section 5.5 (import section 2).
func ReadContracts(wasm []byte) (c Contracts, ok bool) {
	const lenHead = 8
	if len(wasm) < lenHead || !bytes.Equal(wasm[:4], []byte("\x00asm")) {
		return Contracts{}, false
	}
	component := wasm[6] == 1 && wasm[7] == 0
	if !component && !bytes.Equal(wasm[4:8], []byte{1, 0, 0, 0}) {
		return Contracts{}, false
	}
	c = Contracts{Exports: []string{}, Imports: []string{}}
	r := wasmReader{data: wasm[lenHead:]}
	for len(r.data) > 0 && r.err == nil {
		id, body := r.byte(), wasmReader{data: r.bytes(r.u32())}
		body.err = r.err
		switch {
		case component && id == 10:
			c.Imports = append(c.Imports, body.externs(false)...)
		case component && id == 11:
			c.Exports = append(c.Exports, body.externs(true)...)
		case !component && id == 2:
			c.Imports = append(c.Imports, body.modules()...)
		}
		if body.err != nil {
			return Contracts{}, false
		}
	}
	if r.err != nil {
		return Contracts{}, false
	}
	c.Exports, c.Imports = tidy(c.Exports), tidy(c.Imports)
	return c, true
}

func tidy(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

var errWasm = errors.New("damaged")

// wasmReader reads from the front of data; after a failure it reads zeros.
type wasmReader struct {
	data []byte
	err  error
}

func (r *wasmReader) byte() byte {
	b := r.bytes(1)
	if r.err != nil {
		return 0
	}
	return b[0]
}

func (r *wasmReader) bytes(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.data)) {
		r.err = errWasm
		r.data = nil
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

// u32 reads an unsigned LEB128 number.
func (r *wasmReader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.err = errWasm
	return 0
}

func (r *wasmReader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.err = errWasm
	}
	return string(b)
}

// externs reads the names of a component's import or export section.
func (r *wasmReader) externs(exports bool) []string {
	var out []string
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		if r.byte() > 1 { // 0 and 1 are plain names; others have options behind
			r.err = errWasm
		}
		out = append(out, r.name())
		if !exports {
			r.externDesc()
			continue
		}
		r.sort()
		r.u32()
		if r.byte() == 1 { // an ascribed type
			r.externDesc()
		}
	}
	return out
}

// sort reads a sort: one byte, and for core sorts a second one.
func (r *wasmReader) sort() {
	if r.byte() == 0 {
		r.byte()
	}
}

func (r *wasmReader) externDesc() {
	switch r.byte() {
	case 0: // core module
		r.byte()
		r.u32()
	case 1, 4, 5: // function, component, instance
		r.u32()
	case 2: // value: equal to an index, or of a type
		r.byte()
		r.u32()
	case 3: // type: equal to an index, or a fresh resource
		if r.byte() == 0 {
			r.u32()
		}
	default:
		r.err = errWasm
	}
}

// modules reads the module names of a core module's import section.
func (r *wasmReader) modules() []string {
	var out []string
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		out = append(out, r.name())
		r.name()
		switch r.byte() {
		case 0: // function
			r.u32()
		case 1: // table
			r.byte()
			r.limits()
		case 2: // memory
			r.limits()
		case 3: // global
			r.byte()
			r.byte()
		case 4: // tag
			r.byte()
			r.u32()
		default:
			r.err = errWasm
		}
	}
	return out
}

func (r *wasmReader) limits() {
	flags := r.byte()
	r.u32()
	if flags&1 != 0 {
		r.u32()
	}
}
