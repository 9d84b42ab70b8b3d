package wasi

// The binary format of components, as far as Wrap needs it. Source: the
// Component Model's Binary.md.

// Section identifiers.
const (
	secCustom, secCoreModule, secCoreInstance, secCoreType, secComponent, secInstance = 0, 1, 2, 3, 4, 5
	secAlias, secType, secCanon, secStart, secImport, secExport                       = 6, 7, 8, 9, 10, 11
)

// sort is a kind of component-level definition, numbered as in the format.
type sort byte

const (
	sortCore sort = iota
	sortFunc
	sortValue
	sortType
	sortComponent
	sortInstance
	sorts // how many there are
)

// Core sorts, the second byte of a sort that is sortCore.
const (
	coreFunc, coreTable, coreMemory, coreGlobal, coreTag = 0, 1, 2, 3, 4
	coreType, coreModule, coreInstance                   = 0x10, 0x11, 0x12
)

var preamble = []byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}

// cursor reads a part of a component. After an error it reads zeroes.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() { c.bad, c.b = true, nil }

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.bad = true
		return 0
	}
	x := c.b[0]
	c.b = c.b[1:]
	return x
}

// want reads a byte that must be x.
func (c *cursor) want(x byte) {
	if c.byte() != x {
		c.fail()
	}
}

// u32 reads an unsigned LEB128 number.
func (c *cursor) u32() uint32 {
	var x uint64
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if x > 1<<32-1 {
				break
			}
			return uint32(x)
		}
	}
	c.fail()
	return 0
}

// valType skips a value type: a signed LEB128 number of 33 bits.
func (c *cursor) valType() {
	for range 5 {
		if c.byte() < 0x80 {
			return
		}
	}
	c.fail()
}

func (c *cursor) take(n uint32) []byte {
	if uint64(n) > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	p := c.b[:n]
	c.b = c.b[n:]
	return p
}

func (c *cursor) name() string { return string(c.take(c.u32())) }

// each runs f for each element of a vector.
func (c *cursor) each(f func()) {
	for n := c.u32(); n > 0 && !c.bad; n-- {
		f()
	}
}

func (c *cursor) optional(f func()) {
	switch c.byte() {
	case 0:
	case 1:
		f()
	default:
		c.fail()
	}
}

// since returns what was read since the cursor stood at start.
func (c *cursor) since(start []byte) []byte { return start[:len(start)-len(c.b)] }

// externName reads the name of an import or export.
func (c *cursor) externName() string {
	kind := c.byte()
	s := c.name()
	switch kind {
	case 0, 1:
	case 2:
		c.name() // version suffix
	default:
		c.fail()
	}
	return s
}

// externDesc reads the type of an import or export: its sort, and the index of
// its type where that has one.
func (c *cursor) externDesc() (s sort, typeIndex uint32) {
	switch s = sort(c.byte()); s {
	case sortCore:
		c.want(coreModule)
		c.u32()
	case sortFunc, sortComponent, sortInstance:
		typeIndex = c.u32()
	case sortType:
		switch c.byte() {
		case 0:
			c.u32()
		case 1:
		default:
			c.fail()
		}
	default: // values are not part of the format that engines take
		c.fail()
	}
	return s, typeIndex
}

// sort reads a sort; core is its second byte.
func (c *cursor) sort() (s sort, core byte) {
	s = sort(c.byte())
	if s == sortCore {
		core = c.byte()
	}
	if s >= sorts {
		c.fail()
	}
	return s, core
}

// alias is one alias definition.
type alias struct {
	sort  sort
	core  byte
	kind  byte   // 0 export, 1 core export, 2 outer
	index uint32 // of the instance, or the count of outer
	name  string
	outer uint32 // the index in the outer component
}

func (c *cursor) alias() (a alias) {
	a.sort, a.core = c.sort()
	a.kind = c.byte()
	a.index = c.u32()
	switch a.kind {
	case 0, 1:
		a.name = c.name()
	case 2:
		a.outer = c.u32()
	default:
		c.fail()
	}
	return a
}

func (a alias) bytes() []byte {
	b := []byte{byte(a.sort)}
	if a.sort == sortCore {
		b = append(b, a.core)
	}
	b = uleb(append(b, a.kind), a.index)
	if a.kind == 2 {
		return uleb(b, a.outer)
	}
	return putName(b, a.name)
}

// typeDef reads one type definition. It knows those that interfaces are made of.
func (c *cursor) typeDef() {
	switch kind := c.byte(); kind {
	case 0x72: // record
		c.each(func() { c.name(); c.valType() })
	case 0x71: // variant
		c.each(func() { c.name(); c.optional(c.valType); c.want(0) })
	case 0x70, 0x6b: // list, option
		c.valType()
	case 0x6f: // tuple
		c.each(c.valType)
	case 0x6e, 0x6d: // flags, enum
		c.each(func() { c.name() })
	case 0x6a: // result
		c.optional(c.valType)
		c.optional(c.valType)
	case 0x69, 0x68: // own, borrow
		c.u32()
	case 0x40: // function
		c.funcType()
	case 0x41, 0x42: // component, instance
		c.each(func() { c.decl() })
	default: // the primitive value types are one byte; anything else is unknown
		if kind < 0x73 || kind > 0x7f {
			c.fail()
		}
	}
}

// funcType reads a function type after its first byte.
func (c *cursor) funcType() {
	c.each(func() { c.name(); c.valType() })
	switch c.byte() {
	case 0:
		c.valType()
	case 1:
		c.want(0)
	default:
		c.fail()
	}
}

// declaration is one declaration of an instance type.
type declaration struct {
	kind     byte // 1 type, 2 alias, 4 export
	raw      []byte
	name     string // of an export
	sort     sort   // what it defines
	funcType uint32 // of an exported function
}

// decl reads a declaration of an instance or component type.
func (c *cursor) decl() (d declaration) {
	start := c.b
	switch d.kind = c.byte(); d.kind {
	case 1:
		d.sort = sortType
		c.typeDef()
	case 2:
		d.sort = c.alias().sort
	case 3:
		c.externName()
		d.sort, _ = c.externDesc()
	case 4:
		d.name = c.externName()
		d.sort, d.funcType = c.externDesc()
	default: // core types among them
		c.fail()
	}
	d.raw = c.since(start)
	return d
}

// readInstanceType reads an instance type that stands alone.
func readInstanceType(raw []byte) (decls []declaration, ok bool) {
	c := &cursor{b: raw}
	c.want(0x42)
	c.each(func() { decls = append(decls, c.decl()) })
	return decls, !c.bad && len(c.b) == 0
}

func uleb(b []byte, x uint32) []byte {
	for ; x >= 0x80; x >>= 7 {
		b = append(b, byte(x)|0x80)
	}
	return append(b, byte(x))
}

// sleb writes a type's index as a value type.
func sleb(b []byte, x uint32) []byte {
	for ; x >= 0x40; x >>= 7 {
		b = append(b, byte(x&0x7f)|0x80)
	}
	return append(b, byte(x))
}

func putName(b []byte, s string) []byte { return append(uleb(b, uint32(len(s))), s...) }
