//go:build linux && cgo

package worker

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/packet"
)

// IDMap makes a user namespace whose map shows what root owns as uid's and gid's,
// for Setup.IDMap (CON-278, mount_setattr(2)). Only root can. The caller closes
// the file, which is all that keeps the namespace.
func IDMap(uid, gid int) (*os.File, error) {
	ours, theirs, err := packet.Pair()
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	defer theirs.Close()
	// A worker that is never set up holds the namespace until it is open here.
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{Name}, Env: []string{}, ExtraFiles: []*os.File{theirs}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("make a user namespace that maps to uid %d: %w", uid, err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
	}()
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	if err != nil {
		return nil, fmt.Errorf("open the mapping namespace: %w", err)
	}
	return f, nil
}
