package wasi

import "bytes"

const (
	primString = 0x73
	primU8     = 0x7d
)

// valTypeAt reads a value type: its bytes and, unless it is a primitive one, the
// index of its definition.
func (c *cursor) valTypeAt() (raw []byte, index uint32, defined bool) {
	start := c.b
	if len(start) > 0 && start[0]&0xc0 == 0x40 { // negative: a primitive type
		c.byte()
		return c.since(start), 0, false
	}
	index = c.u32()
	return c.since(start), index, true
}

// typeEditor adds the packed twins of functions to an instance type.
type typeEditor struct {
	defs  map[uint32][]byte // the definitions in the instance type
	next  uint32            // the next index
	added []byte
	n     uint32
}

func (e *typeEditor) define(def []byte) uint32 {
	e.added = append(append(e.added, 1), def...)
	e.defs[e.next] = def
	e.n++
	e.next++
	return e.next - 1
}

// withTwins returns the instance type with the twins of some of its functions;
// ok is false when a function's type is not the one known.
func withTwins(raw []byte, some []twin) (edited []byte, ok bool) {
	decls, ok := readInstanceType(raw)
	if !ok {
		return nil, false
	}
	e := &typeEditor{defs: map[uint32][]byte{}}
	funcTypes := map[string]uint32{}
	body := []byte{}
	for _, d := range decls {
		body = append(body, d.raw...)
		switch {
		case d.sort == sortType:
			if d.kind == 1 {
				e.defs[e.next] = d.raw[1:]
			}
			e.next++
		case d.kind == 4 && d.sort == sortFunc:
			funcTypes[d.name] = d.funcType
		}
	}
	for _, t := range some {
		of, known := funcTypes[t.name]
		if !known {
			return nil, false
		}
		var ty uint32
		if t.write {
			ty, ok = e.writeTwin(e.defs[of])
		} else {
			ty, ok = e.readTwin(e.defs[of])
		}
		if !ok {
			return nil, false
		}
		e.added = uleb(append(putName(append(e.added, 4, 0), t.twin()), byte(sortFunc)), ty)
		e.n++
	}
	edited = uleb([]byte{0x42}, uint32(len(decls))+e.n)
	return append(append(edited, body...), e.added...), true
}

func (e *typeEditor) isBytes(index uint32) bool {
	return bytes.Equal(e.defs[index], []byte{0x70, primU8})
}

// writeTwin defines a function type with string for list<u8> in its second
// parameter.
func (e *typeEditor) writeTwin(def []byte) (uint32, bool) {
	c := &cursor{b: def}
	c.want(0x40)
	n := c.u32()
	out := uleb([]byte{0x40}, n)
	found := false
	for i := range n {
		name := c.name()
		raw, index, defined := c.valTypeAt()
		if i == 1 && defined && e.isBytes(index) {
			raw, found = []byte{primString}, true
		}
		out = append(putName(out, name), raw...)
	}
	return e.define(append(out, c.b...)), found && !c.bad
}

// readTwin defines a function type with result<string, E> for result<list<u8>, E>,
// or with a tuple that begins with string for one that begins with list<u8>.
func (e *typeEditor) readTwin(def []byte) (uint32, bool) {
	c := &cursor{b: def}
	c.want(0x40)
	c.each(func() { c.name(); c.valType() })
	c.want(0)
	head := c.since(def)
	_, res, defined := c.valTypeAt()
	if c.bad || !defined {
		return 0, false
	}
	r := &cursor{b: e.defs[res]}
	r.want(0x6a)
	r.want(1)
	_, okType, defined := r.valTypeAt()
	rest := r.b // the error side
	if r.bad || !defined {
		return 0, false
	}
	ok := []byte{primString}
	if !e.isBytes(okType) {
		t := &cursor{b: e.defs[okType]}
		t.want(0x6f)
		n := t.u32()
		_, first, defined := t.valTypeAt()
		if t.bad || !defined || !e.isBytes(first) {
			return 0, false
		}
		ok = sleb(nil, e.define(append(append(uleb([]byte{0x6f}, n), primString), t.b...)))
	}
	result := e.define(append(append([]byte{0x6a, 1}, ok...), rest...))
	return e.define(sleb(append([]byte{}, head...), result)), true
}
