package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
)

// killTime is how long the processes of a leaf may take to end (CON-189).
const killTime = 2 * time.Second

// Kill ends every process of the leaf, removes it, and reports an error when
// some process did not end within two seconds (CON-189).
func (l *Leaf) Kill() error {
	pause := 250 * time.Microsecond
	for end := time.Now().Add(killTime); ; pause = min(2*pause, 10*time.Millisecond) {
		n, err := l.signal()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if n == 0 && l.scope.remove(l.paths) == nil {
			return nil
		}
		if time.Now().After(end) {
			return errors.New("processes of the group did not end within two seconds")
		}
		time.Sleep(pause)
	}
}

// signal sends SIGKILL to what is in the leaf and says how many processes that were:
// in one step where the kernel has one, else frozen, so that nothing forks between
// being listed and being signalled. Without a freezer, what was forked meanwhile is
// found the next time.
func (l *Leaf) signal() (int, error) {
	pids, err := cgroups.GetAllPids(l.processes())
	if err != nil || len(pids) == 0 {
		return 0, err
	}
	if l.scope.version == 2 && write(filepath.Join(l.paths[""], "cgroup.kill"), "1") == nil {
		return len(pids), nil
	}
	_ = l.m.Freeze(cgroups.Frozen)
	defer func() { _ = l.m.Freeze(cgroups.Thawed) }()
	if pids, err = cgroups.GetAllPids(l.processes()); err != nil {
		return 0, err
	}
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return len(pids), nil
}

// processes is the directory whose cgroup.procs lists the leaf.
func (l *Leaf) processes() string {
	if l.scope.version == 2 {
		return l.paths[""]
	}
	return l.paths["pids"]
}

// clearTime is how long the processes of a scope may take to end.
const clearTime = 2 * time.Second

// Clear kills what is in the scope and its leaves and removes them all: the end
// of a session whose mur-shell may have gone before it could do so (CON-189,
// CON-190). A scope that is not there any more is success.
func (s *Scope) Clear() error {
	for end := time.Now().Add(clearTime); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, dir := range s.paths {
			pids, err := cgroups.GetAllPids(dir)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			for _, pid := range pids {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			left += len(pids)
			removeLeaves(dir)
		}
		if left == 0 && s.Remove() == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes of the scope did not end within %s", left, clearTime)
		}
	}
}

// removeLeaves removes the empty groups beneath one.
func removeLeaves(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// LimitIO bounds what the scope reads and writes on the device that holds a file
// system, in bytes per second each way (CON-187). The error says why the limit
// does not hold; nothing else of the scope changes then.
func (s *Scope) LimitIO(dev uint64, bytesPerSec uint64) error {
	disk, err := diskOf(unix.Major(dev), unix.Minor(dev))
	if err != nil {
		return err
	}
	if s.version == 2 {
		dir := s.paths[""]
		_ = os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), []byte("+io"), 0) // told by the next write
		return write(filepath.Join(dir, "io.max"), fmt.Sprintf("%s rbps=%d wbps=%d", disk, bytesPerSec, bytesPerSec))
	}
	dir, ok := s.paths["blkio"]
	if !ok {
		return errors.New("there is no blkio controller")
	}
	for _, file := range []string{"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"} {
		if err := write(filepath.Join(dir, file), fmt.Sprintf("%s %d", disk, bytesPerSec)); err != nil {
			return err
		}
	}
	return nil
}

// write writes one of the files a group has; one that is not there is not made.
func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// diskOf is the whole device a partition belongs to, which is what limits are set
// on (cgroup-v2.rst), as major:minor.
func diskOf(major, minor uint32) (string, error) {
	if major == 0 {
		return "", errors.New("the work folder's file system lies on no block device")
	}
	dir, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", major, minor))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "dev"))
	return strings.TrimSpace(string(text)), err
}
