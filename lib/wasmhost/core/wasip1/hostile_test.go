package wasip1

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Every function is served, and none has a result but its number.
func TestFuncs(t *testing.T) {
	funcs := Funcs()
	if len(funcs) != 46 || len(table) != 46 {
		t.Errorf("there are %d functions, %d names", len(funcs), len(table))
	}
	for i, f := range funcs {
		params, results, _ := strings.Cut(f.Type, ":")
		if strings.Trim(params, "iI") != "" || results != "i" && f.Name != "proc_exit" {
			t.Errorf("%s has type %s", f.Name, f.Type)
		}
		if i > 0 && funcs[i-1].Name >= f.Name {
			t.Errorf("%s comes before %s", funcs[i-1].Name, f.Name)
		}
	}
	if Errno(0).Error() != "ESUCCESS" || EBADF.String() != "EBADF" || ENOTCAPABLE != 76 || Errno(77).String() != "errno 77" || len(names) != 77 {
		t.Error("the numbers are not those of WASI")
	}
}

// What is not open is told before anything else is looked at but memory.
func TestNotOpen(t *testing.T) {
	g, _, _ := folders(t)
	path, n := g.at(first, "x")
	for name, args := range map[string][]uint64{
		"fd_advise": {none, 0, 0, 0}, "fd_allocate": {none, 0, 0}, "fd_close": {none}, "fd_datasync": {none},
		"fd_fdstat_get": {none, result}, "fd_fdstat_set_flags": {none, 0}, "fd_fdstat_set_rights": {none, 0, 0},
		"fd_filestat_get": {none, result}, "fd_filestat_set_size": {none, 0}, "fd_filestat_set_times": {none, 0, 0, 0},
		"fd_pread": {none, iovs, 0, 0, result}, "fd_prestat_dir_name": {none, 0, 0}, "fd_prestat_get": {none, result},
		"fd_pwrite": {none, iovs, 0, 0, result}, "fd_read": {none, iovs, 0, result}, "fd_readdir": {none, area, 100, 0, result},
		"fd_renumber": {none, 1}, "fd_seek": {none, 0, 0, result}, "fd_sync": {none}, "fd_tell": {none, result},
		"fd_write": {none, iovs, 0, result}, "path_create_directory": {none, path, n}, "path_filestat_get": {none, 0, path, n, result},
		"path_filestat_set_times": {none, 0, path, n, 0, 0, 0}, "path_link": {none, 0, path, n, work, path, n},
		"path_open": {none, 0, path, n, 0, 0, 0, 0, result}, "path_readlink": {none, path, n, area, 10, result},
		"path_remove_directory": {none, path, n}, "path_rename": {none, path, n, work, path, n}, "path_symlink": {path, n, none, path, n},
		"path_unlink_file": {none, path, n},
	} {
		for _, fd := range []uint64{none, most, 1 << 31} {
			g.want(EBADF, name, swap(args, none, fd)...)
		}
	}
	g.want(EBADF, "path_rename", work, path, n, none, path, n)
	g.want(EBADF, "path_link", work, 0, path, n, none, path, n)
}

// A range that begins or ends outside memory is refused, wherever it stands among
// the arguments.
func TestOutsideMemory(t *testing.T) {
	g, dir, _ := folders(t)
	if err := os.Symlink("x", dir+"/l"); err != nil {
		t.Fatal(err)
	}
	file := g.mustOpen("f", openCreate, readWrite, 0)
	path, n := g.at(first, "l")
	other, m := g.at(second, "y")
	const wrong = 1 << 40 // stands for the pointer that is tried
	for name, calls := range map[string][][]uint64{
		"fd_fdstat_get": {{file, wrong}}, "fd_filestat_get": {{file, wrong}}, "fd_prestat_get": {{work, wrong}},
		"fd_prestat_dir_name":     {{work, wrong, 2}},
		"fd_read":                 {{file, wrong, 1, result}, {file, iovs, 0, wrong}},
		"fd_write":                {{file, wrong, 1, result}, {file, iovs, 0, wrong}},
		"fd_pread":                {{file, wrong, 1, 0, result}, {file, iovs, 0, 0, wrong}},
		"fd_pwrite":               {{file, wrong, 1, 0, result}, {file, iovs, 0, 0, wrong}},
		"fd_readdir":              {{work, wrong, 100, 0, result}, {work, area, 100, 0, wrong}},
		"fd_seek":                 {{file, 0, 0, wrong}},
		"fd_tell":                 {{file, wrong}},
		"path_create_directory":   {{work, wrong, 2}},
		"path_unlink_file":        {{work, wrong, 2}},
		"path_remove_directory":   {{work, wrong, 2}},
		"path_filestat_get":       {{work, 0, wrong, 2, result}, {work, 0, path, n, wrong}},
		"path_filestat_set_times": {{work, 0, wrong, 2, 0, 0, 0}},
		"path_link":               {{work, 0, wrong, 2, work, other, m}, {work, 0, path, n, work, wrong, 2}},
		"path_open":               {{work, 0, wrong, 2, 0, 0, 0, 0, result}, {work, 0, path, n, 0, 0, 0, 0, wrong}},
		"path_readlink":           {{work, wrong, 2, area, 9, result}, {work, path, n, wrong, 9, result}, {work, path, n, area, 9, wrong}},
		"path_rename":             {{work, wrong, 2, work, other, m}, {work, path, n, work, wrong, 2}},
		"path_symlink":            {{wrong, 2, work, other, m}, {path, n, work, wrong, 2}},
	} {
		for _, args := range calls {
			for _, ptr := range []uint64{last, last + 1, most, most - 1, 1 << 31} {
				g.want(EFAULT, name, swap(args, wrong, ptr)...)
			}
		}
	}
	for _, length := range []uint64{most, last, 1 << 31} {
		g.want(EFAULT, "path_unlink_file", work, 2, length)
		g.want(EFAULT, "fd_readdir", work, 2, length, 0, result)
		g.want(EFAULT, "fd_prestat_dir_name", work, 2, length)
		g.want(EFAULT, "path_readlink", work, path, n, 2, length, result)
		g.want(EFAULT, "path_symlink", 2, length, work, other, m)
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) != 2 {
		t.Errorf("the folder holds %v, %v", es, err)
	}
}

func swap(args []uint64, from, to uint64) []uint64 {
	out := slices.Clone(args)
	for i, a := range out {
		if a == from {
			out[i] = to
		}
	}
	return out
}

// texts are what a fuzzed guest has in its memory from the address 512 on, in
// pieces of 32 bytes.
var texts = []string{
	"f", "sub", "sub/g", "..", "../out", "l", "up", "sub/../f", "new", "new/x", "state", "/", "abs/x", "sub/up/..", ".", "abs/canary",
}

// FuzzCalls lets a guest call whatever it likes: nothing panics, nothing outside
// its folder is read or changed, nothing outside its memory is, and what the host
// holds is bounded (WIT-60, WIT-72).
func FuzzCalls(f *testing.F) {
	funcs := Funcs()
	index := func(name string) byte {
		return byte(slices.IndexFunc(funcs, func(f Func) bool { return f.Name == name }))
	}
	f.Add([]byte{index("path_open"), 3, 1, 64, 1, 1, 66, 0, 0, 9, index("fd_write"), 5, 80, 2, 9, index("fd_close"), 5})
	f.Add([]byte{index("path_symlink"), 67, 2, 3, 72, 3, index("path_rename"), 3, 69, 1, 3, 72, 3, index("path_unlink_file"), 3, 66, 5})
	f.Add([]byte{index("fd_readdir"), 3, 81, 100, 0, 9, index("fd_renumber"), 1, 100, index("poll_oneoff"), 82, 81, 2, 9})
	f.Add([]byte{index("path_link"), 3, 0, 64, 1, 3, 73, 3, index("path_readlink"), 3, 69, 1, 81, 20, 9, index("random_get"), 81, 100})
	f.Add([]byte{index("path_create_directory"), 3, 72, 3, index("path_open"), 3, 1, 65, 3, 2, 0, 0, 0, 9, index("path_open"), 5, 0, 70, 2, 0, 2, 0, 0, 9})
	f.Add([]byte{index("path_create_directory"), 3, 74, 5, index("path_open"), 3, 1, 74, 5, 2, 2, 0, 0, 9, index("fd_readdir"), 5, 81, 100, 0, 9})
	f.Add([]byte{index("path_filestat_set_times"), 3, 0, 69, 1, 9, 9, 5, index("path_filestat_get"), 3, 1, 77, 9, 81, index("proc_exit"), 3})
	// Ways out: to make, to read, to move and to take away what is beside the folder.
	f.Add([]byte{index("path_open"), 3, 1, 76, 5, 1, 66, 0, 0, 9, index("path_create_directory"), 3, 76, 5})
	f.Add([]byte{index("path_open"), 3, 1, 79, 10, 0, 2, 0, 0, 9, index("fd_read"), 5, 80, 2, 9})
	f.Add([]byte{index("path_rename"), 3, 79, 10, 3, 72, 3, index("path_link"), 3, 0, 79, 10, 3, 72, 3, index("path_unlink_file"), 3, 79, 10})
	f.Add([]byte{index("path_rename"), 3, 64, 1, 3, 76, 5, index("path_symlink"), 64, 1, 3, 76, 5, index("path_filestat_set_times"), 3, 1, 79, 10, 9, 9, 5})
	f.Fuzz(func(t *testing.T, script []byte) {
		top := t.TempDir()
		dir := top + "/dir"
		for _, d := range []string{dir + "/sub", dir + "/state", top + "/out", top + "/store"} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		const secret = "?secret"
		for name, text := range map[string]string{dir + "/f": "inside", dir + "/sub/g": "inside", top + "/out/canary": secret} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for link, target := range map[string]string{"l": "f", "up": "..", "abs": top + "/out", "sub/up": "../.."} {
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		before := tree(t, top)

		const size, guard = 1 << 13, 64
		whole := bytes.Repeat([]byte{0xa5}, guard+size+guard)
		g, closeRoots := fuzzGuest(t, dir, top+"/store")
		g.mem = whole[guard : guard+size]
		clear(g.mem)
		for i, s := range texts {
			g.put(512+32*i, s)
		}
		g.putU32(256, 512, 1, 1024, 100, 2048, most, most, 3)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		g.h.Context = ctx

		for len(script) > 0 {
			fn := funcs[int(script[0])%len(funcs)]
			script = script[1:]
			params, _, _ := strings.Cut(fn.Type, ":")
			words := make([]uint64, max(1, len(params)))
			for i := range params {
				words[i], script = argument(script)
			}
			err := fn.Call(g.h, g.mem, words)
			if err == nil && words[0] > uint64(ENOTCAPABLE) {
				t.Errorf("%s answers %d", fn.Name, words[0])
			}
			if err != nil {
				break
			}
			held := 0
			for _, d := range g.h.fds.open {
				if d != nil && d.f != nil {
					held++
				}
			}
			if held != g.h.fds.files || held > maxFiles || len(g.h.fds.open) > maxNumber {
				t.Fatalf("%s: %d files are open, %d counted, %d numbers", fn.Name, held, g.h.fds.files, len(g.h.fds.open))
			}
		}
		g.h.Close()
		closeRoots()
		for _, b := range [][]byte{whole[:guard], whole[guard+size:]} {
			if len(bytes.Trim(b, "\xa5")) != 0 {
				t.Error("something was written beside the memory")
			}
		}
		if bytes.Contains(g.mem, []byte(secret[1:])) { // the first buffer takes one byte
			t.Error("the guest has read what is outside")
		}
		if after := tree(t, top); after != before {
			t.Errorf("outside there was\n%s\nand now is\n%s", before, after)
		}
	})
}

func fuzzGuest(t *testing.T, dir, store string) (g *guest, closeRoots func()) {
	work, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	over, err := os.OpenRoot(store)
	if err != nil {
		t.Fatal(err)
	}
	g = newGuest(t, Config{Args: []string{"name"}, Env: []string{"A=b"}, Stdin: strings.NewReader("given"),
		Dirs: []Dir{{Guest: "/", Root: work, Hidden: "state"}, {Guest: "/state/", Root: over}}})
	return g, func() {
		work.Close()
		over.Close()
	}
}

// argument reads one argument of a script: small numbers as they are, then texts of
// the memory, addresses, and what is large.
func argument(script []byte) (uint64, []byte) {
	if len(script) == 0 {
		return 0, nil
	}
	b, rest := script[0], script[1:]
	switch {
	case b < 64:
		return uint64(b), rest
	case b < 64+16:
		return 512 + 32*uint64(b-64), rest
	case b < 100:
		return []uint64{256, 1024, 2048, 8191, 8192, 8190, 4096, 512}[b%8], rest
	case b < 128:
		return uint64(b), rest
	case b < 144:
		return []uint64{most, most - 1, 1 << 31, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1 << 20, 1 << 16}[b%8], rest
	case b < 160 && len(rest) >= 8:
		return binary.LittleEndian.Uint64(rest), rest[8:]
	case b < 200 && len(rest) >= 2:
		return uint64(binary.LittleEndian.Uint16(rest)), rest[2:]
	}
	return uint64(b), rest
}

// tree describes what is beside the guest's folders.
func tree(t *testing.T, top string) string {
	var out strings.Builder
	err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == top+"/dir" || path == top+"/store" {
			return filepath.SkipDir
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		out.WriteString(strings.TrimPrefix(path, top) + " " + fi.Mode().String() + " " + fi.ModTime().String())
		fmt.Fprint(&out, " ", fi.Sys().(*syscall.Stat_t).Nlink)
		if fi.Mode().IsRegular() {
			out.WriteString(" " + host(t, path))
		}
		out.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
