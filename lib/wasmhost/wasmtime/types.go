//go:build cgo

package wasmtime

/*
#include <stdlib.h>
#include "capi.h"
*/
import "C"

import "unsafe"

// Imports lists what the component imports, by name and in its order.
func (c *Component) Imports() []string {
	ty := C.wasmtime_component_type(c.p)
	defer C.wasmtime_component_type_delete(ty)
	return names(int(C.wasmtime_component_type_import_count(ty, c.e.p)), func(i C.size_t, p **C.char, n *C.size_t, it *C.wasmtime_component_item_t) bool {
		return bool(C.wasmtime_component_type_import_nth(ty, c.e.p, i, p, n, it))
	})
}

// Exports lists what the component exports, by name and in its order.
func (c *Component) Exports() []string {
	ty := C.wasmtime_component_type(c.p)
	defer C.wasmtime_component_type_delete(ty)
	return names(int(C.wasmtime_component_type_export_count(ty, c.e.p)), func(i C.size_t, p **C.char, n *C.size_t, it *C.wasmtime_component_item_t) bool {
		return bool(C.wasmtime_component_type_export_nth(ty, c.e.p, i, p, n, it))
	})
}

func names(count int, nth func(C.size_t, **C.char, *C.size_t, *C.wasmtime_component_item_t) bool) []string {
	out := make([]string, 0, count)
	walk(count, nth, func(name string, _ *C.wasmtime_component_item_t) { out = append(out, name) })
	return out
}

// walk visits the items of a list that the library owns.
func walk(count int, nth func(C.size_t, **C.char, *C.size_t, *C.wasmtime_component_item_t) bool, visit func(string, *C.wasmtime_component_item_t)) {
	for i := range count {
		var p *C.char
		var n C.size_t
		var it C.wasmtime_component_item_t
		if !nth(C.size_t(i), &p, &n, &it) {
			return
		}
		visit(string(unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n))), &it)
		C.wasmtime_component_item_delete(&it)
	}
}

// ImportFuncs returns the signatures of the functions in an imported interface,
// as WIT with all named types spelled out and resources as "own" and "borrow".
// It is nil when the component imports no such interface.
func (c *Component) ImportFuncs(iface string) map[string]string {
	ty := C.wasmtime_component_type(c.p)
	defer C.wasmtime_component_type_delete(ty)
	var it C.wasmtime_component_item_t
	p, n := cstr(iface)
	if !C.wasmtime_component_type_import_get(ty, c.e.p, p, n, &it) {
		return nil
	}
	return c.funcs(&it)
}

// ExportFuncs is ImportFuncs for an exported interface.
func (c *Component) ExportFuncs(iface string) map[string]string {
	ty := C.wasmtime_component_type(c.p)
	defer C.wasmtime_component_type_delete(ty)
	var it C.wasmtime_component_item_t
	p, n := cstr(iface)
	if !C.wasmtime_component_type_export_get(ty, c.e.p, p, n, &it) {
		return nil
	}
	return c.funcs(&it)
}

// funcs reads an instance type and frees the item.
func (c *Component) funcs(it *C.wasmtime_component_item_t) map[string]string {
	defer C.wasmtime_component_item_delete(it)
	if it.kind != C.WH_ITEM_COMPONENT_INSTANCE {
		return nil
	}
	in := *(**C.wasmtime_component_instance_type_t)(unsafe.Pointer(&it.of))
	out := map[string]string{}
	walk(int(C.wasmtime_component_instance_type_export_count(in, c.e.p)), func(i C.size_t, p **C.char, n *C.size_t, it *C.wasmtime_component_item_t) bool {
		return bool(C.wasmtime_component_instance_type_export_nth(in, c.e.p, i, p, n, it))
	}, func(name string, it *C.wasmtime_component_item_t) {
		if it.kind == C.WH_ITEM_COMPONENT_FUNC {
			s := C.wh_signature(*(**C.wasmtime_component_func_type_t)(unsafe.Pointer(&it.of)))
			out[name] = C.GoString(s)
			C.free(unsafe.Pointer(s))
		}
	})
	return out
}
