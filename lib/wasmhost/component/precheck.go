package component

import (
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component/wasi"
)

// servedWASI are the WASI interfaces that are served, without versions.
var servedWASI = sync.OnceValue(func() map[string]bool {
	served := map[string]bool{}
	for _, it := range wasi.Interfaces() {
		if base, version, _ := strings.Cut(it.Name, "@"); strings.HasPrefix(base, "wasi:") && isPreview2(version) {
			served[base] = true
		}
	}
	return served
})

// Check tells whether wasm is a component that imports and exports what a guest
// of this kind may and must (WIT-4, WIT-24), without an engine: mur-stage asks
// it for a component whose compiled form is there already. The error is a
// *wasmhost.LoadError. A component that passes may still be refused by Compile.
func Check(wasm []byte, kind wasmhost.Kind) error {
	imports, exports, err := names(wasm)
	if err != nil {
		return &wasmhost.LoadError{Reason: wasmhost.BadFormat, Err: err}
	}
	if err := check(kind, imports, exports, servedWASI()); err != nil {
		return err
	}
	return nil
}

// Info identifies the engine New makes, without making one; false in a build
// without it.
func Info() (wasmhost.EngineInfo, bool) {
	if !available {
		return wasmhost.EngineInfo{}, false
	}
	return info(), true
}
