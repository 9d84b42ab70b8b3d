package component

import (
	"sync"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// formVersion counts changes of what this package compiles a component to that
// no other part of the fingerprint shows.
const formVersion = "1"

// info identifies the engine (ART-127).
var info = sync.OnceValue(func() wasmhost.EngineInfo {
	return wasmhost.EngineInfo{Name: "wasmtime", Version: wasmtime.Version, Fingerprint: wasmtime.Fingerprint(formVersion)}
})
