package wasip1

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// Ranges a guest names may lie over each other: what a function needs it has read
// before it writes, and the result comes last.
func TestOverlaps(t *testing.T) {
	g, dir, _ := folders(t)
	if err := os.WriteFile(dir+"/f", []byte("0123456789abcdef"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", dir+"/l"); err != nil {
		t.Fatal(err)
	}
	fd := g.mustOpen("f", 0, rightRead, 0)

	// The buffers lie over each other and over the array that names them.
	g.putU32(iovs, iovs, 8, iovs+4, 8)
	g.want(0, "fd_read", fd, iovs, 2, result)
	if got := string(g.mem[iovs:][:12]); got != "012389abcdef" || g.u32(result) != 16 {
		t.Errorf("%d bytes, %q", g.u32(result), got)
	}
	// The number of bytes lies over what was read.
	g.putU32(iovs, area, 8)
	g.want(0, "fd_pread", fd, iovs, 1, 0, area+2)
	if got := g.mem[area:][:8]; string(got[:2])+string(got[6:]) != "0167" || binary.LittleEndian.Uint32(got[2:]) != 8 {
		t.Errorf("a result over its bytes: %q", got)
	}
	// A result lies over the path.
	p, n := g.at(first, "f")
	g.want(0, "path_open", work, 0, p, n, 0, rightRead, 0, 0, first)
	if g.u32(first) != uint32(fd)+1 {
		t.Errorf("the number is %d", g.u32(first))
	}
	p, n = g.at(first, "f")
	g.want(0, "path_filestat_get", work, 0, p, n, first)
	if g.u64(first+32) != 16 {
		t.Errorf("the size is %d", g.u64(first+32))
	}
	// The text of a link, over its path and beneath its length.
	p, n = g.at(first, "l")
	g.want(0, "path_readlink", work, p, n, first, 6, first+2)
	if got := string(g.mem[first:][:6]); got != "ta\x06\x00\x00\x00" {
		t.Errorf("the link is %q", got)
	}
	// One path is two.
	p, n = g.at(first, "f")
	g.want(0, "path_rename", work, p, n, work, p, n)
	g.want(EEXIST, "path_link", work, 0, p, n, work, p, n)
	g.want(EEXIST, "path_symlink", p, n, work, p, n)

	// Events are written over the subscriptions they answer.
	g.ready(0, 1, eventFdRead, 0)
	g.ready(subscriptionSize, 2, eventFdWrite, 99)
	g.want(0, "poll_oneoff", 0, 16, 2, 8000)
	if g.u32(8000) != 2 || g.u32(16) != 1 || g.u32(16+eventSize) != 2 || g.mem[16+eventSize+8] != byte(EBADF) {
		t.Errorf("%d events, %x", g.u32(8000), g.mem[16:16+2*eventSize])
	}

	// Pointers and text of the arguments: the text comes last.
	a := newGuest(t, Config{Args: []string{"abcdefg"}})
	a.want(0, "args_get", 64, 64)
	if got := a.text(64); !strings.HasPrefix(got, "abcdefg") {
		t.Errorf("the text is %q", got)
	}
}

// What ends with the memory is inside it.
func TestEndOfMemory(t *testing.T) {
	g, dir, _ := folders(t)
	if err := os.WriteFile(dir+"/f", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	const end = last + 1
	g.put(end-1, "f")
	g.want(0, "path_open", work, 0, end-1, 1, 0, rightRead, 0, 0, end-4)
	fd := uint64(g.u32(end - 4))
	p, n := g.at(first, "f")
	g.want(0, "path_filestat_get", work, 0, p, n, end-statSize)
	g.want(0, "fd_filestat_get", fd, end-statSize)
	g.want(0, "fd_fdstat_get", fd, end-fdstatSize)
	g.want(0, "fd_prestat_get", work, end-prestatSize)
	g.want(0, "fd_prestat_dir_name", work, end-1, 1)
	g.want(0, "fd_seek", fd, 0, 0, end-8)
	g.want(0, "fd_tell", fd, end-8)
	g.want(0, "clock_time_get", clockMonotonic, 0, end-8)
	g.want(0, "clock_res_get", clockMonotonic, end-8)
	g.want(0, "random_get", end-5, 5)
	g.want(0, "fd_readdir", work, end-100, 100, 0, end-4)
	g.putU32(end-8, end-4, 4)
	g.want(0, "fd_read", fd, end-8, 1, result)
	if got := string(g.mem[end-4:]); got != "text" || g.u32(result) != 4 {
		t.Errorf("read %q", got)
	}
	g.want(0, "fd_read", fd, end, 0, result)
	g.want(EFAULT, "fd_read", fd, end+1, 0, result)
	g.ready(end-subscriptionSize, 1, eventFdRead, 0)
	g.want(0, "poll_oneoff", end-subscriptionSize, end-eventSize, 1, result)
}
