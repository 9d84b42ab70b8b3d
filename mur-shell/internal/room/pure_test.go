package room

import (
	"strings"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/policy"
)

// CON-197 to CON-201, SHL-73, SHL-74
func TestWhichLimitWasHit(t *testing.T) {
	signaled := func(s syscall.Signal) syscall.WaitStatus { return syscall.WaitStatus(s) }
	none := cgroup.Counts{OOMKills: -1, PidsMax: -1}
	for _, tc := range []struct {
		name          string
		status        syscall.WaitStatus
		before, after cgroup.Counts
		alone         bool
		want          string
	}{
		{"nothing", 0, cgroup.Counts{}, cgroup.Counts{}, true, ""},
		{"CPU", signaled(syscall.SIGXCPU), none, none, true, "cpu_seconds"},
		{"file size", signaled(syscall.SIGXFSZ), none, none, false, "max_file_size_bytes"},
		{"memory", signaled(syscall.SIGKILL), cgroup.Counts{OOMKills: 1}, cgroup.Counts{OOMKills: 2}, false, "cgroup_memory_bytes"},
		{"memory, ended well", 0, cgroup.Counts{OOMKills: 1}, cgroup.Counts{OOMKills: 2}, true, "cgroup_memory_bytes"},
		{"processes, ended well", 0, cgroup.Counts{PidsMax: 0}, cgroup.Counts{PidsMax: 3}, true, "cgroup_pids_max"},
		{"processes, not alone", 0, cgroup.Counts{PidsMax: 0}, cgroup.Counts{PidsMax: 3}, false, ""},
		{"killed without a counter", signaled(syscall.SIGKILL), none, none, true, ""},
		{"counter came to be", 0, none, cgroup.Counts{OOMKills: 2, PidsMax: 2}, true, ""},
		{"CPU before memory", signaled(syscall.SIGXCPU), cgroup.Counts{}, cgroup.Counts{OOMKills: 1}, true, "cpu_seconds"},
		{"exit status", syscall.WaitStatus(7 << 8), cgroup.Counts{}, cgroup.Counts{}, true, ""},
	} {
		if got := limitHit(evidence{tc.status, tc.before, tc.after, tc.alone}); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if note := LimitNote("cgroup_pids_max", policy.Resources{CgroupPidsMax: 256}); !strings.Contains(note, "cgroup_pids_max = 256") {
		t.Error(note)
	}
}

// CON-28, CON-169, CON-173
func TestLimitsOfACommand(t *testing.T) {
	n := int64(7)
	declared := &policy.DeclaredResources{MaxProcesses: &n}
	p := policy.Policy{Resources: declared.Resolve(), DeclaredResources: *declared}
	l := rlimits(p, false)
	if *l.Processes != 7 || *l.OpenFiles != 1024 || *l.FileSize != 4<<30 || *l.CPUSeconds != 3600 || *l.AddressSpace != 2<<30 {
		t.Errorf("contained: %d %d %d %d %d", *l.Processes, *l.OpenFiles, *l.FileSize, *l.CPUSeconds, *l.AddressSpace)
	}
	if l := rlimits(p, true); l.OpenFiles != nil || l.FileSize != nil || l.CPUSeconds != nil || l.AddressSpace != nil || *l.Processes != 7 {
		t.Errorf("unconfined: %+v", l)
	}
}

// SHL-62, SHL-P7
func TestHeadIsValidText(t *testing.T) {
	for in, want := range map[string]string{"ok": "ok", "a\xffb": "a\uFFFDb", "\xe2\x82": "\uFFFD", "\xe2\x82\xac": "€"} {
		if got := Text([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// SHL-72
func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		r    Result
		want int
	}{
		{Result{Known: true, Status: 7 << 8}, 7},
		{Result{Known: true, Status: syscall.WaitStatus(syscall.SIGSEGV)}, 139},
		{Result{}, -1},
	} {
		if got := tc.r.ExitCode(); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.r, got, tc.want)
		}
	}
}
