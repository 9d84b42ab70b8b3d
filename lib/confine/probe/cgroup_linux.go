//go:build linux && cgo

package probe

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/confine"
	"golang.org/x/sys/unix"
)

// needed are the controllers a scope can not do without (CON-182).
var needed = []string{"memory", "pids", "cpu"}

// Cgroup is that part of a reading taken by itself: what a process may make groups in
// depends on the group it was started in, and so differs from start to start on one
// host.
func Cgroup() confine.Cgroup { return cgroups() }

// cgroups chooses the hierarchies a session's scope would be made in: v2 when
// its tree carries every needed controller, else the v1 hierarchies that do
// (CON-179), and tries to make and remove a group in each (CON-183).
func cgroups() confine.Cgroup {
	return chooseCgroups(readText("/proc/self/mountinfo"), readText("/proc/self/cgroup"), trimmed, delegated)
}

func readText(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// chooseCgroups is the decision over the texts of mountinfo(5) and cgroups(7);
// try makes and removes a group beneath a directory.
func chooseCgroups(mountinfo, own string, read func(string) string, try func(dir string) error) confine.Cgroup {
	out := confine.Cgroup{Controllers: []string{}, Hierarchies: map[string]string{}}
	mounts := cgroupMounts(mountinfo)
	version, paths, lacking := 0, map[string]string{}, ""
	if root, ok := mounts[""]; ok {
		dir := filepath.Join(root, ownGroup(own, ""))
		if filepath.Base(dir) == confine.SupervisorGroup {
			dir = filepath.Dir(dir) // CON-181
		}
		have := strings.Fields(read(filepath.Join(dir, "cgroup.controllers")))
		if i := slices.IndexFunc(needed, func(c string) bool { return !slices.Contains(have, c) }); i >= 0 {
			lacking = needed[i] + " in " + dir
		} else {
			version = 2
			for _, c := range append(slices.Clone(needed), "io") {
				if slices.Contains(have, c) {
					paths[c] = dir
				}
			}
		}
	}
	if version == 0 {
		for _, c := range append(slices.Clone(needed), "blkio", "freezer") {
			if root, ok := mounts[c]; ok {
				paths[c] = filepath.Join(root, ownGroup(own, c))
			}
		}
		version = 1
	}
	for _, c := range needed {
		if paths[c] != "" {
			continue
		}
		if lacking == "" || len(paths) > 0 {
			lacking = c
		}
		out.Blocker = &confine.Blocker{Name: "controller-missing", Step: "find controller " + lacking}
		return out
	}
	tried := map[string]bool{}
	for _, c := range slices.Sorted(maps.Keys(paths)) {
		dir := paths[c]
		if tried[dir] {
			continue
		}
		tried[dir] = true
		if err := try(dir); err != nil {
			if !slices.Contains(needed, c) {
				delete(paths, c)
				continue
			}
			b := &confine.Blocker{Name: "delegation-missing", Step: "make a group in " + dir}
			var errno unix.Errno
			if errors.As(err, &errno) {
				b.Errno = int(errno)
			}
			if errno == unix.EBUSY {
				b.Step = "hand down controllers from " + dir
			}
			out.Blocker = b
			return out
		}
	}
	out.Version, out.Hierarchies = &version, paths
	for c := range paths {
		out.Controllers = append(out.Controllers, c)
	}
	slices.Sort(out.Controllers)
	return out
}

// cgroupMounts maps each v1 controller, and "" for v2, to its mount point.
func cgroupMounts(mountinfo string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		switch right[0] {
		case "cgroup2":
			out[""] = left[4]
		case "cgroup":
			for _, opt := range strings.Split(right[2], ",") {
				out[opt] = left[4]
			}
		}
	}
	return out
}

// ownGroup is this process's path in a hierarchy, from /proc/self/cgroup.
func ownGroup(own, controller string) string {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && slices.Contains(strings.Split(parts[1], ","), controller) {
			return parts[2]
		}
	}
	return "/"
}

// delegated makes and removes a group, and on v2 asks whether controllers could be
// handed down to it.
func delegated(dir string) error {
	probe := filepath.Join(dir, fmt.Sprintf("murmur-delegation-probe-%d", os.Getpid()))
	if err := os.Mkdir(probe, 0o755); err != nil {
		return err
	}
	if err := os.Remove(probe); err != nil {
		return err
	}
	return handsDown(dir, os.Getpid())
}

// handsDown is EBUSY for a v2 group from which no controllers can be handed down: one
// that is not the root, hands none down yet, and has processes besides this one and
// its children, which move out of the way (CON-184).
func handsDown(dir string, self int) error {
	given, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return nil // of v1
	}
	have := strings.Fields(string(given))
	if !slices.ContainsFunc(needed, func(c string) bool { return !slices.Contains(have, c) }) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); err != nil {
		return nil // the root has no such file, and is exempt (cgroups(7))
	}
	for _, pid := range strings.Fields(readText(filepath.Join(dir, "cgroup.procs"))) {
		_, rest, _ := strings.Cut(readText("/proc/"+pid+"/stat"), ") ")
		fields := strings.Fields(rest)
		if pid == fmt.Sprint(self) || len(fields) > 1 && fields[1] == fmt.Sprint(self) || len(fields) == 0 {
			continue
		}
		return &os.PathError{Op: "hand down controllers from", Path: dir, Err: unix.EBUSY}
	}
	return nil
}
