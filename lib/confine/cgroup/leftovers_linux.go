package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
)

// Leftover is a group that a killed program left: its maker is gone and nothing is in
// it.
type Leftover struct {
	Name string
	PID  int // its maker's
	dirs []string
}

// Leftovers are the groups that killed programs left where scopes are made now, by
// name. A group whose maker lives, or in which a process is, is none.
func Leftovers(r confine.Cgroup) []Leftover {
	found := map[string]*Leftover{}
	for _, parent := range slices.Compact(slices.Sorted(maps.Values(r.Hierarchies))) {
		entries, _ := os.ReadDir(parent) // what can not be listed can not be made in either
		for _, e := range entries {
			pid, dir := maker(e.Name()), filepath.Join(parent, e.Name())
			if pid == 0 || !e.IsDir() || dead(pid, dir) != nil {
				continue
			}
			l := found[e.Name()]
			if l == nil {
				l = &Leftover{Name: e.Name(), PID: pid}
				found[e.Name()] = l
			}
			l.dirs = append(l.dirs, dir)
		}
	}
	var out []Leftover
	for _, l := range found {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Leftover) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Remove removes the group with its empty leaves wherever it was found; never one
// that has come to life.
func (l Leftover) Remove() error {
	var errs []error
	for _, dir := range l.dirs {
		err := dead(l.PID, dir)
		if err == nil {
			removeLeaves(dir)
			err = os.Remove(dir)
		}
		if !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// dead says why a group is not to be removed: nil for an empty one of a process that
// is gone.
func dead(pid int, dir string) error {
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d, which made %s, runs", pid, dir)
	}
	pids, err := cgroups.GetAllPids(dir)
	if err == nil && len(pids) > 0 {
		err = fmt.Errorf("%d processes are in %s", len(pids), dir)
	}
	return err
}
