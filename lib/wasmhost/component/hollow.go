package component

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Sections of a component that hold a module or a component, and how deep
// components may lie in one another here.
const (
	moduleSection    = 1
	componentSection = 4
	maxNesting       = 32
)

// hollow returns the component with a shell in the place of every core module, and
// the modules.
func hollow(wasm []byte) (hull []byte, modules [][]byte, err error) {
	hull, err = hollowInto(&modules, wasm, 0)
	return hull, modules, err
}

func hollowInto(modules *[][]byte, wasm []byte, depth int) ([]byte, error) {
	if !bytes.HasPrefix(wasm, magic) || depth > maxNesting {
		return nil, errDamaged
	}
	out := bytes.Clone(magic)
	r := &reader{b: wasm[len(magic):]}
	for len(r.b) > 0 {
		id, body := r.byte(), r.bytes()
		if r.err != nil {
			return nil, r.err
		}
		var err error
		switch id {
		case moduleSection:
			*modules = append(*modules, body)
			body, err = shell(body)
		case componentSection:
			body, err = hollowInto(modules, body, depth+1)
		}
		if err != nil {
			return nil, err
		}
		out = appendSection(out, id, body)
	}
	return out, nil
}

func appendSection(out []byte, id byte, body []byte) []byte {
	out = binary.AppendUvarint(append(out, id), uint64(len(body)))
	return append(out, body...)
}

// moduleMagic starts a core module (WIT-5).
var moduleMagic = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// Sections of a core module.
const (
	coreCustom    = 0
	coreImport    = 2
	coreFunction  = 3
	coreTable     = 4
	coreGlobal    = 6
	coreExport    = 7
	coreStart     = 8
	coreElement   = 9
	coreCode      = 10
	coreData      = 11
	coreDataCount = 12
)

// refFunc is the instruction by which a constant names a function.
const refFunc = 0xd2

// trapBody is the code of a function of any type: no locals, unreachable.
var trapBody = []byte{3, 0, 0x00, 0x0b}

// shell returns a module that imports and exports what a valid module does, at the
// same types, and does nothing: of its functions it has the exported ones, which
// trap. That is all a component sees of a module. It is an error where a module is
// damaged or made as no known tool makes one.
func shell(wasm []byte) ([]byte, error) {
	if !bytes.HasPrefix(wasm, moduleMagic) {
		return nil, errDamaged
	}
	imported, types, exports, err := functions(wasm)
	if err != nil {
		return nil, err
	}
	var kept [][]byte // the types of functions that are exported
	var list []byte   // the exports
	for _, e := range exports {
		if e.kind == 0 && e.index >= imported {
			at := e.index - imported
			if uint64(at) >= uint64(len(types)) {
				return nil, errDamaged
			}
			e.index = imported + uint32(len(kept))
			kept = append(kept, binary.AppendUvarint(nil, uint64(types[at])))
		}
		list = append(append(list, e.name...), e.kind)
		list = binary.AppendUvarint(list, uint64(e.index))
	}
	vector := func(n int, items []byte) []byte {
		return append(binary.AppendUvarint(nil, uint64(n)), items...)
	}
	out := bytes.Clone(moduleMagic)
	r := &reader{b: wasm[len(moduleMagic):]}
	for len(r.b) > 0 {
		id, body := r.byte(), r.bytes()
		switch id {
		case coreCustom, coreStart, coreElement, coreData, coreDataCount:
			continue
		case coreTable, coreGlobal:
			if bytes.IndexByte(body, refFunc) >= 0 {
				return nil, fmt.Errorf("a constant may name a function in section %d", id)
			}
		case coreFunction:
			body = vector(len(kept), bytes.Join(kept, nil))
		case coreExport:
			body = vector(len(exports), list)
		case coreCode:
			body = vector(len(kept), bytes.Repeat(trapBody, len(kept)))
		}
		out = appendSection(out, id, body)
	}
	return out, r.err
}

// coreExported is an export of a core module: its name as it is written, what it is
// (0 a function) and its index.
type coreExported struct {
	name  []byte
	kind  byte
	index uint32
}

// functions reads how many functions a module imports, the types of those it has,
// and its exports.
func functions(wasm []byte) (imported uint32, types []uint32, exports []coreExported, err error) {
	r := &reader{b: wasm[len(moduleMagic):]}
	for len(r.b) > 0 {
		id, body := r.byte(), &reader{b: r.bytes()}
		switch id {
		case coreImport:
			for n := body.count(); n > 0 && body.err == nil; n-- {
				body.bytes()
				body.bytes()
				if body.coreDesc() == 0 {
					imported++
				}
			}
		case coreFunction:
			for n := body.count(); n > 0 && body.err == nil; n-- {
				types = append(types, body.u32())
			}
		case coreExport:
			for n := body.count(); n > 0 && body.err == nil; n-- {
				start := body.b
				body.bytes()
				e := coreExported{name: start[:len(start)-len(body.b)]}
				e.kind, e.index = body.byte(), body.u32()
				exports = append(exports, e)
			}
		default:
			continue
		}
		if body.err == nil && len(body.b) > 0 {
			body.fail()
		}
		if body.err != nil {
			return 0, nil, nil, fmt.Errorf("core section %d: %w", id, body.err)
		}
	}
	return imported, types, exports, r.err
}

// coreDesc reads what is imported by a core module, and returns its kind: 0 for a
// function.
func (r *reader) coreDesc() byte {
	kind := r.byte()
	switch kind {
	case 0:
		r.u32()
	case 1:
		r.coreType()
		r.coreLimits()
	case 2:
		r.coreLimits()
	case 3:
		r.coreType()
		r.byte()
	case 4:
		r.byte()
		r.u32()
	default:
		r.fail()
	}
	return kind
}

// coreType reads a value type that is one byte, as those are that components give
// their modules.
func (r *reader) coreType() {
	if c := r.byte(); c == 0x63 || c == 0x64 {
		r.fail()
	}
}

func (r *reader) coreLimits() {
	switch r.byte() {
	case 0:
		r.u32()
	case 1:
		r.u32()
		r.u32()
	default: // shared, of 64 bits, of pages of another size
		r.fail()
	}
}
