package component

import (
	"bytes"
	"errors"
	"fmt"
)

// magic starts a component: the four magic bytes, the version and layer 1
// (WIT-5).
var magic = []byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}

var errDamaged = errors.New("damaged component")

// Sections of a component, by id, that hold names (Component Model, Binary.md).
const (
	importSection = 10
	exportSection = 11
)

// names reads the names a component imports and exports at its top level, in
// its order, without compiling it: a guest that asks for what is not served is
// refused before seconds are spent on it. It checks nothing else; the engine
// does.
func names(wasm []byte) (imports, exports []string, err error) {
	if !bytes.HasPrefix(wasm, magic) {
		return nil, nil, errors.New("no component header")
	}
	r := &reader{b: wasm[len(magic):]}
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		body := &reader{b: r.bytes()}
		if r.err != nil {
			break
		}
		switch id {
		case importSection:
			for n := body.count(); n > 0 && body.err == nil; n-- {
				imports = append(imports, body.name())
				body.externType()
			}
		case exportSection:
			for n := body.count(); n > 0 && body.err == nil; n-- {
				exports = append(exports, body.name())
				body.sortIndex()
				if body.byte() == 1 {
					body.externType()
				}
			}
		default:
			continue
		}
		if body.err == nil && len(body.b) > 0 {
			body.err = errDamaged
		}
		if body.err != nil {
			return nil, nil, fmt.Errorf("section %d: %w", id, body.err)
		}
	}
	return imports, exports, r.err
}

// reader reads the binary format; after an error it returns zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() {
	r.b, r.err = nil, errDamaged
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// u32 reads an unsigned LEB128 number.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.fail()
	return 0
}

// count reads the length of a list, each of whose items takes a byte or more.
func (r *reader) count() uint32 {
	n := r.u32()
	if uint64(n) > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) bytes() []byte {
	n := r.count()
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// name reads an import or export name; one of kind 2 is followed by a version
// suffix that belongs to it.
func (r *reader) name() string {
	kind := r.byte()
	name := string(r.bytes())
	switch kind {
	case 0, 1:
	case 2:
		r.bytes()
	default:
		r.fail()
	}
	return name
}

func (r *reader) sortIndex() {
	if r.byte() == 0 {
		r.byte() // the sort of a core item
	}
	r.u32()
}

func (r *reader) externType() {
	switch r.byte() {
	case 0: // a core module
		if r.byte() != 0x11 {
			r.fail()
		}
		r.u32()
	case 1, 4, 5: // a function, component or instance
		r.u32()
	case 3: // a type: equal to another, or a fresh resource
		if r.byte() == 0 {
			r.u32()
		}
	default:
		r.fail()
	}
}
