//go:build linux && cgo

package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/packet"
)

// Start spawns a worker and sets it up; Stop ends it.
func Start(ctx context.Context, ns Namespaces, s Setup) (*Process, error) {
	ours, theirs, err := packet.Pair()
	if err != nil {
		return nil, err
	}
	proc, err := spawn(theirs, ns)
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, err
	}
	w, err := Attach(ctx, ours, s)
	if err != nil {
		_ = proc.Kill()
		_, _ = proc.Wait()
		return nil, err
	}
	runtime.KeepAlive(s)
	return &Process{Worker: w, proc: proc}, nil
}

// spawn re-executes this program as a worker that speaks through theirs, with an
// empty environment. The worker ends when the other end of the socket closes;
// the caller waits for the process.
func spawn(theirs *os.File, ns Namespaces) (*os.Process, error) {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{Name}, Env: []string{}, ExtraFiles: []*os.File{theirs}, Stderr: os.Stderr}
	attr := &syscall.SysProcAttr{}
	if ns.User {
		uid, gid := os.Getuid(), os.Getgid()
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	if ns.Private {
		attr.Cloneflags |= unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	}
	if ns.PID {
		attr.Cloneflags |= unix.CLONE_NEWPID
	}
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	return cmd.Process, nil
}

// Process is a worker with its process.
type Process struct {
	*Worker
	proc *os.Process
}

// PID is the worker's process id as its starter sees it.
func (p *Process) PID() int { return p.proc.Pid }

// Stop ends the worker and everything it runs, and waits for it.
func (p *Process) Stop() error {
	_ = p.Close()
	_ = p.proc.Kill()
	_, err := p.proc.Wait()
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
