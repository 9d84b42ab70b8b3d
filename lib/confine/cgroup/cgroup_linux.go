package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs"
	"github.com/opencontainers/cgroups/fs2"

	"github.com/mur-capsules/mur/lib/confine"
)

// cpuPeriod is the period CPU quotas are counted in, in microseconds.
const cpuPeriod = 100_000

// Scope is a session's group.
type Scope struct {
	version int
	paths   map[string]string // controller -> directory; v2: "" -> directory
	m       cgroups.Manager
}

// Leaf is a worker's group below a scope.
type Leaf struct {
	scope  *Scope
	paths  map[string]string
	shared []string // of the scope, that its worker is in as well
	m      cgroups.Manager
}

// dirs are all that a process of the leaf is in.
func (l *Leaf) dirs() []string {
	return append(slices.Collect(maps.Values(l.paths)), l.shared...)
}

// New makes the scope in the hierarchies of a reading and writes its limits. The
// error is what E-RUN-012 carries; nothing is left behind then. name is one path
// segment.
func New(r confine.Cgroup, name string, l Limits) (*Scope, error) {
	if err := r.Missing(); err != nil {
		return nil, err
	}
	s := &Scope{version: *r.Version, paths: place(r, name)}
	res := s.resources(l)
	var err error
	if s.m, err = s.manager(s.paths, res); err != nil {
		return nil, err
	}
	if err := s.make(s.paths); err != nil {
		return nil, err
	}
	if err := s.m.Set(res); err != nil {
		_ = s.remove(s.paths)
		return nil, fmt.Errorf("write limits: %w", err)
	}
	return s, nil
}

// Dirs are the directories that New makes a scope of: for who is told before that it
// is to remove them should the maker die. A reading without hierarchies has none.
func Dirs(r confine.Cgroup, name string) []string {
	if r.Version == nil {
		return nil
	}
	return slices.Sorted(maps.Values(place(r, name)))
}

// place is where the scope of a name lies, by controller; v2 has one place, for "".
func place(r confine.Cgroup, name string) map[string]string {
	paths := map[string]string{}
	for controller, dir := range r.Hierarchies {
		if *r.Version == 2 {
			controller = ""
		}
		paths[controller] = filepath.Join(dir, name)
	}
	return paths
}

// resources are limits in the words of the library.
func (s *Scope) resources(l Limits) *cgroups.Resources {
	res := &cgroups.Resources{SkipDevices: true, SkipFreezeOnSet: true, Memory: int64(l.MemoryBytes), CpuPeriod: cpuPeriod, CpuQuota: int64(l.CPUPercent) * cpuPeriod / 100}
	if l.MemoryBytes > 0 && s.swapAccounted() {
		res.MemorySwap = int64(l.MemoryBytes) // memory and swap together: no swap
	}
	if l.PidsMax > 0 {
		n := int64(l.PidsMax)
		res.PidsLimit = &n
	}
	return res
}

// Existing is a scope that somebody else made and removes: version and directories
// are as its maker's Version and Dirs say.
func Existing(version int, dirs map[string]string) (*Scope, error) {
	if version != 1 && version != 2 || len(dirs) == 0 {
		return nil, fmt.Errorf("a scope of version %d with %d directories is none", version, len(dirs))
	}
	s := &Scope{version: version, paths: map[string]string{}}
	for controller, dir := range dirs {
		if version == 2 {
			controller = ""
		}
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("the directory %q of the scope is not absolute", dir)
		}
		s.paths[controller] = dir
	}
	return s, nil
}

// Version is 1 or 2.
func (s *Scope) Version() int { return s.version }

// Dirs are the scope's directories by controller; v2 has one, for "".
func (s *Scope) Dirs() map[string]string { return maps.Clone(s.paths) }

// swapAccounted reports whether the host counts swap; v1 has the file only then.
func (s *Scope) swapAccounted() bool {
	if s.version == 2 {
		return true
	}
	_, err := os.Stat(filepath.Join(filepath.Dir(s.paths["memory"]), "memory.memsw.limit_in_bytes"))
	return err == nil
}

func (s *Scope) manager(paths map[string]string, res *cgroups.Resources) (cgroups.Manager, error) {
	if s.version == 2 {
		return fs2.NewManager(&cgroups.Cgroup{Resources: res}, paths[""])
	}
	return fs.NewManager(&cgroups.Cgroup{Resources: res}, paths)
}

func (s *Scope) make(paths map[string]string) error {
	for _, dir := range paths {
		if err := os.Mkdir(dir, 0o755); err != nil && !(s.version == 1 && errors.Is(err, os.ErrExist)) {
			_ = s.remove(paths)
			return fmt.Errorf("make group: %w", err)
		}
	}
	if s.version == 2 {
		// Children get the controllers their parent hands down (cgroups(7)).
		if err := handDown(filepath.Dir(paths[""]), "+memory +pids +cpu"); err != nil {
			_ = s.remove(paths)
			return fmt.Errorf("hand down controllers: %w", err)
		}
	}
	return nil
}

func (s *Scope) remove(paths map[string]string) error {
	var errs []error
	for _, dir := range paths {
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Remove removes the scope; its leaves are gone already (CON-190: best effort).
func (s *Scope) Remove() error { return s.remove(s.paths) }

// flat is the v1 controller whose limits hold for the very group they are written to
// and for none below it (blk-throttle.c): workers are in the scope's own group there.
const flat = "blkio"

// Leaf makes a group for one worker.
func (s *Scope) Leaf(name string) (*Leaf, error) {
	l := &Leaf{scope: s, paths: map[string]string{}}
	for controller, dir := range s.paths {
		if controller == flat {
			l.shared = append(l.shared, dir)
			continue
		}
		l.paths[controller] = filepath.Join(dir, name)
	}
	if err := s.make(l.paths); err != nil {
		return nil, err
	}
	var err error
	if l.m, err = s.manager(l.paths, &cgroups.Resources{SkipDevices: true}); err != nil {
		_ = s.remove(l.paths)
		return nil, err
	}
	return l, nil
}

// Doors opens what a thread that writes 0 enters the leaf by, in every hierarchy:
// it is there at once, where moving a process takes the kernel some 10 ms
// (cgroup_threadgroup_rwsem). cgroup v2 has none for a process and returns nil:
// Add is for it then. The caller closes them.
func (l *Leaf) Doors() ([]*os.File, error) {
	if l.scope.version == 2 {
		return nil, nil
	}
	var doors []*os.File
	for _, dir := range l.dirs() {
		f, err := os.OpenFile(filepath.Join(dir, "tasks"), os.O_WRONLY, 0)
		if err != nil {
			for _, f := range doors {
				_ = f.Close()
			}
			return nil, fmt.Errorf("open group: %w", err)
		}
		doors = append(doors, f)
	}
	return doors, nil
}

// Add moves a process into the leaf, in every hierarchy.
func (l *Leaf) Add(pid int) error {
	for _, dir := range l.dirs() {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("move process %d: %w", pid, err)
		}
	}
	return nil
}

// Counts reads the counters.
func (l *Leaf) Counts() Counts {
	c := Counts{OOMKills: -1, PidsMax: -1}
	if l.scope.version == 2 {
		c.OOMKills = counter(filepath.Join(l.paths[""], "memory.events"), "oom_kill")
		c.PidsMax = counter(filepath.Join(l.scope.paths[""], "pids.events"), "max")
		return c
	}
	c.OOMKills = counter(filepath.Join(l.paths["memory"], "memory.oom_control"), "oom_kill")
	c.PidsMax = counter(filepath.Join(l.scope.paths["pids"], "pids.events"), "max")
	if own := counter(filepath.Join(l.paths["pids"], "pids.events"), "max"); own > 0 {
		c.PidsMax += own
	}
	return c
}

func counter(path, key string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
