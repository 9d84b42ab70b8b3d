package wasi

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// The proxy is a component that imports WASI functions at their true types and
// exports each of them once more, so that a test can call them from Go through
// the canonical ABI. Handles stay in the proxy: where a function takes or gives
// one, the exported function takes or gives its number. It is generated from
// proxyInterfaces.

// proxyFunc is one function: its type in text; its flattened parameters as
// letters (i for i32, l for i64); and its flattened result: "" none, "i" or "l"
// one value, "p" more than one, by pointer.
type proxyFunc struct{ name, typ, params, result string }

type proxyInterface struct {
	name  string
	types string // declarations inside the instance type
	names string // types that functions outside refer to
	funcs []proxyFunc
}

const proxyVersion = "@0.2.3"

func coreTypes(letters string) string {
	return strings.NewReplacer("i", "i32 ", "l", "i64 ").Replace(letters)
}

// proxyText returns the component; skip leaves functions out.
func proxyText(skip func(iface, fn string) bool) string {
	var imports, lowers, coreImports, coreFuncs, with, lifts, plain, shimIn, shimOut, shimWith, shimTypes, shimExports strings.Builder
	n := 0
	for _, it := range proxyInterfaces {
		id := "$" + strings.NewReplacer("/", "-").Replace(it.name)
		fmt.Fprintf(&imports, "(import \"wasi:%s%s\" (instance %s\n%s\n", it.name, proxyVersion, id, it.types)
		for _, f := range it.funcs {
			if skip(it.name, f.name) {
				continue
			}
			fmt.Fprintf(&imports, "(export \"%s\" (func %s))\n", f.name, f.typ)
			fmt.Fprintf(&lowers, "(core func $f%d (canon lower (func %s \"%s\") (memory $mem) (realloc $realloc)))\n", n, id, f.name)
			ps := strings.TrimSpace(coreTypes(f.params))
			var res, ptr, back string
			switch f.result {
			case "i", "l":
				res = "(result " + coreTypes(f.result) + ")"
			case "p":
				ps += " i32"
				ptr, res, back = "(i32.const 16)", "(result i32)", "(i32.const 16)"
			}
			low := res
			if f.result == "p" {
				low = ""
			}
			fmt.Fprintf(&coreImports, "(import \"w\" \"f%d\" (func $f%d (param %s) %s))\n", n, n, ps, low)
			fmt.Fprintf(&with, "(export \"f%d\" (func $f%d))\n", n, n)
			fmt.Fprintf(&coreFuncs, "(func (export \"f%d\") (param %s) %s (call $f%d", n, strings.TrimSpace(coreTypes(f.params)), res, n)
			for i := range f.params {
				fmt.Fprintf(&coreFuncs, " (local.get %d)", i)
			}
			fmt.Fprintf(&coreFuncs, " %s) %s)\n", ptr, back)
			post := map[string]string{"": "post", "i": "post-i", "p": "post-i", "l": "post-l"}[f.result]
			typ, name := plainType(f.typ), exportName(it.name, f.name)
			fmt.Fprintf(&lifts, "(func $lift%d %s (canon lift (core func $i \"f%d\") (memory $mem) (realloc $realloc) (post-return (func $m \"%s\"))))\n", n, in("plain-", typ), n, post)
			fmt.Fprintf(&shimIn, "(import \"import-%s\" (func $f%d %s))\n", name, n, typ)
			fmt.Fprintf(&shimExports, "(export \"%s\" (func $f%d) (func %s))\n", name, n, in("out-", typ))
			fmt.Fprintf(&shimWith, "(with \"import-%s\" (func $lift%d))\n", name, n)
			n++
		}
		imports.WriteString("))\n")
		for _, d := range namedTypes.FindAllStringSubmatch(it.types, -1) {
			def, name := plainType(d[1]), d[2]
			fmt.Fprintf(&plain, "(type $plain-%s %s)\n", name, in("plain-", def))
			fmt.Fprintf(&shimTypes, "(type $def-%s %s) (import \"%s\" (type $%s (eq $def-%s)))\n", name, def, name, name, name)
			fmt.Fprintf(&shimOut, "(type $out-def-%s %s) (export $out-%s \"%s\" (type $out-def-%s))\n", name, in("out-", def), name, name, name)
			fmt.Fprintf(&shimWith, "(with \"%s\" (type $plain-%s))\n", name, name)
		}
		for name := range strings.FieldsSeq(it.names) {
			local, export, renamed := strings.Cut(name, ":")
			if !renamed {
				export = local
			}
			fmt.Fprintf(&imports, "(alias export %s \"%s\" (type $%s))\n", id, export, local)
		}
	}
	drops := ""
	for name := range strings.FieldsSeq(proxyDrops) {
		drops += fmt.Sprintf("(core func $drop-%s (canon resource.drop $%s))\n(func $lift-%s (param \"h\" u32) (canon lift (core func $drop-%s)))\n", name, name, name, name)
		fmt.Fprintf(&shimIn, "(import \"import-drop-%s\" (func $drop-%s (param \"h\" u32)))\n", name, name)
		fmt.Fprintf(&shimExports, "(export \"drop-%s\" (func $drop-%s))\n", name, name)
		fmt.Fprintf(&shimWith, "(with \"import-drop-%s\" (func $lift-%s))\n", name, name)
	}
	return "(component\n" + imports.String() + `
(core module $memory
  (memory (export "memory") 64)
  (global $next (mut i32) (i32.const 1024))
  (func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (local $r i32)
    (local.set $r (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
    (global.set $next (i32.add (local.get $r) (local.get 3)))
    (loop $more (if (i32.gt_u (global.get $next) (i32.mul (memory.size) (i32.const 65536)))
      (then (if (i32.eq (memory.grow (i32.const 64)) (i32.const -1)) (then unreachable)) (br $more))))
    (local.get $r))
  (func (export "post") (global.set $next (i32.const 1024)))
  (func (export "post-i") (param i32) (global.set $next (i32.const 1024)))
  (func (export "post-l") (param i64) (global.set $next (i32.const 1024))))
(core instance $m (instantiate $memory))
(alias core export $m "memory" (core memory $mem))
(alias core export $m "realloc" (core func $realloc))
` + lowers.String() + "(core module $code\n" + coreImports.String() + coreFuncs.String() + ")\n" +
		"(core instance $i (instantiate $code (with \"w\" (instance\n" + with.String() + "))))\n" + plain.String() + lifts.String() + drops +
		"(component $shim\n" + shimTypes.String() + shimIn.String() + shimOut.String() + shimExports.String() + ")\n(instance $out (instantiate $shim\n" + shimWith.String() + "))\n" +
		"(export \"test:proxy/all\" (instance $out)))"
}

// in gives the types in a text the names they have in one part of the proxy.
func in(scope, text string) string { return strings.ReplaceAll(text, "$", "$"+scope) }

// plainType is a function's type with numbers for handles.
func plainType(s string) string {
	s = handleType.ReplaceAllString(s, "u32")
	return strings.NewReplacer("$d)", "$datetime)").Replace(s)
}

// namedTypes finds the definitions in proxyInterface.types.
var namedTypes = regexp.MustCompile(`\(type \$[a-z]+ (\((?:record|variant|enum|flags).*)\)\s*\(export "[^"]+" \(type \$([A-Za-z-]+) \(eq \$[a-z]+\)\)\)`)

var handleType = regexp.MustCompile(`\((own|borrow) \$[a-z-]+\)`)

// exportName is how the proxy exports a function: "streams-input-stream-read".
func exportName(iface, fn string) string {
	_, base, _ := strings.Cut(iface, "/")
	return base + "-" + strings.NewReplacer("[method]", "", "[static]", "", "[constructor]", "new-", ".", "-").Replace(fn)
}

var proxyBinary = sync.OnceValues(func() ([]byte, error) {
	return wasmtime.Wat(proxyText(func(string, string) bool { return false }))
})

var testEngine = sync.OnceValues(wasmtime.NewEngine)

type compiled struct {
	linker         *wasmtime.Linker
	plain, wrapped *wasmtime.Component
}

var proxies = sync.OnceValues(func() (*compiled, error) {
	e, err := testEngine()
	if err != nil {
		return nil, err
	}
	c := &compiled{linker: e.NewLinker()}
	if err := c.linker.Define(Interfaces()...); err != nil {
		return nil, err
	}
	b, err := proxyBinary()
	if err != nil {
		return nil, err
	}
	if c.plain, err = e.Compile(b); err != nil {
		return nil, fmt.Errorf("plain: %w", err)
	}
	w, err := Wrap(b)
	if err != nil {
		return nil, err
	}
	if len(w) <= len(b) {
		return nil, fmt.Errorf("the proxy was not wrapped")
	}
	if c.wrapped, err = e.Compile(w); err != nil {
		return nil, fmt.Errorf("wrapped: %w", err)
	}
	return c, nil
})

// guest is a proxy in a store.
type guest struct {
	t     testing.TB
	c     *wasmtime.Component
	s     *wasmtime.Store
	i     *wasmtime.Instance
	wasi  *Instance
	ctx   context.Context
	index map[string]*wasmtime.Index
}

func needEngine(t testing.TB) *compiled {
	t.Helper()
	p, err := proxies()
	if err == wasmtime.ErrNoEngine {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newGuest starts a wrapped proxy; close ends it.
func newGuest(t testing.TB, cfg Config) *guest { return startGuest(t, cfg, needEngine(t).wrapped) }

func startGuest(t testing.TB, cfg Config, c *wasmtime.Component) *guest {
	t.Helper()
	e, _ := testEngine()
	g := &guest{t: t, c: c, wasi: New(cfg), ctx: context.Background(), index: map[string]*wasmtime.Index{}}
	g.s = e.NewStore(wasmtime.StoreConfig{Data: g.wasi, MemoryBytes: 256 << 20, Instances: 100})
	var err error
	if g.i, err = needEngine(t).linker.Instantiate(g.ctx, g.s, c); err != nil {
		t.Fatal(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed {
			closed = true
			g.close()
		}
	})
	return g
}

func (g *guest) close() {
	if g.s != nil {
		g.s.Close()
		g.wasi.Close()
		for _, ix := range g.index {
			ix.Close()
		}
		g.s = nil
	}
}

// try calls a function and returns its only result.
func (g *guest) try(name string, args ...val) (val, error) {
	g.t.Helper()
	ix := g.index[name]
	if ix == nil {
		var err error
		if ix, err = g.c.Index("test:proxy/all", name); err != nil {
			g.t.Fatal(err)
		}
		g.index[name] = ix
	}
	f, err := g.i.Func(ix)
	if err != nil {
		g.t.Fatal(err)
	}
	n := 1
	if !hasResult(name) {
		n = 0
	}
	r, err := f.Call(g.ctx, n, args...)
	if err != nil || n == 0 {
		return nil, err
	}
	return r[0], nil
}

// call is try that must not trap.
func (g *guest) call(name string, args ...val) val {
	g.t.Helper()
	v, err := g.try(name, args...)
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	return v
}

// ok calls a function whose result must be ok.
func (g *guest) ok(name string, args ...val) val {
	g.t.Helper()
	r := g.call(name, args...).(wasmtime.Result)
	if !r.OK {
		g.t.Fatalf("%s: error %v", name, r.V)
	}
	return r.V
}

// fails calls a function whose result must be an error, which it returns as text.
func (g *guest) fails(name string, args ...val) string {
	g.t.Helper()
	r := g.call(name, args...).(wasmtime.Result)
	if r.OK {
		g.t.Fatalf("%s succeeded: %v", name, r.V)
	}
	switch v := r.V.(type) {
	case variant:
		return v.Name
	case enum:
		return string(v)
	}
	return fmt.Sprint(r.V)
}

// drop drops a handle.
func (g *guest) drop(name string, v val) { g.t.Helper(); g.call("drop-"+name, v) }

// proxyDrops are the resources that the proxy can drop.
const proxyDrops = "pollable input-stream output-stream descriptor directory-entry-stream fields outgoing-request outgoing-body future-incoming-response incoming-response incoming-body future-trailers"

func hasResult(name string) bool {
	return !strings.HasPrefix(name, "drop-") && name != "poll-pollable-block" && name != "exit-exit" && name != "exit-exit-with-code"
}
