package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A run's bandwidth on the device of its work folder is bounded where the host can do
// so, and a warning says what is missing where not. CON-187, MAN-142
func TestBandwidth(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p := newPlace(t)
		if _, err := exec.LookPath("dd"); err != nil {
			t.Skip("no program dd")
		}
		r := reading().Cgroup
		if r.Version == nil {
			t.Skipf("no group is delegated here: %v", r.Blocker)
		}
		args := []string{"run", "--containment", class, "--limit", "cgroup_io_bytes_per_sec=1048576", "--", "dd", "if=/dev/zero", "bs=64k", "oflag=direct", "of=" + filepath.Join(p.work, "big")}
		// Where the limit is not for: a first block, which a tenth of a second lets by.
		probe := p.run(t, append(slices.Clone(args), "count=1")...)
		var st unix.Stat_t
		if err := unix.Stat(p.work, &st); err != nil {
			t.Fatal(err)
		}
		can := unix.Major(st.Dev) != 0 && (slices.Contains(r.Controllers, "io") || slices.Contains(r.Controllers, "blkio"))
		warned := strings.Contains(probe.stderr, "warning[W-SEC-021]: capabilities.resources.cgroup_io_bytes_per_sec = 1048576 does not hold: ")
		if can == warned {
			t.Fatalf("on device %d:%d with %q: %s", unix.Major(st.Dev), unix.Minor(st.Dev), r.Controllers, probe.stderr)
		}
		if warned {
			t.Skip(probe.stderr)
		}
		if probe.code != 0 {
			fd, err := unix.Open(filepath.Join(p.work, "direct"), unix.O_CREAT|unix.O_WRONLY|unix.O_DIRECT, 0o600)
			if err == nil {
				unix.Close(fd)
				t.Fatalf("the work folder can be written past the cache, and dd can not in it: %s", probe.stderr)
			}
			t.Skipf("the file system of the work folder can not be written past the cache: %v", err)
		}
		_ = os.Remove(filepath.Join(p.work, "big"))
		began := time.Now()
		if o := p.run(t, append(slices.Clone(args), "count=24")...); o.code != 0 || strings.Contains(o.stderr, "W-SEC-021") {
			t.Fatalf("%d %s", o.code, o.stderr)
		}
		if took := time.Since(began); took < 1200*time.Millisecond {
			t.Errorf("1.5 MiB were written within %s", took)
		}
	})
}

// A default that can not be held is nobody's loss: only who asked is warned. CON-187
func TestBandwidthNobodyAskedFor(t *testing.T) {
	needs(t, "scoped")
	p := newPlace(t)
	if o := p.run(t, "run", "--", "true"); o.code != 0 || strings.Contains(o.stderr, "W-SEC-021") {
		t.Errorf("%d %s", o.code, o.stderr)
	}
}
