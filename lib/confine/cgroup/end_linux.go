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
		return limit(filepath.Join(dir, "io.max"), fmt.Sprintf("%s rbps=%d wbps=%d", disk, bytesPerSec, bytesPerSec))
	}
	dir, ok := s.paths["blkio"]
	if !ok {
		return errors.New("there is no blkio controller")
	}
	for _, file := range []string{"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"} {
		if err := limit(filepath.Join(dir, file), fmt.Sprintf("%s %d", disk, bytesPerSec)); err != nil {
			return err
		}
	}
	return nil
}

func limit(file, text string) error {
	// Never made: a controller that is not there has no file.
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
