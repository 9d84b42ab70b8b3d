package wasip1

import (
	"os"
	"testing"
)

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
