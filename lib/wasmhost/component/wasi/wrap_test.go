package wasi

import (
	"bytes"
	"os"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
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
