package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
)

// wayTime is how long a group may take to be empty of processes (CON-184).
const wayTime = 2 * time.Second

// handDown gives the children of a v2 group controllers. The kernel refuses that with
// EBUSY while a process is in the group itself (cgroups(7), "no internal processes"):
// this one and its children move into a leaf of it then, and others that are there,
// which are somebody else's, may end meanwhile (CON-184).
func handDown(group, controllers string) error {
	file := filepath.Join(group, "cgroup.subtree_control")
	err := write(file, controllers)
	for end := time.Now().Add(wayTime); errors.Is(err, unix.EBUSY); time.Sleep(20 * time.Millisecond) {
		others, merr := makeWay(group)
		if merr != nil {
			return fmt.Errorf("%w, and no leaf can be moved into: %w", err, merr)
		}
		if err = write(file, controllers); errors.Is(err, unix.EBUSY) && time.Now().After(end) {
			return fmt.Errorf("%w: cgroup v2 hands none down from a group with processes in it, and there are %d in %s besides this one's; have mur started in a group of its own", err, others, group)
		}
	}
	return err
}

// makeWay moves this process and its children out of a group and says how many other
// processes are there.
func makeWay(group string) (others int, err error) {
	leaf := filepath.Join(group, confine.SupervisorGroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return 0, err
	}
	pids, err := cgroups.GetPids(group)
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if pid != os.Getpid() && parent(pid) != os.Getpid() {
			others++
			continue
		}
		err := write(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(pid))
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return 0, err
		}
	}
	return others, nil
}

// parent is the process that a process is a child of, 0 if that can not be seen.
func parent(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// After the name, which may hold anything: state and parent (proc_pid_stat(5)).
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[1]))
	return n
}
