package wasip1

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

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
