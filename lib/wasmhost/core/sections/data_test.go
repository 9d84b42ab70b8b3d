package sections

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// section makes one, of less than 128 bytes.
func section(id byte, body ...byte) []byte { return append([]byte{id, byte(len(body))}, body...) }

// active is a segment of the first memory at a constant offset below 64 or, as
// written, in two bytes.
func active(offset []byte, text string) []byte {
	return slices.Concat([]byte{0, 0x41}, offset, []byte{0x0b, byte(len(text))}, []byte(text))
}

func at(n int) []byte { return appendSigned(nil, int64(n)) }

// dataModule has a memory of one page and a data section of the segments.
func dataModule(segments ...[]byte) []byte {
	body := append([]byte{byte(len(segments))}, bytes.Join(segments, nil)...)
	return slices.Concat(Header, section(5, 1, 0, 1), section(sectionData, body...), section(0, 1, 'x'))
}

// image is what the data section of a module leaves in its memory.
func image(t testing.TB, wasm []byte) (mem []byte, segments int) {
	t.Helper()
	mem = make([]byte, PageSize)
	r := &reader{b: wasm[len(Header):]}
	for len(r.b) > 0 {
		id, body := r.byte(), r.bytes()
		if id != sectionData {
			continue
		}
		list, ok := readSegments(body)
		if !ok {
			t.Fatal("the data section can not be read")
		}
		for _, s := range list {
			copy(mem[s.offset:s.end()], s.bytes)
		}
		segments = len(list)
	}
	return mem, segments
}

func TestJoinData(t *testing.T) {
	for name, tc := range map[string]struct {
		list [][]byte
		want int
	}{
		"neighbours":       {[][]byte{active(at(1), "ab"), active(at(3), "cd"), active(at(20), "ef")}, 1},
		"in any order":     {[][]byte{active(at(300), "ab"), active(at(8), "cd"), active(at(320), "ef")}, 2},
		"a gap":            {[][]byte{active(at(8), "ab"), active(at(10+maxGap), "cd"), active(at(13+2*maxGap), "ef")}, 2},
		"to the last byte": {[][]byte{active(at(PageSize-9), "ab"), active(at(PageSize-2), "cd")}, 1},
		"empty ones":       {[][]byte{active(at(8), ""), active(at(8), "ab"), active(at(10), "")}, 1},
	} {
		wasm := dataModule(tc.list...)
		joined := JoinData(wasm)
		want, _ := image(t, wasm)
		got, n := image(t, joined)
		if n != tc.want || !bytes.Equal(got, want) || !bytes.HasSuffix(joined, section(0, 1, 'x')) {
			t.Errorf("%s: %d segments, same memory: %v", name, n, bytes.Equal(got, want))
		}
		if again := JoinData(joined); !bytes.Equal(again, joined) {
			t.Errorf("%s: joined twice differs", name)
		}
	}
}

// Where a guest could tell the difference nothing is done.
func TestJoinDataLeavesAlone(t *testing.T) {
	two := [][]byte{active(at(1), "ab"), active(at(3), "cd")}
	counted := slices.Concat(Header, section(5, 1, 0, 1), section(sectionDataCount, 2), dataModule(two...)[len(Header)+5:])
	for name, wasm := range map[string][]byte{
		"one segment":         dataModule(two[0]),
		"far apart":           dataModule(active(at(1), "ab"), active(at(1000), "cd")),
		"no data":             slices.Concat(Header, section(5, 1, 0, 1)),
		"segments by number":  counted,
		"passive":             dataModule(two[0], []byte{1, 1, 'x'}),
		"of a second memory":  dataModule(two[0], slices.Concat([]byte{2, 0}, two[1][1:])),
		"a global's offset":   dataModule(two[0], []byte{0, 0x23, 0, 0x0b, 1, 'x'}),
		"a longer expression": dataModule(two[0], []byte{0, 0x41, 1, 0x41, 2, 0x6a, 0x0b, 1, 'x'}),
		"overlapping":         dataModule(two[0], active(at(2), "cd")),
		"beyond the memory":   dataModule(two[0], active(at(3), "cd"), active(at(PageSize-1), "xy")),
		"a negative offset":   dataModule(two[0], two[1], active(at(-1), "x")),
		"cut off":             dataModule(two...)[:24],
		"no module":           Header,
	} {
		if got := JoinData(wasm); !bytes.Equal(got, wasm) {
			t.Errorf("%s: changed to %x", name, got)
		}
	}
}

func FuzzJoinData(f *testing.F) {
	f.Add(dataModule(active(at(1), "ab"), active(at(3), "cd")))
	f.Add(dataModule(active(at(300), "ab"), active(at(8), strings.Repeat("c", 90))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, Header) {
			return
		}
		joined := JoinData(b)
		if bytes.Equal(joined, b) {
			return
		}
		m, err := Read(joined)
		if err != nil || len(m.Memories) != 1 {
			t.Fatalf("a module became %v", err)
		}
		if m.Memories[0].Min > 1 {
			return
		}
		want, before := image(t, b)
		got, after := image(t, joined)
		if !bytes.Equal(got, want) || after >= before {
			t.Errorf("%d segments became %d, same memory: %v", before, after, bytes.Equal(got, want))
		}
	})
}
