package core

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// module is what the checks and the engine need to know of a core module,
// read from its sections without compiling it.
type module struct {
	imports  []importedFunc
	foreign  string // first import that is not a function, as module.name
	exports  map[string]export
	types    []signature
	funcs    []uint32 // type of each function, imported ones first
	memories []limits
	tables   []limits
}

type importedFunc struct {
	module, name string
	sig          signature
}

// signature spells a function type: one letter a value, parameters, a colon,
// results. i and I are 32 and 64 bit integers, f and F floats, r anything else.
type signature string

type export struct {
	kind  byte
	index uint32
}

// limits are in pages of 64 KiB for a memory, in elements for a table.
type limits struct {
	min, max uint64
	bounded  bool
}

// Kinds of imports and exports in the binary format.
const (
	externFunc   = 0
	externTable  = 1
	externMemory = 2
	externGlobal = 3
	externTag    = 4
)

// Sections read here; the others are skipped by their length.
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionTable    = 4
	sectionMemory   = 5
	sectionExport   = 7
	sectionCode     = 10
)

var errTruncated = errors.New("ends inside a section")

// parseModule reads the sections before the code. It accepts some modules an
// engine will refuse, as it looks at nothing it does not need; it never
// allocates more than a small multiple of len(wasm).
func parseModule(wasm []byte) (*module, error) {
	m := &module{exports: map[string]export{}}
	r := &reader{b: wasm[8:]}
	for last := byte(0); len(r.b) > 0; {
		id := r.byte()
		body := &reader{b: r.bytes()}
		if r.err != nil {
			return nil, r.err
		}
		if id == sectionCustom {
			continue
		}
		// The order of the numbers is the order of the sections, but for the
		// two younger ones before the code (12 data count, 13 tags), which are
		// of no interest here.
		if id < 12 {
			if id <= last {
				return nil, fmt.Errorf("section %d stands after section %d", id, last)
			}
			last = id
		}
		switch id {
		case sectionType:
			m.readTypes(body)
		case sectionImport:
			m.readImports(body)
		case sectionFunction:
			for range body.count() {
				m.funcs = append(m.funcs, body.u32())
			}
		case sectionTable:
			m.readTables(body)
		case sectionMemory:
			for range body.count() {
				m.memories = append(m.memories, body.limits())
			}
		case sectionExport:
			m.readExports(body)
		default:
			continue
		}
		if body.err == nil && len(body.b) > 0 {
			body.err = errors.New("has bytes left over")
		}
		if body.err != nil {
			return nil, fmt.Errorf("section %d: %w", id, body.err)
		}
	}
	return m, nil
}

func (m *module) readTypes(r *reader) {
	for range r.count() {
		if form := r.byte(); form != 0x60 && r.err == nil {
			r.err = fmt.Errorf("type form %#x is not a function", form)
		}
		sig := append(r.valTypes(), ':')
		sig = append(sig, r.valTypes()...)
		m.types = append(m.types, signature(sig))
	}
}

func (m *module) readImports(r *reader) {
	for range r.count() {
		imp := importedFunc{module: r.name(), name: r.name()}
		kind := r.byte()
		switch kind {
		case externFunc:
			index := r.u32()
			m.funcs = append(m.funcs, index)
			imp.sig = m.typeOf(index)
			m.imports = append(m.imports, imp)
			continue
		case externTable:
			r.refType()
			r.limits()
		case externMemory:
			r.limits()
		case externGlobal:
			r.refType()
			r.byte()
		case externTag:
			r.byte()
			r.u32()
		default:
			if r.err == nil {
				r.err = fmt.Errorf("import kind %d is unknown", kind)
			}
		}
		if r.err != nil {
			return
		}
		if m.foreign == "" {
			m.foreign = imp.module + "." + imp.name
		}
	}
}

func (m *module) readTables(r *reader) {
	for range r.count() {
		initialised := len(r.b) > 0 && r.b[0] == 0x40 // 0x40 0x00 tabletype expr
		if initialised {
			r.byte()
			r.byte()
		}
		r.refType()
		m.tables = append(m.tables, r.limits())
		if initialised {
			// The expression has no length of its own; no more tables are read.
			r.b = nil
			return
		}
	}
}

func (m *module) readExports(r *reader) {
	for range r.count() {
		name := r.name()
		e := export{kind: r.byte(), index: r.u32()}
		if _, twice := m.exports[name]; twice && r.err == nil {
			r.err = fmt.Errorf("exports %q twice", name)
		}
		if r.err != nil {
			return
		}
		m.exports[name] = e
	}
}

// typeOf returns the signature of type index i, or "" when there is none.
func (m *module) typeOf(i uint32) signature {
	if uint64(i) < uint64(len(m.types)) {
		return m.types[i]
	}
	return ""
}

// exportedFunc returns the signature of an exported function.
func (m *module) exportedFunc(name string) (signature, bool) {
	e, ok := m.exports[name]
	if !ok || e.kind != externFunc || uint64(e.index) >= uint64(len(m.funcs)) {
		return "", false
	}
	return m.typeOf(m.funcs[e.index]), true
}

// reader takes values off a byte string; after the first error it yields zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) byte() byte {
	if r.err == nil && len(r.b) == 0 {
		r.err = errTruncated
	}
	if r.err != nil {
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// u64 reads a LEB128 number of at most bits bits.
func (r *reader) leb(bits uint) uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		low := uint64(c & 0x7f)
		if shift >= bits || low>>(bits-shift) != 0 && bits-shift < 7 {
			r.err = errors.New("number is too long")
			return 0
		}
		v |= low << shift
		if c < 0x80 {
			return v
		}
	}
}

func (r *reader) u32() uint32 { return uint32(r.leb(32)) }

// count reads the length of a vector. Each element takes at least one byte, so
// a count beyond what is left is damage, not a reason to allocate.
func (r *reader) count() int {
	n := r.u32()
	if r.err == nil && uint64(n) > uint64(len(r.b)) {
		r.err = errTruncated
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.count()
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) name() string {
	b := r.bytes()
	if r.err == nil && !utf8.Valid(b) {
		r.err = errors.New("name is not UTF-8")
	}
	return string(b)
}

func (r *reader) limits() limits {
	flags := r.byte()
	if r.err == nil && flags > 7 {
		r.err = fmt.Errorf("limits %#x are unknown", flags)
	}
	bits := uint(32)
	if flags&4 != 0 {
		bits = 64
	}
	l := limits{min: r.leb(bits), bounded: flags&1 != 0}
	if l.bounded {
		l.max = r.leb(bits)
	}
	return l
}

func (r *reader) valTypes() []byte {
	sig := make([]byte, 0, 8)
	for range r.count() {
		sig = append(sig, r.refType())
	}
	return sig
}

// refType reads a value type and returns its letter in a signature.
func (r *reader) refType() byte {
	switch r.byte() {
	case 0x7f:
		return 'i'
	case 0x7e:
		return 'I'
	case 0x7d:
		return 'f'
	case 0x7c:
		return 'F'
	case 0x63, 0x64: // (ref null? heaptype)
		r.leb(64)
	}
	return 'r'
}
