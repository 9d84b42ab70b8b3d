// Package sections reads what a WebAssembly core module says of itself before its
// code: what it imports and exports, its memories and its tables; and it can write
// the data of a module in fewer segments. It compiles nothing and checks nothing
// else.
package sections

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Module is what is read of a core module.
type Module struct {
	Imports  []Import
	Foreign  string // first import that is not a function, as module.name
	Exports  map[string]Export
	Memories []Limits
	Tables   []Limits

	types []Signature
	funcs []uint32 // type of each function, imported ones first
}

// Import is an imported function; its type is empty when it names none.
type Import struct {
	Module, Name string
	Type         Signature
}

// Signature spells a function type: one letter a value, parameters, a colon,
// results. i and I are 32 and 64 bit integers, f and F floats, r anything else.
type Signature string

// Export is one item a module exports.
type Export struct {
	Kind  byte
	index uint32
}

// Limits are in pages of 64 KiB for a memory, in elements for a table.
type Limits struct {
	Min, Max uint64
	Bounded  bool
}

// PageSize is the unit of a memory's size, in bytes.
const PageSize = 64 << 10

// Kinds of imports and exports in the binary format.
const (
	Func   = 0
	Table  = 1
	Memory = 2
	Global = 3
	Tag    = 4
)

// Header starts a core module: the magic bytes and the version (WIT-5).
var Header = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

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

// Read reads the sections of a module that starts with Header. It accepts some
// modules an engine will refuse, as it looks at nothing it does not need; it never
// allocates more than a small multiple of len(wasm).
func Read(wasm []byte) (*Module, error) {
	m := &Module{Exports: map[string]Export{}}
	r := &reader{b: wasm[len(Header):]}
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
				m.Memories = append(m.Memories, body.limits())
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

func (m *Module) readTypes(r *reader) {
	for range r.count() {
		if form := r.byte(); form != 0x60 && r.err == nil {
			r.err = fmt.Errorf("type form %#x is not a function", form)
		}
		sig := append(r.valTypes(), ':')
		sig = append(sig, r.valTypes()...)
		m.types = append(m.types, Signature(sig))
	}
}

func (m *Module) readImports(r *reader) {
	for range r.count() {
		imp := Import{Module: r.name(), Name: r.name()}
		kind := r.byte()
		switch kind {
		case Func:
			index := r.u32()
			m.funcs = append(m.funcs, index)
			imp.Type = m.typeOf(index)
			m.Imports = append(m.Imports, imp)
			continue
		case Table:
			r.refType()
			r.limits()
		case Memory:
			r.limits()
		case Global:
			r.refType()
			r.byte()
		case Tag:
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
		if m.Foreign == "" {
			m.Foreign = imp.Module + "." + imp.Name
		}
	}
}

func (m *Module) readTables(r *reader) {
	for range r.count() {
		initialised := len(r.b) > 0 && r.b[0] == 0x40 // 0x40 0x00 tabletype expr
		if initialised {
			r.byte()
			r.byte()
		}
		r.refType()
		m.Tables = append(m.Tables, r.limits())
		if initialised {
			// The expression has no length of its own; no more tables are read.
			r.b = nil
			return
		}
	}
}

func (m *Module) readExports(r *reader) {
	for range r.count() {
		name := r.name()
		e := Export{Kind: r.byte(), index: r.u32()}
		if _, twice := m.Exports[name]; twice && r.err == nil {
			r.err = fmt.Errorf("exports %q twice", name)
		}
		if r.err != nil {
			return
		}
		m.Exports[name] = e
	}
}

// typeOf returns the signature of type index i, or "" when there is none.
func (m *Module) typeOf(i uint32) Signature {
	if uint64(i) < uint64(len(m.types)) {
		return m.types[i]
	}
	return ""
}

// ExportedFunc returns the signature of an exported function.
func (m *Module) ExportedFunc(name string) (Signature, bool) {
	e, ok := m.Exports[name]
	if !ok || e.Kind != Func || uint64(e.index) >= uint64(len(m.funcs)) {
		return "", false
	}
	return m.typeOf(m.funcs[e.index]), true
}

// Text spells a signature for people: (i32, i64) -> i32.
func (s Signature) Text() string {
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

func (r *reader) limits() Limits {
	flags := r.byte()
	if r.err == nil && flags > 7 {
		r.err = fmt.Errorf("limits %#x are unknown", flags)
	}
	bits := uint(32)
	if flags&4 != 0 {
		bits = 64
	}
	l := Limits{Min: r.leb(bits), Bounded: flags&1 != 0}
	if l.Bounded {
		l.Max = r.leb(bits)
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
