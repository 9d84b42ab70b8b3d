package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/probe"
)

// What a worker writes and reads past the cache takes as long as the limit of its scope
// makes it; two workers share it. CON-187
func TestLimitIO(t *testing.T) {
	r := probe.Host().Cgroup
	if r.Version == nil {
		t.Skipf("no cgroup is delegated to uid %d: %v", os.Getuid(), r.Blocker)
	}
	s, err := New(r, fmt.Sprintf("murmur-io-%d", os.Getpid()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Clear(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.LimitIO(unix.Mkdev(0, 40), 1); err == nil {
		t.Error("a file system without a device was limited")
	}
	dir := t.TempDir()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	const perSec, size = 1 << 20, 1 << 20 // of each of two
	if err := s.LimitIO(uint64(st.Dev), perSec); err != nil {
		for _, c := range []string{"io", "blkio"} {
			if _, there := r.Hierarchies[c]; there && unix.Major(st.Dev) != 0 {
				t.Errorf("the controller %s is there: %v", c, err)
			}
		}
		t.Skipf("no limit can be set for %s: %v", dir, err)
	}
	if _, err := exec.LookPath("dd"); err != nil {
		t.Skip("no program dd")
	}
	if out, err := exec.Command("dd", "if=/dev/zero", "of="+dir+"/probe", "bs=4k", "count=1", "oflag=direct").CombinedOutput(); err != nil {
		t.Skipf("the file system of %s can not be written past the cache: %s", dir, out)
	}
	// A session's workers are in leaves of the scope as it was told to mur-shell.
	told, err := Existing(s.Version(), s.Dirs())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var ends []func() (string, error)
	for i := range 2 {
		leaf, err := told.Leaf(fmt.Sprintf("worker-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, begin(t, leaf, fmt.Sprintf("dd if=/dev/zero of=%s/%d bs=64k count=%d oflag=direct", dir, i, size/(64<<10))))
	}
	for _, end := range ends {
		if out, err := end(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	// The first slice of a tenth of a second is free.
	if took := time.Since(began); took < 2*size*time.Second/perSec*8/10 {
		t.Errorf("2 MiB were written within %s", took)
	} else {
		t.Logf("2 MiB took %s", took)
	}
}
