package wasi

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// testDir is a granted directory "." on a fresh folder.
func testDir(t testing.TB) (wasmhost.Dir, string) {
	t.Helper()
	p := t.TempDir()
	r, err := os.OpenRoot(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return wasmhost.Dir{Guest: ".", Root: r}, p
}

// top is the descriptor of the first granted directory.
func (g *guest) top() val {
	g.t.Helper()
	return g.call("preopens-get-directories").(list)[0].(tuple)[0]
}

// open opens a file or directory beneath d.
func (g *guest) open(d val, path string, open, desc flags) val {
	g.t.Helper()
	return g.ok("types-descriptor-open-at", d, flags{"symlink-follow"}, path, open, desc)
}

func dirs(d ...wasmhost.Dir) []wasmhost.Dir { return d }

var readWrite = flags{"read", "write"}

// byteRoad writes data by the four ways of writing and reads it by the three of
// reading, and compares.
func byteRoad(t testing.TB, g *guest, dir string, data []byte) {
	d := g.top()
	f := g.open(d, "f", flags{"create", "truncate"}, readWrite)
	out := g.ok("types-descriptor-write-via-stream", f, uint64(0))
	for i, rest := 0, data; len(rest) > 0; i++ {
		p := rest[:min(len(rest), Chunk-i)]
		rest = rest[len(p):]
		if i%2 == 0 {
			g.ok("streams-output-stream-write", out, p)
		} else {
			g.ok("streams-output-stream-blocking-write-and-flush", out, p)
		}
	}
	if onDisk, _ := os.ReadFile(dir + "/f"); !bytes.Equal(onDisk, data) {
		t.Fatalf("streams wrote %d bytes of %d, or others", len(onDisk), len(data))
	}
	if n := g.ok("types-descriptor-write", f, data, uint64(len(data))); n != uint64(len(data)) {
		t.Fatalf("wrote %v of %d", n, len(data))
	}
	if onDisk, _ := os.ReadFile(dir + "/f"); !bytes.Equal(onDisk, append(bytes.Clone(data), data...)) {
		t.Fatalf("descriptor.write wrote other bytes")
	}
	in := g.ok("types-descriptor-read-via-stream", f, uint64(0))
	var got []byte
	for i := 0; ; i++ {
		name := []string{"streams-input-stream-read", "streams-input-stream-blocking-read"}[i%2]
		r := g.call(name, in, uint64(Chunk-i)).(result)
		if !r.OK {
			if r.V.(variant).Name != "closed" {
				t.Fatalf("%s: %v", name, r.V)
			}
			break
		}
		got = append(got, listBytes(r.V)...)
	}
	if !bytes.Equal(got, append(bytes.Clone(data), data...)) {
		t.Fatalf("streams read %d bytes, or others, of %d", len(got), 2*len(data))
	}
	got = nil
	for {
		v := g.ok("types-descriptor-read", f, uint64(Chunk), uint64(len(got))).(tuple)
		got = append(got, listBytes(v[0])...)
		if v[1].(bool) {
			break
		}
	}
	if !bytes.Equal(got, append(bytes.Clone(data), data...)) {
		t.Fatalf("descriptor.read read other bytes")
	}
}

func listBytes(v val) []byte { b, _ := v.([]byte); return b }

func TestByteRoad(t *testing.T) {
	for _, n := range []int{0, 1, 6, 7, 8, 13, 14, 15, 4096, Chunk - 1, Chunk, Chunk + 1, 200_000} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i*i>>3 ^ i)
		}
		dir, path := testDir(t)
		g := newGuest(t, Config{Dirs: []wasmhost.Dir{dir}})
		byteRoad(t, g, path, data)
		g.close()
	}
}

// FuzzByteRoad sends bytes of all lengths and values through the guest and back.
func FuzzByteRoad(f *testing.F) {
	for _, n := range []int{0, 1, 7, 8, 65535, 65536, 65537, 65541, 65542, 131_072, 199_999, 200_000} {
		f.Add(n, uint64(n))
	}
	f.Fuzz(func(t *testing.T, n int, seed uint64) {
		data := make([]byte, max(n, -n)%200_001)
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		dir, path := testDir(t)
		g := newGuest(t, Config{Dirs: []wasmhost.Dir{dir}})
		byteRoad(t, g, path, data)
		g.close()
	})
}

// FuzzPack compares pack and unpack with each other and with the format.
func FuzzPack(f *testing.F) {
	for n := range 30 {
		f.Add(bytes.Repeat([]byte{0xff, 0, 0x80}, n)[:n])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := pack(b)
		if len(s) != packedLen(len(b)) {
			t.Fatalf("%d bytes take %d characters", len(b), len(s))
		}
		for i := range len(s) {
			if s[i] > 0x7f {
				t.Fatalf("character %#x", s[i])
			}
		}
		for _, buf := range [][]byte{nil, make([]byte, Chunk+64)} {
			if got, err := unpack(buf, s); err != nil || !bytes.Equal(got, b) {
				t.Fatalf("%x came back as %x, %v", b, got, err)
			}
		}
		if p, err := unpack(nil, string(b)); err == nil && len(p) > len(b) { // any string at all
			t.Fatalf("%d characters made %d bytes", len(b), len(p))
		}
	})
}

// FuzzWrap: Wrap takes anything, and what it can not read it returns as it is.
func FuzzWrap(f *testing.F) {
	whole, err := proxyBinary()
	if err != nil {
		f.Skip(err)
	}
	mover, err := wasmtime.Wat(moverText)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(mover)
	f.Add(mover[:len(mover)/2])
	f.Add([]byte{})
	f.Add(preamble)
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := Wrap(b)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Wrap(b); err != nil || !bytes.Equal(w, again) {
			t.Fatal("not the same twice")
		}
	})
}

// TestWrapKeepsOthers: a component without the functions, a core module and
// broken bytes come back as they are; the same bytes give the same result.
func TestWrapKeepsOthers(t *testing.T) {
	needEngine(t)
	wat := func(text string) []byte {
		b, err := wasmtime.Wat(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole, _ := proxyBinary()
	for name, b := range map[string][]byte{
		"export of no sort": append(bytes.Clone(preamble), secExport, 6, 1, 0, 0, byte(sorts), 0, 0),
		"nothing":           nil, "module": wat("(module)"), "empty": wat("(component)"), "cut": whole[:len(whole)/2],
		"other functions": wat(proxyText(func(_, f string) bool {
			return slices.ContainsFunc(twins, func(t twin) bool { return t.name == f })
		})),
	} {
		if w, err := Wrap(b); err != nil || !bytes.Equal(w, b) {
			t.Errorf("%s: changed to %d bytes, %v", name, len(w), err)
		}
	}
	one, _ := Wrap(whole)
	two, _ := Wrap(whole)
	if !bytes.Equal(one, two) {
		t.Error("not the same twice")
	}
	if w, err := Wrap(one); err != nil || !bytes.Equal(w, one) {
		t.Errorf("wrapped twice: %d bytes of %d, %v", len(w), len(one), err)
	}
}

// TestWrapSubsets wraps components that import each function with twin alone,
// at other versions of WASI, and runs those that only print.
func TestWrapSubsets(t *testing.T) {
	needEngine(t)
	e, _ := testEngine()
	isTwin := func(f string) bool { return slices.ContainsFunc(twins, func(t twin) bool { return t.name == f }) }
	for _, only := range twins {
		for _, version := range []string{"@0.2.0", "@0.2.12", "@0.2.99"} {
			text := proxyText(func(_, f string) bool { return isTwin(f) && f != only.name })
			b, err := wasmtime.Wat(strings.ReplaceAll(text, proxyVersion, version))
			if err != nil {
				t.Fatal(err)
			}
			w, err := Wrap(b)
			if err != nil || bytes.Equal(w, b) {
				t.Fatalf("%s%s: not wrapped, %v", only.name, version, err)
			}
			c, err := e.Compile(w)
			if err != nil {
				t.Fatalf("%s%s: %v", only.name, version, err)
			}
			var out bytes.Buffer
			g := startGuest(t, Config{Stdout: &out}, c)
			if name := exportName(only.iface, only.name); only.write && only.iface == "wasi:io/streams" {
				g.ok(strings.Replace(name, "wasi:", "", 1), g.call("stdout-get-stdout"), []byte("printed"))
				if out.String() != "printed" {
					t.Errorf("%s%s printed %q", only.name, version, out.String())
				}
			}
			g.close()
			c.Close()
		}
	}
}

// TestWrapInstances: an ordinary component that uses every function with twin
// gets no more core instances and memory than promised.
func TestWrapInstances(t *testing.T) {
	p := needEngine(t)
	e, _ := testEngine()
	least := func(c *wasmtime.Component, limit func(*wasmtime.StoreConfig, int), step, most int) int {
		for n := step; n <= most; n += step {
			in := New(Config{})
			cfg := wasmtime.StoreConfig{Data: in}
			limit(&cfg, n)
			s := e.NewStore(cfg)
			_, err := p.linker.Instantiate(context.Background(), s, c)
			s.Close()
			in.Close()
			if err == nil {
				return n
			}
		}
		t.Fatal("no limit is enough")
		return 0
	}
	instances := func(c *wasmtime.StoreConfig, n int) { c.Instances = uint32(n) }
	memory := func(c *wasmtime.StoreConfig, n int) { c.MemoryBytes = uint64(n) }
	if plain, wrapped := least(p.plain, instances, 1, 100), least(p.wrapped, instances, 1, 100); wrapped-plain > WrapInstances {
		t.Errorf("%d instances, wrapped %d: more than %d", plain, wrapped, WrapInstances)
	} else {
		t.Logf("%d instances, wrapped %d", plain, wrapped)
	}
	if plain, wrapped := least(p.plain, memory, 1<<16, 64<<20), least(p.wrapped, memory, 1<<16, 64<<20); wrapped-plain > WrapMemory {
		t.Errorf("%d bytes, wrapped %d: more than %d", plain, wrapped, WrapMemory)
	}
}

// TestWrapMovesReferences: what stands behind the shims, and refers to core
// functions, instances and modules by number, is found again: here a resource of
// the guest's own with its destructor, made and dropped by modules of their own.
func TestWrapMovesReferences(t *testing.T) {
	p := needEngine(t)
	e, _ := testEngine()
	i := strings.Index(moverText, `  (func (export "write") (param "total" u32)`)
	text := moverText[:i] + `
  (core module $d
    (global $last (mut i32) (i32.const 0))
    (func (export "dtor") (param i32) (global.set $last (local.get 0)))
    (func (export "last") (result i32) (global.get $last)))
  (core instance $di (instantiate $d))
  (alias core export $di "dtor" (core func $dtor))
  (alias core export $di "last" (core func $last))
  (type $r (resource (rep i32) (dtor (func $dtor))))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
  (core module $u
    (import "w" "new" (func $new (param i32) (result i32)))
    (import "w" "drop" (func $drop (param i32)))
    (import "w" "last" (func $last (result i32)))
    (func (export "use") (result i32) (call $drop (call $new (i32.const 77))) (call $last)))
  (core instance $ui (instantiate $u (with "w" (instance (export "new" (func $new)) (export "drop" (func $drop)) (export "last" (func $last))))))
  (func (export "use") (result u32) (canon lift (core func $ui "use")))
` + moverText[i:]
	b, err := wasmtime.Wat(text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Wrap(b)
	if err != nil || bytes.Equal(w, b) {
		t.Fatal("not wrapped", err)
	}
	c, err := e.Compile(w)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir, path := testDir(t)
	in := New(Config{Dirs: dirs(dir)})
	defer in.Close()
	s := e.NewStore(wasmtime.StoreConfig{Data: in})
	defer s.Close()
	inst, err := p.linker.Instantiate(context.Background(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		args []val
		want uint32
	}{{"use", nil, 77}, {"write", []val{uint32(100_000), uint32(1000)}, 0}, {"use", nil, 77}, {"read", []val{uint32(0), uint32(5000)}, 100_000}} {
		ix, err := c.Index("", x.name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := inst.Func(ix)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := f.Call(context.Background(), 1, x.args...); err != nil || r[0] != x.want {
			t.Errorf("%s: %v, %v", x.name, r, err)
		}
		ix.Close()
	}
	if fi, err := os.Stat(path + "/f"); err != nil || fi.Size() != 100_000 {
		t.Errorf("the file: %v, %v", fi, err)
	}
}
