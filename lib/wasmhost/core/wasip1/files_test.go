package wasip1

import (
	"os"
	"testing"
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
