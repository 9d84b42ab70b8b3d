//go:build cgo

package component

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// TestServedInterfaces: every interface of the table has one version, and what
// names reads agrees with the library.
func TestServedInterfaces(t *testing.T) {
	for _, f := range []string{"tool.wat", "capsule.wat"} {
		b := fixture(t, f)
		imports, exports, err := names(b)
		if err != nil {
			t.Fatal(err)
		}
		e, err := wasmtime.NewEngine()
		if err != nil {
			t.Fatal(err)
		}
		c, err := e.Compile(b)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(imports, c.Imports()) || !slices.Equal(exports, c.Exports()) {
			t.Errorf("%s: read %v %v, the library says %v %v", f, imports, exports, c.Imports(), c.Exports())
		}
		c.Close()
		e.Close()
	}
}

// TestRefusals: what can not be loaded is refused with a reason and a name, and
// compiled or loaded forms make no difference. WIT-2, WIT-4, WIT-5, ART-114
func TestRefusals(t *testing.T) {
	text, err := os.ReadFile("testdata/tool.wat")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(pairs ...string) []byte { return wat(t, strings.NewReplacer(pairs...).Replace(string(text))) }
	for _, tc := range []struct {
		name   string
		wasm   []byte
		kind   wasmhost.Kind
		reason wasmhost.LoadReason
		says   string
	}{
		{"empty", nil, wasmhost.Tool, wasmhost.BadFormat, ""},
		{"text", []byte("hello world"), wasmhost.Tool, wasmhost.BadFormat, ""},
		{"core module", wat(t, "(module)"), wasmhost.Tool, wasmhost.BadFormat, ""},
		{"cut", edit()[:400], wasmhost.Tool, wasmhost.BadFormat, ""},
		{"export", edit("murmur:tool/run@0.1.0", "murmur:tool/walk@0.1.0"), wasmhost.Tool, wasmhost.BadExport, "murmur:tool/run@0.1.0"},
		{"export version", edit("murmur:tool/run@0.1.0", "murmur:tool/run@0.2.0"), wasmhost.Tool, wasmhost.BadVersion, "murmur:tool/run@0.2.0; this host serves murmur:tool/run@0.1.0: rebuild it"},
		{"import", edit("murmur:task/task@0.1.0", "murmur:process/spawn@0.1.0"), wasmhost.Tool, wasmhost.BadImport, "murmur:process/spawn@0.1.0"},
		{"import version", edit("murmur:task/task@0.1.0", "murmur:task/task@0.1.1"), wasmhost.Tool, wasmhost.BadVersion, "murmur:task/task@0.1.1"},
		{"import of another type", edit(`(export "emit-chunk" (func (param "chunk" string)))`, `(export "emit-chunk" (func (param "chunk" (list u8))))`), wasmhost.Tool, wasmhost.BadImport, "murmur:text/chunks@0.1.0#emit-chunk"},
		{"export of another type", edit(`"passed" "failed" "error"`, `"passed" "failed"`), wasmhost.Tool, wasmhost.BadExport, "murmur:tool/run@0.1.0#run"},
		{"another kind", edit(), wasmhost.Capsule, wasmhost.BadExport, "murmur:capsule/run@0.1.0"},
		{"invalid code", wat(t, `(component (core module (func (result i32) (i64.const 1))) (instance $i) (export "murmur:tool/run@0.1.0" (instance $i)))`), wasmhost.Tool, wasmhost.NoCompile, "type mismatch"},
	} {
		g, err := engine.Compile(context.Background(), tc.wasm, tc.kind)
		if err == nil {
			g.Close()
		}
		var le *wasmhost.LoadError
		if !errors.As(err, &le) || le.Reason != tc.reason || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestWrapped: a guest that moves bytes is compiled with the fast path around
// it and its form knows; one that moves none is left alone. What is added does
// not count against the guest. WIT-67
func TestWrapped(t *testing.T) {
	g := compile(t, ctool(t), wasmhost.Tool)
	form, err := g.Form()
	if err != nil {
		t.Fatal(err)
	}
	h, err := engine.Load(context.Background(), formFile(t, form), wasmhost.Tool)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if !g.(*guest).wrapped || !h.(*guest).wrapped {
		t.Error("a tool that reads files is not wrapped")
	}
	if compile(t, fixture(t, "tool.wat"), wasmhost.Tool).(*guest).wrapped {
		t.Error("a tool that moves no bytes is wrapped")
	}
	c, err := engine.compile(context.Background(), ctool(t))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := engine.guest(c, wasmhost.Tool)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	// least returns the least n for which the guest runs under the limits.
	least := func(g wasmhost.Guest, limits func(n int) wasmhost.Limits) int {
		for n := 1; n < 100; n++ {
			in := &wasmhost.Instance{Limits: limits(n)}
			if _, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: ptr("env A")}); err == nil {
				return n
			}
		}
		return -1
	}
	for name, limits := range map[string]func(int) wasmhost.Limits{
		"memory":    func(n int) wasmhost.Limits { return wasmhost.Limits{MemoryBytes: uint64(n) << 16} },
		"instances": func(n int) wasmhost.Limits { return wasmhost.Limits{Instances: uint32(n)} },
	} {
		if a, b := least(plain, limits), least(h, limits); a < 1 || b > a {
			t.Errorf("%s: runs with %d plain and %d wrapped", name, a, b)
		} else {
			t.Logf("%s: %d plain, %d wrapped", name, a, b)
		}
	}
}

// A guest is the same from its form; a form of another kind or a damaged one is
// refused. ART-127, ART-128, SES-92
func TestForms(t *testing.T) {
	g := compile(t, fixture(t, "tool.wat"), wasmhost.Tool)
	form, err := g.Form()
	if err != nil {
		t.Fatal(err)
	}
	h, err := engine.Load(context.Background(), formFile(t, form), wasmhost.Driver)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if r, err := h.RunTool(context.Background(), &wasmhost.Instance{}, wasmhost.ToolInput{Data: ptr("q")}); err != nil || *r.Data != "q" {
		t.Error(err)
	}
	var le *wasmhost.LoadError
	if _, err := engine.Load(context.Background(), formFile(t, form), wasmhost.Capsule); !errors.As(err, &le) || le.Reason != wasmhost.BadExport {
		t.Error(err)
	}
	for _, n := range []int{0, 10, len(form) / 2, len(form) - 1} {
		if _, err := engine.Load(context.Background(), formFile(t, form[:n]), wasmhost.Tool); !errors.As(err, &le) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// The fingerprint is stable, fits into a file name and carries the version.
// ART-127
func TestInfo(t *testing.T) {
	i := engine.Info()
	if i != engine.Info() || i.Name != "wasmtime" || i.Version != wasmtime.Version || !strings.HasPrefix(i.Fingerprint, "wasmtime-"+i.Version+"-") ||
		strings.Trim(i.Fingerprint, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		t.Errorf("%+v", i)
	}
}

// A compilation that is given up returns at once.
func TestCompileCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	_, err := engine.Compile(ctx, fixture(t, "tool.wat"), wasmhost.Tool)
	if !errors.Is(err, context.Canceled) || time.Since(began) > 2*time.Second {
		t.Error(err)
	}
}
