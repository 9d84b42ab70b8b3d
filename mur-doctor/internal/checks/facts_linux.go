package checks

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// gatherFacts looks at the kernel. It changes nothing: namespaces are tried by
// children that end before they are anything, calls by arguments no kernel takes.
func gatherFacts() Facts {
	f := Facts{
		Namespaces: tryNamespaces(), Calls: tryCalls(), SeccompNotify: seccompNotify(),
		MemfdNoexec: setting("/proc/sys/vm/memfd_noexec"), MaxUserNamespaces: setting("/proc/sys/user/max_user_namespaces"),
	}
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil {
		f.OpenFiles = Limit{Soft: l.Cur, Hard: l.Max}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	if st, err := os.Lstat("/run/systemd/system"); err == nil {
		f.Systemd = st.IsDir()
	}
	f.CgroupV2, f.CgroupV1 = cgroupMounts(string(mounts), func(dir string) string {
		b, _ := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		return string(b)
	})
	return f
}

func setting(path string) *int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// kinds are the namespaces a sealed session has of its own.
var kinds = map[string]uintptr{
	"user": 0, "mount": unix.CLONE_NEWNS, "network": unix.CLONE_NEWNET, "pid": unix.CLONE_NEWPID,
	"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP,
}

// tryNamespaces makes each kind, in a user namespace of its own, in a child that
// has nothing to execute: that it was not found says that the child was there.
func tryNamespaces() map[string]string {
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := map[string]string{}
	for kind, flag := range kinds {
		wg.Go(func() {
			attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | flag}}
			_, err := syscall.ForkExec("/proc/self/nothing", []string{"nothing"}, attr)
			mu.Lock()
			defer mu.Unlock()
			out[kind] = ""
			if !errors.Is(err, syscall.ENOENT) {
				out[kind] = reason(err)
			}
		})
	}
	wg.Wait()
	return out
}

func reason(err error) string {
	if err == nil {
		return "the child ran"
	}
	return err.Error()
}

// tryCalls asks for each call with arguments the kernel refuses before it does
// anything. A kernel, or a filter, without the call says ENOSYS or EPERM.
func tryCalls() map[string]bool {
	var how [8]byte // shorter than a struct open_how: EINVAL
	path := [1]byte{}
	none := ^uintptr(0)
	at := uintptr(unsafe.Pointer(&path[0]))
	out := map[string]bool{}
	for name, c := range map[string]struct {
		number uintptr
		args   [5]uintptr
	}{
		"openat2":       {unix.SYS_OPENAT2, [5]uintptr{none, at, uintptr(unsafe.Pointer(&how[0])), 1}},
		"clone3":        {unix.SYS_CLONE3, [5]uintptr{0, 0}},
		"pidfd_open":    {unix.SYS_PIDFD_OPEN, [5]uintptr{0, none}},
		"close_range":   {unix.SYS_CLOSE_RANGE, [5]uintptr{2, 1}},
		"open_tree":     {unix.SYS_OPEN_TREE, [5]uintptr{none, at, 1 << 30}},
		"mount_setattr": {unix.SYS_MOUNT_SETATTR, [5]uintptr{none, at, 1 << 30, at, 1}},
	} {
		_, _, errno := unix.Syscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], 0)
		out[name] = errno != unix.ENOSYS && errno != unix.EPERM
	}
	return out
}

// seccompNotify asks seccomp(2) for the action; it installs nothing.
func seccompNotify() bool {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// cgroupMounts sorts the mount table: the controllers of the v2 tree, nil where
// there is none, and the mount point of each v1 controller.
func cgroupMounts(mountinfo string, controllers func(dir string) string) (v2 []string, v1 map[string]string) {
	v1 = map[string]string{}
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		switch right[0] {
		case "cgroup2":
			v2 = append([]string{}, strings.Fields(controllers(left[4]))...)
		case "cgroup":
			for _, option := range strings.Split(right[2], ",") {
				if option != "rw" && option != "ro" && option != "xattr" && !strings.Contains(option, "=") {
					v1[option] = left[4]
				}
			}
		}
	}
	return v2, v1
}
