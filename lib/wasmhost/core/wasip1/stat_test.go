package wasip1

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

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
		if s.kind == typeRegular && (g.u64(0) != uint64(st.Dev) || g.u64(8) != st.Ino || g.u64(48) != uint64(st.Mtim.Nano()) || g.u64(56) != uint64(st.Ctim.Nano())) {
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
