package wasi

import (
	"bytes"
	"slices"
	"strings"
)

// WrapInstances is how many core instances Wrap adds to an ordinary component
// at most, and WrapMemory how many bytes its memory has at first. What bounds a
// guest's instances and memory allows for them. (A component that lowers a
// function several times gets an instance for each.)
const (
	WrapInstances = 13
	WrapMemory    = 3 << 16
)

// Wrap changes a component that moves bytes through wasi:io or wasi:filesystem
// so that they cross to the host at a fraction of the cost: README.md explains
// it. The result has the same exports and imports; of the imported interfaces it
// also calls functions that only Interfaces serves. A component that has nothing
// to gain, or is built as no known tool does it, is returned as it is; it then
// works as before, only slower.
//
// The error is one of assembling the code to be added, which a build without
// cgo can not do. Wrap does not validate: a broken component stays broken.
func Wrap(component []byte) ([]byte, error) {
	p, ok := readParts(component)
	if !ok || !p.choose() {
		return component, nil
	}
	s, err := assemble()
	if err != nil {
		return nil, err
	}
	w := &rewriter{parts: p, shims: s, modules: make([]*uint32, len(s.twins)), out: slices.Clone(preamble)}
	if !w.write() {
		return component, nil
	}
	return w.out, nil
}

// section is a section of the component.
type section struct {
	id   byte
	body []byte
	raw  []byte // with its header
}

// importOf is an imported interface that has twins.
type importOf struct {
	iface    string
	typ      uint32
	instance uint32
}

// parts is what a first look at a component gives.
type parts struct {
	sections []section
	imports  []importOf
	types    map[uint32][]byte // the instance types, by index
	shared   map[uint32]int    // how many imports are of a type
	aliases  map[uint32]int    // component functions that are aliases of functions with twins: index in twins
	of       map[uint32]uint32 // and the type of their instance
	kept     map[uint32]bool   // component functions used for more than to be lowered with a memory
	lowered  map[uint32]bool
	edited   map[uint32][]byte // the types to be written anew
}

// readParts looks through the sections; ok is false when something is met that
// this program can not rewrite.
func readParts(component []byte) (*parts, bool) {
	if !bytes.HasPrefix(component, preamble) {
		return nil, false
	}
	p := &parts{types: map[uint32][]byte{}, shared: map[uint32]int{}, aliases: map[uint32]int{}, of: map[uint32]uint32{},
		kept: map[uint32]bool{}, lowered: map[uint32]bool{}, edited: map[uint32][]byte{}}
	var counts [sorts]uint32
	c := &cursor{b: component[len(preamble):]}
	for len(c.b) > 0 && !c.bad {
		start := c.b
		s := section{id: c.byte()}
		s.body = c.take(c.u32())
		s.raw = c.since(start)
		p.sections = append(p.sections, s)
		b := &cursor{b: s.body}
		switch s.id {
		case secType:
			b.each(func() {
				raw := b.b
				if b.rootType(nil, nil); len(raw) > 0 && raw[0] == 0x42 {
					p.types[counts[sortType]] = b.since(raw)
				}
				counts[sortType]++
			})
		case secImport:
			b.each(func() { p.readImport(b, &counts) })
		case secAlias:
			b.each(func() { p.readAlias(b.alias(), &counts) })
		case secCanon:
			b.each(func() { p.readCanon(b.canon(), &counts) })
		case secInstance:
			b.each(func() { p.readInstance(b); counts[sortInstance]++ })
		case secExport:
			b.each(func() {
				b.externName()
				s, _ := b.sort()
				index := b.u32()
				b.optional(func() { b.externDesc() })
				if s == sortCore || b.bad {
					b.fail()
					return
				}
				if s == sortFunc {
					p.kept[index] = true
				}
				counts[s]++
			})
		case secComponent:
			counts[sortComponent]++
			if reachesOut(s.body) {
				return nil, false
			}
			b.b = nil
		case secCustom, secCoreModule, secCoreType, secStart, secCoreInstance:
			b.b = nil
		default:
			return nil, false
		}
		if b.bad || len(b.b) > 0 {
			return nil, false
		}
	}
	return p, !c.bad
}

func (p *parts) readImport(b *cursor, counts *[sorts]uint32) {
	name := b.externName()
	s, typ := b.externDesc()
	if s == sortCore || b.bad {
		b.fail()
		return
	}
	if s == sortInstance {
		p.shared[typ]++
		iface, version, _ := strings.Cut(name, "@")
		if strings.HasPrefix(version, "0.2.") && slices.ContainsFunc(twins, func(t twin) bool { return t.iface == iface }) {
			p.imports = append(p.imports, importOf{iface, typ, counts[sortInstance]})
		}
	}
	counts[s]++
}

func (p *parts) readAlias(a alias, counts *[sorts]uint32) {
	if a.sort == sortCore {
		return
	}
	if a.sort == sortFunc && a.kind == 0 {
		for _, im := range p.imports {
			for i, t := range twins {
				if im.instance == a.index && im.iface == t.iface && a.name == t.name {
					p.aliases[counts[sortFunc]], p.of[counts[sortFunc]] = i, im.typ
				}
			}
		}
	}
	if a.sort < sorts {
		counts[a.sort]++
	}
}

func (p *parts) readCanon(d canon, counts *[sorts]uint32) {
	switch d.kind {
	case canonLift:
		counts[sortFunc]++
	case canonLower:
		i, twinned := p.aliases[d.index]
		if twinned && (!d.has(optMemory) || !twins[i].write && !d.has(optRealloc)) {
			p.kept[d.index] = true
		}
		p.lowered[d.index] = true
	}
}

func (p *parts) readInstance(b *cursor) {
	use := func() {
		s, _ := b.sort()
		index := b.u32()
		switch s {
		case sortCore:
			b.fail()
		case sortFunc:
			p.kept[index] = true
		}
	}
	switch b.byte() {
	case 0:
		b.u32()
		b.each(func() { b.name(); use() })
	case 1:
		b.each(func() { b.externName(); use() })
	default:
		b.fail()
	}
}

// choose decides which functions are to be called packed, and writes the types
// of their interfaces. It reports whether there are any.
func (p *parts) choose() bool {
	wanted := map[uint32][]twin{} // by type
	for index, i := range p.aliases {
		typ := p.of[index]
		if p.kept[index] || !p.lowered[index] || p.shared[typ] != 1 {
			delete(p.aliases, index)
		} else if !slices.Contains(wanted[typ], twins[i]) {
			wanted[typ] = append(wanted[typ], twins[i])
		}
	}
	for typ, some := range wanted {
		slices.SortFunc(some, func(a, b twin) int { return strings.Compare(a.name, b.name) }) // the same bytes each time
		edited, ok := withTwins(p.types[typ], some)
		if !ok {
			return false
		}
		p.edited[typ] = edited
	}
	return len(wanted) > 0
}

// reachesOut reports whether a component inside takes a core module or core
// type from those around it, or can not be read.
func reachesOut(component []byte) bool {
	if !bytes.HasPrefix(component, preamble) {
		return true
	}
	c := &cursor{b: component[len(preamble):]}
	for len(c.b) > 0 && !c.bad {
		id := c.byte()
		body := &cursor{b: c.take(c.u32())}
		switch id {
		case secComponent:
			if reachesOut(body.b) {
				return true
			}
		case secAlias:
			outer := false
			body.each(func() {
				a := body.alias()
				outer = outer || a.sort == sortCore && a.kind == 2
			})
			if outer || body.bad {
				return true
			}
		}
	}
	return c.bad
}
