package wasip1

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Where tests put things in memory.
const (
	result = 0    // results of at most 64 bytes
	iovs   = 256  // arrays of buffers
	first  = 1024 // a path, or the text of a file
	second = 5120 // a second path
	area   = 1 << 15
)

// Numbers of a guest that has both folders.
const work, state, none = 3, 4, 99

// folders makes a guest with a work folder and a store, as a tool has them.
func folders(t testing.TB) (g *guest, dir, store string) {
	dir, store = t.TempDir(), t.TempDir()
	open := func(path string) *os.Root {
		root, err := os.OpenRoot(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		return root
	}
	return newGuest(t, Config{Dirs: []Dir{
		{Guest: "/", Root: open(dir), Hidden: "state"}, {Guest: "/state", Root: open(store)},
	}}), dir, store
}

// at lays a string into memory and returns what names it.
func (g *guest) at(ptr uint64, s string) (uint64, uint64) {
	g.put(int(ptr), s)
	return ptr, uint64(len(s))
}

// onPath calls a function of a descriptor and a path.
func (g *guest) onPath(name string, fd uint64, path string) Errno {
	ptr, n := g.at(first, path)
	return g.call(name, fd, ptr, n)
}

const readWrite = rightRead | rightWrite

// open opens a path and returns its descriptor.
func (g *guest) open(fd uint64, path string, oflags, rights, flags uint64) (uint64, Errno) {
	ptr, n := g.at(first, path)
	errno := g.call("path_open", fd, lookupFollow, ptr, n, oflags, rights, 0, flags, result)
	return uint64(g.u32(result)), errno
}

func (g *guest) mustOpen(path string, oflags, rights, flags uint64) uint64 {
	g.t.Helper()
	fd, errno := g.open(work, path, oflags, rights, flags)
	if errno != 0 {
		g.t.Fatalf("open %s: %v", path, errno)
	}
	return fd
}

// write writes a string, in two buffers with an empty one between them.
func (g *guest) write(fd uint64, s string) Errno {
	g.put(first, s)
	half := uint32(len(s) / 2)
	g.putU32(iovs, first, half, most, 0, first+half, uint32(len(s))-half)
	g.putU32(iovs+8, first, 0)
	errno := g.call("fd_write", fd, iovs, 3, result)
	if errno == 0 && g.u32(result) != uint32(len(s)) {
		g.t.Errorf("%d of %d bytes were written", g.u32(result), len(s))
	}
	return errno
}

// read reads up to n bytes.
func (g *guest) read(fd uint64, n uint32) (string, Errno) {
	g.putU32(iovs, area, n)
	errno := g.call("fd_read", fd, iovs, 1, result)
	if errno != 0 {
		return "", errno
	}
	return string(g.mem[area:][:g.u32(result)]), 0
}

func host(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// WIT-58
func TestFiles(t *testing.T) {
	g, dir, store := folders(t)
	fd := g.mustOpen("a", openCreate, readWrite, 0)
	if fd != 5 {
		t.Errorf("the first descriptor is %d", fd)
	}
	if errno := g.write(fd, "hello there"); errno != 0 {
		t.Fatal(errno)
	}
	g.want(0, "fd_seek", fd, 6, 0, result)
	if got, errno := g.read(fd, 100); got != "there" || errno != 0 || g.u64(result)&0xffffffff != 5 {
		t.Errorf("after seeking: %q, %v", got, errno)
	}
	if got, errno := g.read(fd, 100); got != "" || errno != 0 {
		t.Errorf("at the end: %q, %v", got, errno)
	}
	g.want(0, "fd_tell", fd, result)
	if g.u64(result) != 11 {
		t.Errorf("the position is %d", g.u64(result))
	}
	minus := int64(-3)
	g.want(0, "fd_seek", fd, uint64(minus), 2, result)
	if g.u64(result) != 8 {
		t.Errorf("three before the end is %d", g.u64(result))
	}
	g.want(EINVAL, "fd_seek", fd, uint64(minus), 0, result)
	g.want(EINVAL, "fd_seek", fd, 0, 3, result)

	// Positioned reads and writes leave the position alone.
	g.put(first, "HELLO")
	g.putU32(iovs, first, 2, first+2, 3)
	g.want(0, "fd_pwrite", fd, iovs, 2, 0, result)
	g.putU32(iovs, area, 5, area+5, 3)
	g.want(0, "fd_pread", fd, iovs, 2, 3, result)
	if got := string(g.mem[area : area+8]); got != "LO there" || g.u32(result) != 8 {
		t.Errorf("read %d bytes, %q", g.u32(result), got)
	}
	g.want(EINVAL, "fd_pread", fd, iovs, 1, 1<<63, result)
	g.want(EINVAL, "fd_pwrite", fd, iovs, 1, 1<<63, result)
	g.want(0, "fd_tell", fd, result)
	if g.u64(result) != 8 {
		t.Errorf("the position is %d", g.u64(result))
	}

	g.want(0, "fd_filestat_set_size", fd, 5)
	g.want(EINVAL, "fd_filestat_set_size", fd, 1<<63)
	g.want(0, "fd_allocate", fd, 4, 4)
	g.want(0, "fd_allocate", fd, 0, 1)
	g.want(EINVAL, "fd_allocate", fd, 1<<63-1, 1)
	g.want(EINVAL, "fd_allocate", fd, 1<<63, 1)
	g.want(0, "fd_advise", fd, 0, 0, 5)
	g.want(EINVAL, "fd_advise", fd, 0, 0, 6)
	g.want(EINVAL, "fd_advise", fd, 1<<63, 0, 0)
	g.want(0, "fd_sync", fd)
	g.want(0, "fd_datasync", fd)
	g.want(0, "fd_close", fd)
	g.want(EBADF, "fd_close", fd)
	if got := host(t, dir+"/a"); got != "HELLO\x00\x00\x00" {
		t.Errorf("the file holds %q", got)
	}

	fd, _ = g.open(state, "kept", openCreate, rightWrite, 0)
	g.write(fd, "in the store")
	if got := host(t, store+"/kept"); got != "in the store" {
		t.Errorf("the store holds %q", got)
	}
	if _, errno := g.read(fd, 1); errno != EBADF {
		t.Errorf("reading what is opened to be written: %v", errno)
	}
}

func TestOpen(t *testing.T) {
	g, dir, _ := folders(t)
	for _, name := range []string{"file", "long"} {
		if err := os.WriteFile(dir+"/"+name, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"soft": "file", "dangling": "none", "round": "round", "tosub": "sub"} {
		if err := os.Symlink(target, dir+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pipe", dir+"/topipe"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		path                  string
		follow                bool
		oflags, rights, flags uint64
		want                  Errno
	}{
		{"file", true, 0, rightRead, 0, 0},
		{"file", true, 0, 0, 0, 0},
		{"file/", true, 0, rightRead, 0, ENOTDIR},
		{"file", true, openDirectory, rightRead, 0, ENOTDIR},
		{"file", true, openCreate | openExclusive, readWrite, 0, EEXIST},
		{"soft", true, openCreate | openExclusive, readWrite, 0, EEXIST},
		{"soft", true, 0, rightRead, 0, 0},
		{"soft", false, 0, rightRead, 0, ELOOP},
		{"soft", false, openCreate | openExclusive, readWrite, 0, EEXIST},
		{"dangling", true, 0, rightRead, 0, ENOENT},
		{"round", true, 0, rightRead, 0, ELOOP},
		{"sub", true, 0, rightRead, 0, 0},
		{"sub", true, 0, 0, 0, 0},
		{"sub/", true, openDirectory, rightRead, 0, 0},
		{"tosub", true, openDirectory, rightRead, 0, 0},
		{"sub", true, 0, readWrite, 0, EISDIR},
		{"sub", true, openDirectory, rightWrite, 0, EISDIR},
		{"sub", true, openTruncate, 0, 0, EISDIR},
		{"sub", true, openCreate, readWrite, 0, EISDIR},
		{"sub", true, openCreate | openExclusive, readWrite, 0, EEXIST},
		{"new", true, openDirectory | openCreate, rightRead, 0, EINVAL},
		{"new", true, 16, rightRead, 0, EINVAL},
		{"new", true, 0, rightRead, 0, ENOENT},
		{"none/new", true, openCreate, readWrite, 0, ENOENT},
		{"made", true, openCreate | openExclusive, readWrite, flagSync | flagDsync | flagRsync | flagNonblock, 0},
		{"pipe", true, 0, rightRead, 0, EPERM},
		{"pipe", true, 0, rightWrite, 0, EPERM},
		{"topipe", true, 0, readWrite, 0, EPERM},
		{"sub/../file", true, 0, rightRead, 0, 0},
		{"./sub/.././/file", true, 0, rightRead, 0, 0},
		{"none/../file", true, 0, rightRead, 0, ENOENT},
		{"", true, 0, rightRead, 0, ENOENT},
		{"a\x00b", true, openCreate, readWrite, 0, EINVAL},
		{strings.Repeat("n", 256), true, openCreate, readWrite, 0, ENAMETOOLONG},
		{strings.Repeat("n/", 2047) + "n", true, 0, rightRead, 0, ENOENT},
		{strings.Repeat("n/", 2048), true, 0, rightRead, 0, ENAMETOOLONG},
	} {
		ptr, n := g.at(first, s.path)
		follow := uint64(0)
		if s.follow {
			follow = lookupFollow
		}
		errno := g.call("path_open", work, follow, ptr, n, s.oflags, s.rights, 0, s.flags, result)
		if errno != s.want {
			t.Errorf("open %.40q %+v: %v", s.path, s, errno)
		}
		if errno == 0 {
			g.want(0, "fd_close", uint64(g.u32(result)))
		}
	}
	if fi, err := os.Stat(dir + "/long"); err != nil || fi.Size() != 4 {
		t.Error(fi, err)
	}
	g.want(0, "fd_close", g.mustOpen("long", openTruncate, 0, 0))
	if got := host(t, dir+"/long"); got != "" {
		t.Errorf("a file opened to be cut off holds %q", got)
	}
	// What is refused makes nothing.
	ptr, n := g.at(first, "unmade")
	g.want(EFAULT, "path_open", work, 0, ptr, n, openCreate, readWrite, 0, 0, last-2)
	if _, err := os.Lstat(dir + "/unmade"); err == nil {
		t.Error("a file was made although its number could not be told")
	}
	fd := g.mustOpen("file", 0, rightRead, 0)
	if errno := g.write(fd, "x"); errno != EBADF {
		t.Errorf("writing what is opened to be read: %v", errno)
	}
	if _, errno := g.open(fd, "x", 0, rightRead, 0); errno != ENOTDIR {
		t.Errorf("beneath a file: %v", errno)
	}
	if _, errno := g.open(1, "x", 0, rightRead, 0); errno != ENOTDIR {
		t.Errorf("beneath a stream: %v", errno)
	}
	if _, errno := g.open(none, "x", 0, rightRead, 0); errno != EBADF {
		t.Errorf("beneath nothing: %v", errno)
	}
	sub := g.mustOpen("sub", openDirectory, rightRead, 0)
	if _, errno := g.open(sub, "new", openCreate, readWrite, 0); errno != 0 {
		t.Errorf("beneath a directory: %v", errno)
	}
	if _, err := os.Stat(dir + "/sub/new"); err != nil {
		t.Error(err)
	}
	if _, errno := g.open(sub, "../file", 0, rightRead, 0); errno != EPERM {
		t.Errorf("above a directory: %v", errno)
	}
}

func TestAppend(t *testing.T) {
	g, dir, _ := folders(t)
	fd := g.mustOpen("log", openCreate, rightWrite, flagAppend)
	flags := func() byte {
		g.want(0, "fd_fdstat_get", fd, result)
		return g.mem[result+2]
	}
	g.write(fd, "one ")
	g.want(0, "fd_seek", fd, 0, 0, result)
	g.write(fd, "two")
	g.put(first, "ONE")
	g.putU32(iovs, first, 3)
	// On Linux a positioned write to what is opened to append goes to its end.
	g.want(0, "fd_pwrite", fd, iovs, 1, 0, result)
	if flags() != flagAppend {
		t.Errorf("flags are %d", flags())
	}
	g.want(0, "fd_fdstat_set_flags", fd, 0)
	g.want(0, "fd_pwrite", fd, iovs, 1, 0, result)
	if flags() != 0 {
		t.Errorf("flags are %d", flags())
	}
	g.want(0, "fd_fdstat_set_flags", fd, flagAppend)
	g.write(fd, "!")
	if got := host(t, dir+"/log"); got != "ONE twoONE!" || flags() != flagAppend {
		t.Errorf("the file holds %q", got)
	}
	g.want(EINVAL, "fd_fdstat_set_flags", fd, flagSync)
	g.want(ENOSYS, "fd_fdstat_set_flags", fd, flagNonblock)
	g.want(EISDIR, "fd_fdstat_set_flags", work, 0)
}

func TestPaths(t *testing.T) {
	g, dir, _ := folders(t)
	for _, name := range []string{"a", "b", "sub/c"} {
		if err := os.MkdirAll(filepath.Dir(dir+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	two := func(name, from string, toFD uint64, to string) Errno {
		p, pn := g.at(first, from)
		q, qn := g.at(second, to)
		switch name {
		case "path_link":
			return g.call(name, work, 0, p, pn, toFD, q, qn)
		case "path_symlink":
			return g.call(name, p, pn, toFD, q, qn)
		}
		return g.call(name, work, p, pn, toFD, q, qn)
	}
	for _, s := range []struct {
		name, from, to string
		want           Errno
	}{
		{"path_create_directory", "new", "", 0},
		{"path_create_directory", "new", "", EEXIST},
		{"path_create_directory", "new/in/", "", 0},
		{"path_create_directory", "none/in", "", ENOENT},
		{"path_create_directory", "a/in", "", ENOTDIR},
		{"path_remove_directory", "new", "", ENOTEMPTY},
		{"path_remove_directory", "new/in/", "", 0},
		{"path_remove_directory", "a", "", ENOTDIR},
		{"path_remove_directory", "none", "", ENOENT},
		{"path_unlink_file", "new", "", EISDIR},
		{"path_unlink_file", "none", "", ENOENT},
		{"path_rename", "a", "moved", 0},
		{"path_rename", "a", "moved", ENOENT},
		{"path_rename", "moved", "b", 0},
		{"path_rename", "new/", "newer/", 0},
		{"path_rename", "b", "newer", EISDIR},
		{"path_rename", "b/", "moved", ENOTDIR},
		{"path_rename", "b", "moved/", ENOTDIR},
		{"path_rename", ".", "moved", EINVAL},
		{"path_rename", "b", "sub/..", EINVAL},
		{"path_rename", "newer", "b", ENOTDIR},
		{"path_rename", "newer", "newer/in", EINVAL},
		{"path_link", "b", "hard", 0},
		{"path_link", "b", "hard", EEXIST},
		{"path_link", "none", "hard2", ENOENT},
		{"path_symlink", "../b", "sub/soft", 0},
		{"path_symlink", "../b", "sub/soft", EEXIST},
		{"path_symlink", "b", "none/soft", ENOENT},
		{"path_symlink", "", "soft", ENOENT},
		{"path_unlink_file", "hard", "", 0},
	} {
		got := Errno(0)
		if s.to == "" {
			got = g.onPath(s.name, work, s.from)
		} else {
			got = two(s.name, s.from, work, s.to)
		}
		if got != s.want {
			t.Errorf("%s %s %s: %v, want %v", s.name, s.from, s.to, got, s.want)
		}
	}
	// Another folder is another disk to a guest (WIT-74).
	for _, name := range []string{"path_rename", "path_link"} {
		if got := two(name, "b", state, "b"); got != EXDEV {
			t.Errorf("%s to the store: %v", name, got)
		}
	}
	p, pn := g.at(first, "b")
	q, qn := g.at(second, "hard3")
	g.want(EINVAL, "path_link", work, lookupFollow, p, pn, work, q, qn)

	p, pn = g.at(first, "sub/soft")
	g.want(0, "path_readlink", work, p, pn, area, 100, result)
	if got := string(g.mem[area : area+g.u32(result)]); got != "../b" {
		t.Errorf("the link leads to %q", got)
	}
	g.want(0, "path_readlink", work, p, pn, area, 2, result)
	if g.u32(result) != 2 {
		t.Errorf("%d bytes of a link in 2", g.u32(result))
	}
	p, pn = g.at(first, "b")
	g.want(EINVAL, "path_readlink", work, p, pn, area, 100, result)
	if got := host(t, dir+"/sub/soft"); got != "a" {
		t.Errorf("through the link: %q", got)
	}
}

// WIT-59
func TestHidden(t *testing.T) {
	g, dir, store := folders(t)
	if err := os.MkdirAll(dir+"/sub/state", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/state", 0o755); err != nil {
		t.Fatal(err)
	}
	top := g.mustOpen("sub/..", openDirectory, rightRead, 0)
	// What lies over the name is what a path through it means, and stays where it is.
	for i, p := range []string{"state/", "./state/", "sub/../state/", "state/../state/"} {
		for _, fd := range []uint64{work, top} {
			name := fmt.Sprint("made", i, "by", fd)
			if got := g.onPath("path_create_directory", fd, p+name+"/"); got != 0 {
				t.Errorf("%s: %v", p+name, got)
			}
			if fi, err := os.Stat(store + "/" + name); err != nil || !fi.IsDir() {
				t.Errorf("%s is not in the store: %v", p+name, err)
			}
			if got := g.onPath("path_remove_directory", fd, p+name); got != 0 {
				t.Errorf("%s: %v", p+name, got)
			}
			for _, name := range []string{"path_remove_directory", "path_unlink_file", "path_create_directory"} {
				if got := g.onPath(name, fd, p); got == 0 {
					t.Errorf("%s %s works", name, p)
				}
			}
			a, an := g.at(first, strings.TrimSuffix(p, "/"))
			b, bn := g.at(second, "moved")
			g.want(EXDEV, "path_rename", fd, a, an, work, b, bn)
			g.want(EINVAL, "path_rename", fd, a, an, state, b, bn)
		}
	}
	covered := g.mustOpen("state", openDirectory, rightRead, 0)
	if fd, errno := g.open(covered, "kept", openCreate, readWrite, 0); errno != 0 {
		t.Errorf("beneath what lies over the name: %d, %v", fd, errno)
	}
	if got := g.list(covered, 4096); !slices.Equal(got, []string{".", "..", "kept"}) {
		t.Errorf("what lies over the name lists %q", got)
	}

	alone := newGuest(t, Config{Dirs: []Dir{{Guest: "/", Root: g.h.fds.get(work).dir.Root, Hidden: "state"}}})
	for _, p := range []string{"state", "state/", "./state", "sub/../state", "state/x"} {
		if got := alone.onPath("path_remove_directory", work, p); got != ENOENT {
			t.Errorf("with nothing over it, %s: %v", p, got)
		}
	}
	for _, fd := range []uint64{work, top} {
		if got := g.list(fd, 4096); !slices.Equal(got, []string{".", "..", "sub"}) {
			t.Errorf("descriptor %d lists %q", fd, got)
		}
	}
	sub := g.mustOpen("sub", openDirectory, rightRead, 0)
	if got := g.list(sub, 4096); !slices.Contains(got, "state") {
		t.Errorf("another folder of that name is not seen: %q", got)
	}
	if got := g.onPath("path_remove_directory", sub, "state"); got != 0 {
		t.Errorf("another folder of that name: %v", got)
	}
}

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

// One number is the lowest free one, and there are no more than 256 files (WIT-72).
func TestDescriptors(t *testing.T) {
	g, dir, _ := folders(t)
	if err := os.WriteFile(dir+"/f", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range maxFiles {
		if fd, errno := g.open(work, "f", 0, rightRead, 0); errno != 0 || fd != uint64(5+i) {
			t.Fatalf("file %d has number %d, %v", i, fd, errno)
		}
	}
	for range 2 {
		if _, errno := g.open(work, "f", 0, rightRead, 0); errno != EMFILE {
			t.Errorf("one more: %v", errno)
		}
		g.want(EMFILE, "fd_readdir", work, area, 100, 0, result)
	}
	g.want(0, "fd_close", 200)
	g.want(0, "fd_close", 7)
	g.want(0, "fd_close", 0)
	for _, want := range []uint64{0, 7} {
		if fd, errno := g.open(work, "f", 0, rightRead, 0); errno != 0 || fd != want {
			t.Errorf("the number is %d, %v, want %d", fd, errno, want)
		}
	}
	if got := len(g.h.fds.open); got != 3+2+maxFiles {
		t.Errorf("%d numbers", got)
	}

	before := openDescriptors(t)
	g.h.Close()
	if after := openDescriptors(t); after > before-maxFiles+5 {
		t.Errorf("%d descriptors before closing, %d after", before, after)
	}
}

func openDescriptors(t *testing.T) int {
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(es)
}

func TestRenumber(t *testing.T) {
	g, dir, _ := folders(t)
	a := g.mustOpen("a", openCreate, readWrite, 0)
	b := g.mustOpen("b", openCreate, readWrite, 0)
	g.want(0, "fd_renumber", a, a)
	g.want(0, "fd_renumber", a, b)
	g.want(EBADF, "fd_tell", a, result)
	g.write(b, "to a")
	g.want(0, "fd_renumber", b, 1)
	g.write(1, " and more")
	if got := host(t, dir+"/a"); got != "to a and more" {
		t.Errorf("the file holds %q", got)
	}
	g.want(0, "fd_renumber", 1, maxNumber-1)
	g.want(0, "fd_close", maxNumber-1)
	for _, s := range [][3]uint64{
		{none, 1, uint64(EBADF)}, {2, maxNumber, uint64(EBADF)}, {2, most, uint64(EBADF)}, {most, most, uint64(EBADF)},
		{work, 2, uint64(ENOTSUP)}, {2, work, uint64(ENOTSUP)},
	} {
		g.want(Errno(s[2]), "fd_renumber", s[0], s[1])
	}
	if g.h.fds.files != 0 {
		t.Errorf("%d files are counted, none is open", g.h.fds.files)
	}
	g.want(0, "fd_close", work)
	g.want(EBADF, "fd_prestat_get", work, result)
	if fd, _ := g.open(state, "x", openCreate, readWrite, 0); fd != 1 {
		t.Errorf("the lowest free number is %d", fd)
	}
}

func TestPrestat(t *testing.T) {
	g, _, _ := folders(t)
	for fd, want := range map[uint64]string{work: "/", state: "/state"} {
		g.want(0, "fd_prestat_get", fd, result)
		if g.u32(result) != 0 || g.u32(result+4) != uint32(len(want)) {
			t.Errorf("descriptor %d: %x", fd, g.mem[:8])
		}
		g.want(0, "fd_prestat_dir_name", fd, area, uint64(len(want)))
		if got := string(g.mem[area:][:len(want)]); got != want {
			t.Errorf("descriptor %d is %q", fd, got)
		}
		g.want(ENAMETOOLONG, "fd_prestat_dir_name", fd, area, uint64(len(want)-1))
		g.want(EFAULT, "fd_prestat_dir_name", fd, last, 100)
		g.want(EFAULT, "fd_prestat_get", fd, last-6)
	}
	opened := g.mustOpen(".", openDirectory, rightRead, 0)
	for _, fd := range []uint64{0, 1, 2, opened, none, most} {
		g.want(EBADF, "fd_prestat_get", fd, result)
		g.want(EBADF, "fd_prestat_dir_name", fd, area, 10)
	}
}

func TestStat(t *testing.T) {
	g, dir, _ := folders(t)
	if err := os.WriteFile(dir+"/f", []byte("four"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", dir+"/l"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/p", 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir+"/f", &st); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		path   string
		follow uint64
		kind   byte
		size   uint64
	}{
		{"f", 0, typeRegular, 4}, {"l", lookupFollow, typeRegular, 4}, {"l", 0, typeLink, 1},
		{".", 0, typeDirectory, 0}, {"p", 0, typeUnknown, 0},
	} {
		p, n := g.at(first, s.path)
		g.want(0, "path_filestat_get", work, s.follow, p, n, result)
		if g.mem[16] != s.kind || s.kind != typeDirectory && g.u64(32) != s.size || g.u64(8) == 0 || g.u64(24) == 0 {
			t.Errorf("%s: %x", s.path, g.mem[:64])
		}
		if s.kind == typeRegular && (g.u64(0) != st.Dev || g.u64(8) != st.Ino || g.u64(48) != uint64(st.Mtim.Nano()) || g.u64(56) != uint64(st.Ctim.Nano())) {
			t.Errorf("%s: %x, the system has %+v", s.path, g.mem[:64], st)
		}
		g.want(EFAULT, "path_filestat_get", work, s.follow, p, n, last-62)
	}
	p, n := g.at(first, "none")
	g.want(ENOENT, "path_filestat_get", work, 0, p, n, result)

	fd := g.mustOpen("f", 0, rightRead, 0)
	for _, s := range []struct {
		fd   uint64
		kind byte
		size uint64
	}{{fd, typeRegular, 4}, {work, typeDirectory, g.u64(32)}, {1, typeStream, 0}} {
		g.want(0, "fd_filestat_get", s.fd, result)
		if g.mem[16] != s.kind || s.kind == typeRegular && g.u64(32) != s.size || g.u64(24) == 0 {
			t.Errorf("descriptor %d: %x", s.fd, g.mem[:64])
		}
		g.want(0, "fd_fdstat_get", s.fd, result)
		if g.mem[0] != s.kind {
			t.Errorf("descriptor %d: fdstat %x", s.fd, g.mem[:24])
		}
		seek := g.u64(8)&(rightSeek|rightTell) != 0
		if seek != (s.kind == typeRegular) || (g.u64(16) != 0) != (s.kind == typeDirectory) {
			t.Errorf("descriptor %d has rights %x, %x", s.fd, g.u64(8), g.u64(16))
		}
		g.want(EFAULT, "fd_filestat_get", s.fd, last-62)
		g.want(EFAULT, "fd_fdstat_get", s.fd, last-22)
		g.want(ENOSYS, "fd_fdstat_set_rights", s.fd, 0, 0)
	}
}

func TestTimes(t *testing.T) {
	g, dir, _ := folders(t)
	if err := os.WriteFile(dir+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", dir+"/l"); err != nil {
		t.Fatal(err)
	}
	const day = 86400 * 1e9
	before := int64(-day)
	fd := g.mustOpen("f", 0, rightRead, 0)
	stamps := func(path string) (atim, mtim int64) {
		var st unix.Stat_t
		if err := unix.Lstat(dir+"/"+path, &st); err != nil {
			t.Fatal(err)
		}
		return st.Atim.Nano(), st.Mtim.Nano()
	}
	p, n := g.at(first, "f")
	g.want(0, "fd_filestat_set_times", fd, day, 2*day+5, 1|4)
	if a, m := stamps("f"); a != day || m != 2*day+5 {
		t.Errorf("stamps are %d and %d", a, m)
	}
	g.want(0, "path_filestat_set_times", work, lookupFollow, p, n, 3*day, 0, 1)
	if a, m := stamps("f"); a != 3*day || m != 2*day+5 {
		t.Errorf("stamps are %d and %d", a, m)
	}
	g.want(0, "path_filestat_set_times", work, 0, p, n, 7, uint64(before)+1, 4)
	if a, m := stamps("f"); a != 3*day || m != before+1 {
		t.Errorf("stamps are %d and %d", a, m)
	}
	g.want(0, "fd_filestat_set_times", fd, 0, 0, 0)
	g.want(0, "fd_filestat_set_times", fd, 0, 0, 2|8)
	if a, m := stamps("f"); time.Since(time.Unix(0, a)) > time.Hour || time.Since(time.Unix(0, m)) > time.Hour {
		t.Errorf("now is %d and %d", a, m)
	}
	_, kept := stamps("f")
	p, n = g.at(first, "l")
	g.want(0, "path_filestat_set_times", work, 0, p, n, day, day, 1|4)
	if _, m := stamps("l"); m != day {
		t.Errorf("the link's stamp is %d", m)
	}
	if _, m := stamps("f"); m != kept {
		t.Errorf("the stamp of what the link leads to is %d", m)
	}
	g.want(0, "path_filestat_set_times", work, lookupFollow, p, n, day, day, 1|4)
	if _, m := stamps("f"); m != day {
		t.Errorf("through the link: %d", m)
	}
	for _, flags := range []uint64{3, 12, 15} {
		g.want(EINVAL, "fd_filestat_set_times", fd, 0, 0, flags)
		g.want(EINVAL, "path_filestat_set_times", work, 0, p, n, 0, 0, flags)
	}
	p, n = g.at(first, "none")
	g.want(ENOENT, "path_filestat_set_times", work, 0, p, n, 0, 0, 1)
	p, n = g.at(first, ".")
	g.want(0, "path_filestat_set_times", work, 0, p, n, day, day, 1|4)
}
