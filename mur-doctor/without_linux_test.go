package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The test program plays a host that lacks something and becomes a program on it,
// the words after its own name: takeEnv names what is taken away, uidEnv who it runs
// as.
const (
	takeEnv = "MUR_DOCTOR_TEST_TAKE"
	uidEnv  = "MUR_DOCTOR_TEST_UID"
)

// play is called before the tests are.
func play() {
	take, asked := os.LookupEnv(takeEnv)
	if !asked {
		return
	}
	if err := become(take, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "without:", err)
		os.Exit(99)
	}
}

func become(take string, argv []string) error {
	runtime.LockOSThread() // what follows is about one thread, and exec keeps that one
	switch take {
	case "cgroup":
		if err := cgroupsReadOnly(); err != nil {
			return err
		}
	case "files":
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: 256}); err != nil {
			return err
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if uid, err := strconv.Atoi(os.Getenv(uidEnv)); err == nil && uid != os.Geteuid() {
		if err := syscall.Setgroups(nil); err != nil {
			return err
		}
		if err := syscall.Setgid(uid); err != nil {
			return err
		}
		if err := syscall.Setuid(uid); err != nil {
			return err
		}
	}
	if rules := refused[take]; rules != nil {
		if err := filter(rules); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, takeEnv+"=") || strings.HasPrefix(kv, uidEnv+"=")
	})
	return unix.Exec(argv[0], argv, env)
}

// cgroupsReadOnly makes every cgroup file system read-only in a mount namespace
// of this thread's, or of this process's where it has one already.
func cgroupsReadOnly() error {
	if os.Geteuid() == 0 {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make private: %w", err)
	}
	table, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		before, after, _ := strings.Cut(line, " - ")
		left := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup") {
			continue
		}
		flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY)
		for word, flag := range map[string]uintptr{"nosuid": unix.MS_NOSUID, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC, "relatime": unix.MS_RELATIME} {
			if strings.Contains(","+left[5]+",", ","+word+",") {
				flags |= flag
			}
		}
		if err := unix.Mount("", left[4], "", flags, ""); err != nil {
			return fmt.Errorf("remount %s: %w", left[4], err)
		}
	}
	return nil
}

// refusal is a system call that fails with errno, when an argument has any of the
// bits where bits are given.
type refusal struct {
	call  uint32
	bits  uint32 // of argument 0
	errno uint32
}

var refused = map[string][]refusal{
	"userns": {
		{unix.SYS_UNSHARE, unix.CLONE_NEWUSER, uint32(unix.EPERM)}, {unix.SYS_CLONE, unix.CLONE_NEWUSER, uint32(unix.EPERM)},
		{unix.SYS_CLONE3, 0, uint32(unix.ENOSYS)},
	},
	"landlock": {
		{unix.SYS_LANDLOCK_CREATE_RULESET, 0, uint32(unix.ENOSYS)}, {unix.SYS_LANDLOCK_ADD_RULE, 0, uint32(unix.ENOSYS)},
		{unix.SYS_LANDLOCK_RESTRICT_SELF, 0, uint32(unix.ENOSYS)},
	},
	"seccomp": {{unix.SYS_SECCOMP, 0, uint32(unix.ENOSYS)}, {unix.SYS_PRCTL, unix.PR_SET_SECCOMP, uint32(unix.EINVAL)}},
	"pivot":   {{unix.SYS_PIVOT_ROOT, 0, uint32(unix.EPERM)}},
	"openat2": {{unix.SYS_OPENAT2, 0, uint32(unix.ENOSYS)}},
}

// filter installs a filter that refuses rules and allows the rest. Only the
// architecture of this program is looked at: the tests start no other.
func filter(rules []refusal) error {
	var prog []bpf.Instruction
	for _, r := range rules {
		deny := bpf.RetConstant{Val: 0x00050000 | r.errno} // SECCOMP_RET_ERRNO
		if r.call == unix.SYS_PRCTL {
			// The option is compared as a whole.
			prog = append(prog, bpf.LoadAbsolute{Off: 0, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: 3},
				bpf.LoadAbsolute{Off: 16, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.bits, SkipFalse: 1}, deny)
			continue
		}
		if r.bits == 0 {
			prog = append(prog, bpf.LoadAbsolute{Off: 0, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: 1}, deny)
			continue
		}
		prog = append(prog, bpf.LoadAbsolute{Off: 0, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: 3},
			bpf.LoadAbsolute{Off: 16, Size: 4}, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: r.bits, SkipFalse: 1}, deny)
	}
	raw, err := bpf.Assemble(append(prog, bpf.RetConstant{Val: 0x7fff0000})) // SECCOMP_RET_ALLOW
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	list := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		list[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	p := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return errno
	}
	return nil
}
