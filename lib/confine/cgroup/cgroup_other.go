//go:build !linux

package cgroup

import (
	"errors"
	"os"

	"github.com/mur-capsules/mur/lib/confine"
)

// errNone is why there is no scope here.
var errNone = errors.New("this system has no cgroups")

// Scope is a session's group, which nobody has here: New and Existing make none.
type Scope struct{}

// Leaf is a worker's group below a scope, which nobody has here.
type Leaf struct{}

// New fails: what a reading says is missing, or that there are no cgroups.
func New(r confine.Cgroup, _ string, _ Limits) (*Scope, error) {
	if err := r.Missing(); err != nil {
		return nil, err
	}
	return nil, errNone
}

// Existing fails.
func Existing(int, map[string]string) (*Scope, error) { return nil, errNone }

// Dirs are none.
func Dirs(confine.Cgroup, string) []string { return nil }

// Leftover is a group that a killed program left, which none does here.
type Leftover struct {
	Name string
	PID  int // its maker's
}

// Leftovers are none.
func Leftovers(confine.Cgroup) []Leftover { return nil }

// Remove has nothing to remove.
func (l Leftover) Remove() error { return nil }

// Version is 0.
func (s *Scope) Version() int { return 0 }

// Dirs are none.
func (s *Scope) Dirs() map[string]string { return nil }

// Remove has nothing to remove.
func (s *Scope) Remove() error { return nil }

// Clear has nothing to end.
func (s *Scope) Clear() error { return nil }

// LimitIO fails.
func (s *Scope) LimitIO(uint64, uint64) error { return errNone }

// Leaf fails.
func (s *Scope) Leaf(string) (*Leaf, error) { return nil, errNone }

// Doors fails.
func (l *Leaf) Doors() ([]*os.File, error) { return nil, errNone }

// Add fails.
func (l *Leaf) Add(int) error { return errNone }

// Counts has no counter.
func (l *Leaf) Counts() Counts { return Counts{OOMKills: -1, PidsMax: -1} }

// Kill has nothing to end.
func (l *Leaf) Kill() error { return nil }
