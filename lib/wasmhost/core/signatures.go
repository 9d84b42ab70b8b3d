package core

import (
	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
	"github.com/mur-capsules/mur/lib/wasmhost/core/wasip1"
)

// coreSignatures are the functions of murmur:core@0.1.0 (WIT-39).
var coreSignatures = map[string]sections.Signature{
	"slot_len":      ":i",
	"slot_read":     "ii:i",
	"http_open":     "ii:i",
	"http_read":     "iii:i",
	"http_close":    "i:i",
	"emit_chunk":    "iii:i",
	"request_input": "ii:i",
	"invoke_tool":   "iiii:i",
	"call":          "iiii:i",
	"respond":       "ii:i",
}

// wasiSignatures are the functions of WASI preview 1 (WIT-61).
var wasiSignatures = func() map[string]sections.Signature {
	out := map[string]sections.Signature{}
	for _, f := range wasip1.Funcs() {
		out[f.Name] = sections.Signature(f.Type)
	}
	return out
}()
