package wasi

// module adds a core module.
func (w *rewriter) module(b []byte) uint32 {
	w.section(secCoreModule, b)
	return w.coreModules.insert()
}

// coreItem is an export of a core instance that is made of single items.
type coreItem struct {
	name  string
	sort  byte
	index uint32
}

// bundle adds a core instance of single items.
func (w *rewriter) bundle(items ...coreItem) uint32 {
	b := uleb([]byte{1}, uint32(len(items)))
	for _, it := range items {
		b = uleb(append(putName(b, it.name), it.sort), it.index)
	}
	w.one(secCoreInstance, b)
	return w.instances.insert()
}

// instantiate adds an instance of a core module.
func (w *rewriter) instantiate(module uint32, args ...coreItem) uint32 {
	b := uleb(uleb([]byte{0}, module), uint32(len(args)))
	for _, a := range args {
		b = uleb(append(putName(b, a.name), coreInstance), a.index)
	}
	w.one(secCoreInstance, b)
	return w.instances.insert()
}

// exported adds an alias of what a core instance exports.
func (w *rewriter) exported(instance uint32, sort byte, name string) {
	w.one(secAlias, alias{sort: sortCore, core: sort, kind: 1, index: instance, name: name}.bytes())
}

// shim lowers the twin with the shims' memory, puts the shim between it and the
// guest, and lets the shim be the core function that the lowered one was.
func (w *rewriter) shim(i int, lower canon) {
	if w.own == nil {
		m := w.instantiate(w.module(w.memory))
		w.exported(m, coreMemory, "memory")
		w.exported(m, coreFunc, "realloc")
		w.own = &ownMemory{w.memories.insert(), w.funcs.insert()}
	}
	if w.modules[i] == nil {
		m := w.module(w.twins[i])
		w.modules[i] = &m
	}
	w.one(secCanon, canon{kind: canonLower, index: lower.index, options: []canonOption{{optMemory, w.own.memory}, {optRealloc, w.own.realloc}}}.bytes())
	own := w.bundle(coreItem{"memory", coreMemory, w.own.memory}, coreItem{"realloc", coreFunc, w.own.realloc}, coreItem{"call", coreFunc, w.funcs.insert()})
	var theirs []coreItem
	for _, o := range lower.options {
		switch o.kind {
		case optMemory:
			theirs = append(theirs, coreItem{"memory", coreMemory, o.index})
		case optRealloc:
			theirs = append(theirs, coreItem{"realloc", coreFunc, o.index})
		}
	}
	guest := w.bundle(theirs...)
	c := w.instantiate(*w.modules[i], coreItem{name: "guest", index: guest}, coreItem{name: "own", index: own})
	w.exported(c, coreFunc, "call")
	w.funcs.define()
}
