package component

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// check says whether a guest of the kind may be loaded, given the names it
// imports and exports. wasi are the served WASI interfaces without a version.
// It returns nil or the first of: an export missing or at another version, then
// the first import that is not served (WIT-1, WIT-2, WIT-4).
func check(kind wasmhost.Kind, imports, exports []string, wasi map[string]bool) *wasmhost.LoadError {
	w, ok := worlds[kind]
	export := wasmhost.Export(kind)
	if !ok || export == "" {
		return &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: fmt.Sprintf("what a guest of kind %q exports", kind)}
	}
	if !slices.Contains(exports, export) {
		for _, n := range exports {
			if sameInterface(n, export) {
				return &wasmhost.LoadError{Reason: wasmhost.BadVersion, Name: n, Served: export}
			}
		}
		return &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: export}
	}
	for _, n := range imports {
		if err := checkImport(w, n, wasi); err != nil {
			return err
		}
	}
	return nil
}

func checkImport(w world, name string, wasi map[string]bool) *wasmhost.LoadError {
	for _, served := range append(slices.Clone(w.imports), w.types...) {
		switch {
		case name == served:
			return nil
		case sameInterface(name, served):
			return &wasmhost.LoadError{Reason: wasmhost.BadVersion, Name: name, Served: served}
		}
	}
	base, version, _ := strings.Cut(name, "@")
	if wasi[base] && isPreview2(version) {
		return nil
	}
	return &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: name}
}

// isPreview2 reports whether version is 0.2.x: WASI interfaces are matched by
// minor version (WIT-25), and one definition serves them all.
func isPreview2(version string) bool {
	patch, ok := strings.CutPrefix(version, "0.2.")
	if !ok || patch == "" || len(patch) > 1 && patch[0] == '0' {
		return false
	}
	_, err := strconv.ParseUint(patch, 10, 32)
	return err == nil
}

// checkFuncs compares the functions a guest has in one interface with those the
// interface is made of. An export must have all of them; an import some.
func checkFuncs(iface string, have map[string]string, export bool) *wasmhost.LoadError {
	want := signatures[iface]
	reason := wasmhost.BadImport
	if export {
		reason = wasmhost.BadExport
		for _, f := range slices.Sorted(maps.Keys(want)) {
			if have[f] == "" {
				return &wasmhost.LoadError{Reason: reason, Name: iface + "#" + f}
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(have)) {
		if want == nil || have[f] == want[f] {
			continue
		}
		if want[f] == "" {
			if export {
				continue // more than the interface asks for
			}
			return &wasmhost.LoadError{Reason: reason, Name: iface + "#" + f}
		}
		return &wasmhost.LoadError{Reason: reason, Name: iface + "#" + f,
			Err: fmt.Errorf("its type is %s, not %s", have[f], want[f])}
	}
	return nil
}
