package escape

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func crash(s *session) []Finding {
	_, _, _ = s.one(nil, nil, "crash")
	found, err := filepath.Glob(filepath.Join(s.work, "*core*"))
	return finding(err == nil && len(found) == 0, "no core", strings.Join(found, " "))
}

// outcome is what mur-shell run --json says of an end.
func (s *session) outcome(limits []string, words ...string) (limit string, code int, err error) {
	flags := []string{"--json"}
	for _, l := range limits {
		flags = append(flags, "--limit", l)
	}
	r := s.shell(nil, flags, words...)
	text, err := r.text()
	var v struct {
		Limit *string `json:"resource_limit"`
		Code  int     `json:"exit_code"`
	}
	if jerr := json.Unmarshal([]byte(text), &v); jerr != nil {
		return "", -1, fmt.Errorf("%w: %v %s", jerr, err, text)
	}
	if v.Limit != nil {
		limit = *v.Limit
	}
	return limit, v.Code, nil
}

// grouped tells whether a cgroup can be had here.
func (s *session) grouped() error {
	r := s.shell(nil, []string{"--limit", "cgroup_pids_max=64"}, append(slices.Clone(s.o.Probe), "noop")...)
	if _, err := r.text(); err != nil {
		return fmt.Errorf("no cgroup can be made here: %s", strings.TrimSpace(r.err.String()))
	}
	return nil
}

func forkBomb(s *session) []Finding {
	if err := s.grouped(); err != nil {
		return notRun(err.Error())
	}
	words := slices.Concat(s.o.Probe, []string{"one", "forks", "500", s.facts["SLEEP"], "30"})
	limit, _, err := s.outcome([]string{"cgroup_pids_max=48", "max_processes=1000"}, words...)
	if err != nil {
		return finding(false, "cgroup_pids_max", err.Error())
	}
	return finding(limit == "cgroup_pids_max" && s.alive(), "cgroup_pids_max", limit)
}

func groupMemory(s *session) []Finding {
	if err := s.grouped(); err != nil {
		return notRun(err.Error())
	}
	words := slices.Concat(s.o.Probe, []string{"one", "together", "6"}, s.o.Probe, []string{"one", "touch", "64"})
	limit, _, err := s.outcome([]string{"cgroup_memory_bytes=134217728"}, words...)
	if err != nil {
		return finding(false, "cgroup_memory_bytes", err.Error())
	}
	return finding(limit == "cgroup_memory_bytes", "cgroup_memory_bytes", limit)
}

func cpuTime(s *session) []Finding {
	if s.facts["SH"] == "" {
		return notRun(s.missing["SH"])
	}
	limit, code, err := s.outcome([]string{"cpu_seconds=1"}, s.facts["SH"], "-c", "while :; do :; done")
	if err != nil {
		return finding(false, "cpu_seconds", err.Error())
	}
	return finding(limit == "cpu_seconds" && code == 128+int(syscall.SIGXCPU), "SIGXCPU, cpu_seconds", fmt.Sprintf("exit %d, %s", code, limit))
}
