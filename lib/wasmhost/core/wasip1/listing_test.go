package wasip1

import (
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
)

// list reads a directory with a buffer of that size and returns its names in order.
func (g *guest) list(fd uint64, size uint64) []string {
	g.t.Helper()
	var names []string
	for cookie := uint64(0); ; {
		g.want(0, "fd_readdir", fd, area, size, cookie, result)
		used := g.u32(result)
		b := g.mem[area:][:used]
		for len(b) >= direntSize {
			n := binary.LittleEndian.Uint32(b[16:])
			if uint64(len(b)) < direntSize+uint64(n) {
				break
			}
			cookie = binary.LittleEndian.Uint64(b)
			names = append(names, string(b[direntSize:][:n]))
			b = b[direntSize+n:]
		}
		if uint64(used) < size {
			slices.Sort(names)
			return names
		}
	}
}

func TestReaddir(t *testing.T) {
	g, dir, _ := folders(t)
	want := []string{".", ".."}
	for i := range 400 {
		name := strings.Repeat("n", i%60) + string(rune('a'+i/26)) + string(rune('a'+i%26))
		want = append(want, name)
		if err := os.WriteFile(dir+"/"+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	for _, size := range []uint64{100, 1000, 8192, area} {
		for range 2 { // cookie 0 begins anew
			if got := g.list(work, size); !slices.Equal(got, want) {
				t.Errorf("a buffer of %d bytes gets %d names of %d", size, len(got), len(want))
			}
		}
	}
	// An entry further back can be asked for again.
	g.want(0, "fd_readdir", work, area, 8192, 0, result)
	once := slices.Clone(g.mem[area:][:200])
	g.want(0, "fd_readdir", work, area, 8192, 300, result)
	g.want(0, "fd_readdir", work, area, 8192, 1, result)
	if string(g.mem[area:][:100]) != string(once[direntSize+1:][:100]) {
		t.Error("entry 1 is another one after entry 300")
	}
	for _, cookie := range []uint64{402, 403, 1<<64 - 1} {
		g.want(0, "fd_readdir", work, area, 8192, cookie, result)
		if g.u32(result) != 0 {
			t.Errorf("from entry %d on there are %d bytes", cookie, g.u32(result))
		}
	}
	g.want(EINVAL, "fd_readdir", work, area, direntSize-1, 0, result)
	g.want(ENOTDIR, "fd_readdir", 0, area, 100, 0, result)
	g.want(ENOTDIR, "fd_readdir", g.mustOpen(want[5], 0, rightRead, 0), area, 100, 0, result)

	// Types, and no inode but that of the directory itself.
	g.want(0, "fd_readdir", work, area, 100, 0, result)
	if g.u64(area+8) == 0 || g.u32(area+20) != typeDirectory || g.u64(area+direntSize+1+8) != 0 {
		t.Errorf("the first entries are %x", g.mem[area:area+60])
	}
}
