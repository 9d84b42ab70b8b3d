package cgroup

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/cgroups"
)

// fakeFiles makes a directory of a hierarchy that is none: what is written and
// read can be seen there, and nothing is enforced.
func fakeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A machine has one version with its controllers, on which TestLimitsAreHitAndCounted
// and the probes try what the kernel does. Here are the files of both: which limit is
// written where. A hybrid host's controllers are of version 1, see TestChooseCgroups
// of lib/confine/probe. CON-186, CON-P139
func TestLimitsOfEachVersion(t *testing.T) {
	cgroups.TestMode = true
	defer func() { cgroups.TestMode = false }()
	v2 := fakeFiles(t, map[string]string{"cgroup.controllers": "cpu io memory pids\n"})
	// Whether swap is counted shows in the parent's files.
	memory := fakeFiles(t, map[string]string{"memory.memsw.limit_in_bytes": "0"})
	group := filepath.Join(memory, "scope")
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes"} {
		if err := os.WriteFile(filepath.Join(group, name), []byte("0"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pids, cpu := fakeFiles(t, nil), fakeFiles(t, nil)
	for _, tc := range []struct {
		version int
		paths   map[string]string
		want    map[string]string // file -> text
	}{
		{2, map[string]string{"": v2}, map[string]string{
			v2 + "/memory.max": "33554432", v2 + "/memory.swap.max": "0", v2 + "/pids.max": "20", v2 + "/cpu.max": "50000 100000",
		}},
		{1, map[string]string{"memory": group, "pids": pids, "cpu": cpu}, map[string]string{
			group + "/memory.limit_in_bytes": "33554432", group + "/memory.memsw.limit_in_bytes": "33554432",
			pids + "/pids.max": "20", cpu + "/cpu.cfs_quota_us": "50000", cpu + "/cpu.cfs_period_us": "100000",
		}},
	} {
		s := &Scope{version: tc.version, paths: tc.paths}
		res := s.resources(Limits{MemoryBytes: 32 << 20, PidsMax: 20, CPUPercent: 50})
		m, err := s.manager(tc.paths, res)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Set(res); err != nil {
			t.Errorf("version %d: %v", tc.version, err)
		}
		for file, want := range tc.want {
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("version %d: %s holds %q, want %q (%v)", tc.version, filepath.Base(file), got, want, err)
			}
		}
	}
}

// Which counter of which file says that a limit was hit. CON-198, CON-199, CON-200,
// CON-P139
func TestCountsOfEachVersion(t *testing.T) {
	v1 := map[string]string{"memory": t.TempDir(), "pids": t.TempDir(), "cpu": t.TempDir()}
	v2 := map[string]string{"": fakeFiles(t, map[string]string{"cgroup.subtree_control": ""})}
	for _, tc := range []struct {
		version int
		dirs    map[string]string
		files   map[string]string // file -> text
		want    Counts
	}{
		{2, v2, map[string]string{
			v2[""] + "/leaf/memory.events": "low 0\nhigh 9\nmax 8\noom 7\noom_kill 3\noom_group_kill 1\n",
			v2[""] + "/memory.events":      "oom_kill 5\n", v2[""] + "/pids.events": "max 4\n", v2[""] + "/leaf/pids.events": "max 2\n",
		}, Counts{OOMKills: 3, PidsMax: 4}},
		{1, v1, map[string]string{
			v1["memory"] + "/leaf/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
			v1["pids"] + "/pids.events":               "max 4\n", v1["pids"] + "/leaf/pids.events": "max 2\n",
		}, Counts{OOMKills: 3, PidsMax: 6}},
		{1, map[string]string{"memory": t.TempDir(), "pids": t.TempDir(), "cpu": t.TempDir()}, nil, Counts{OOMKills: -1, PidsMax: -1}},
	} {
		s, err := Existing(tc.version, maps.Clone(tc.dirs))
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := s.Leaf("leaf")
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range tc.files {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := leaf.Counts(); got != tc.want {
			t.Errorf("version %d: %+v, want %+v", tc.version, got, tc.want)
		}
	}
}
