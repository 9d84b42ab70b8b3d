package core

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
)

// What is served, and what staging checks against, is what other hosts serve: wazero
// has the functions with the same types (WIT-61).
func TestWASISignatures(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	c, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	letters := func(vs []api.ValueType) (s string) {
		for _, v := range vs {
			s += map[api.ValueType]string{api.ValueTypeI32: "i", api.ValueTypeI64: "I"}[v]
		}
		return s
	}
	served := c.ExportedFunctions()
	for name, def := range served {
		if got, want := wasiSignatures[name], sections.Signature(letters(def.ParamTypes())+":"+letters(def.ResultTypes())); got != want {
			t.Errorf("%s is %q, wazero has %q", name, got, want)
		}
	}
	for name := range wasiSignatures {
		if served[name] == nil {
			t.Errorf("%s is not served", name)
		}
	}
	for name := range hostFuncs {
		if coreSignatures[name] == "" {
			t.Errorf("%s has no signature", name)
		}
	}
	if len(hostFuncs) != len(coreSignatures) {
		t.Errorf("%d functions, %d signatures", len(hostFuncs), len(coreSignatures))
	}
}
