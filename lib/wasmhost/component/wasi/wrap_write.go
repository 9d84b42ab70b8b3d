package wasi

// space is an index space of which some definitions are new.
type space struct {
	to   []uint32 // new index by old
	next uint32
}

func (s *space) insert() uint32 { s.next++; return s.next - 1 }
func (s *space) define()        { s.to = append(s.to, s.insert()) }

// index returns the new index of an old one.
func (s *space) index(old uint32, c *cursor) uint32 {
	if s == nil {
		return old
	}
	if uint64(old) >= uint64(len(s.to)) {
		c.fail()
		return 0
	}
	return s.to[old]
}

// Canonical definitions and their options.
const (
	canonLift, canonLower, canonNew, canonDrop, canonRep = 0, 1, 2, 3, 4
	optMemory, optRealloc, optPostReturn                 = 3, 4, 5
)

type canonOption struct {
	kind  byte
	index uint32
}

// canon is one canonical definition.
type canon struct {
	kind    byte
	index   uint32 // of the core function lifted, the function lowered, or the resource
	options []canonOption
	typ     uint32 // of a lift
}

func (d canon) has(kind byte) bool {
	_, ok := d.option(kind)
	return ok
}

func (d canon) option(kind byte) (uint32, bool) {
	for _, o := range d.options {
		if o.kind == kind {
			return o.index, true
		}
	}
	return 0, false
}

func (c *cursor) canon() (d canon) {
	d.kind = c.byte()
	switch d.kind {
	case canonLift, canonLower:
		c.want(0)
		d.index = c.u32()
		c.each(func() {
			o := canonOption{kind: c.byte()}
			switch {
			case o.kind <= 2: // string encodings
			case o.kind <= optPostReturn:
				o.index = c.u32()
			default: // asynchronous or with garbage collection
				c.fail()
			}
			d.options = append(d.options, o)
		})
		if d.kind == canonLift {
			d.typ = c.u32()
		}
	case canonNew, canonDrop, canonRep:
		d.index = c.u32()
	default:
		c.fail()
	}
	return d
}

func (d canon) bytes() []byte {
	b := []byte{d.kind}
	if d.kind > canonLower {
		return uleb(b, d.index)
	}
	b = uleb(uleb(append(b, 0), d.index), uint32(len(d.options)))
	for _, o := range d.options {
		if b = append(b, o.kind); o.kind >= optMemory {
			b = uleb(b, o.index)
		}
	}
	if d.kind == canonLift {
		b = uleb(b, d.typ)
	}
	return b
}

// rootType reads a type definition of the component itself; with out, it writes
// it too, with the destructor of a resource at its new index.
func (c *cursor) rootType(out *[]byte, funcs *space) {
	start := c.b
	if len(start) == 0 || start[0] != 0x3f { // a resource
		c.typeDef()
		if out != nil {
			*out = append(*out, c.since(start)...)
		}
		return
	}
	b := []byte{c.byte(), c.byte(), c.byte()}
	switch b[2] {
	case 0:
	case 1:
		b = uleb(b, funcs.index(c.u32(), c))
	default:
		c.fail()
	}
	if out != nil {
		*out = append(*out, b...)
	}
}

// rewriter writes the component anew. The component level keeps all its indices:
// an alias names a packed twin in the place of its function, and the twin is
// declared at the end of the interface's type. At the core level the shims come
// in, and what follows them moves up.
type rewriter struct {
	*parts
	shims
	out                                     []byte
	funcs, memories, instances, coreModules space
	modules                                 []*uint32 // of the twins, when written
	own                                     *ownMemory
}

// ownMemory is the instance of the shims' memory.
type ownMemory struct{ memory, realloc uint32 }

func (w *rewriter) section(id byte, body []byte) {
	w.out = append(uleb(append(w.out, id), uint32(len(body))), body...)
}

func (w *rewriter) one(id byte, def []byte) { w.section(id, append([]byte{1}, def...)) }

func (w *rewriter) write() bool {
	types, aliased := uint32(0), uint32(0)
	for _, s := range w.sections {
		b := &cursor{b: s.body}
		switch s.id {
		case secCoreModule:
			w.coreModules.define()
			w.out = append(w.out, s.raw...)
		case secCoreInstance:
			b.each(func() { w.one(secCoreInstance, w.coreInstance(b)); w.instances.define() })
		case secType:
			n := uint32(0)
			var defs []byte
			b.each(func() {
				if e := w.edited[types]; e != nil {
					b.typeDef()
					defs = append(defs, e...)
				} else {
					b.rootType(&defs, &w.funcs)
				}
				types++
				n++
			})
			w.section(secType, append(uleb(nil, n), defs...))
		case secAlias:
			b.each(func() { w.alias(b, &types, &aliased) })
		case secCanon:
			b.each(func() { w.canon(b, &aliased) })
		case secImport, secExport:
			b.each(func() { w.count(b, s.id == secExport, &types, &aliased) })
			w.out = append(w.out, s.raw...)
		case secCustom: // names by index, which are others now
		default:
			w.out = append(w.out, s.raw...)
		}
		if b.bad {
			return false
		}
	}
	return true
}

// count follows the index spaces of types and functions through imports and
// exports.
func (w *rewriter) count(b *cursor, export bool, types, funcs *uint32) {
	b.externName()
	var s sort
	if export {
		s, _ = b.sort()
		b.u32()
		b.optional(func() { b.externDesc() })
	} else {
		s, _ = b.externDesc()
	}
	switch s {
	case sortType:
		*types++
	case sortFunc:
		*funcs++
	}
}

func (w *rewriter) alias(b *cursor, types, funcs *uint32) {
	a := b.alias()
	switch a.sort {
	case sortCore:
		if a.kind == 1 {
			a.index = w.instances.index(a.index, b)
		}
		switch a.core {
		case coreFunc:
			w.funcs.define()
		case coreMemory:
			w.memories.define()
		case coreModule, coreInstance:
			b.fail()
		}
	case sortFunc:
		if i, ok := w.aliases[*funcs]; ok {
			a.name = twins[i].twin()
		}
		*funcs++
	case sortType:
		*types++
	}
	w.one(secAlias, a.bytes())
}

func (w *rewriter) coreInstance(b *cursor) []byte {
	out := []byte{b.byte()}
	switch out[0] {
	case 0:
		out = uleb(out, w.coreModules.index(b.u32(), b))
		n := b.u32()
		out = uleb(out, n)
		for ; n > 0 && !b.bad; n-- {
			out = putName(out, b.name())
			b.want(coreInstance)
			out = uleb(append(out, coreInstance), w.instances.index(b.u32(), b))
		}
	case 1:
		n := b.u32()
		out = uleb(out, n)
		for ; n > 0 && !b.bad; n-- {
			out = putName(out, b.name())
			s := b.byte()
			index := b.u32()
			switch s {
			case coreFunc:
				index = w.funcs.index(index, b)
			case coreMemory:
				index = w.memories.index(index, b)
			case coreTable, coreGlobal, coreTag:
			default:
				b.fail()
			}
			out = uleb(append(out, s), index)
		}
	default:
		b.fail()
	}
	return out
}

func (w *rewriter) canon(b *cursor, funcs *uint32) {
	d := b.canon()
	for i, o := range d.options {
		switch o.kind {
		case optMemory:
			d.options[i].index = w.memories.index(o.index, b)
		case optRealloc, optPostReturn:
			d.options[i].index = w.funcs.index(o.index, b)
		}
	}
	if b.bad {
		return
	}
	switch d.kind {
	case canonLift:
		d.index = w.funcs.index(d.index, b)
		*funcs++
	case canonLower:
		if i, ok := w.aliases[d.index]; ok {
			w.shim(i, d)
			return
		}
		w.funcs.define()
	default:
		w.funcs.define()
	}
	w.one(secCanon, d.bytes())
}
