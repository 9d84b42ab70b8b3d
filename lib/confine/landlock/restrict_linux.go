package landlock

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// RestrictThread confines the calling thread, what it starts and the threads it
// makes to the rules, after setting no_new_privs. The caller holds the thread
// (runtime.LockOSThread) and gives up the process or the thread after an error.
func RestrictThread(abi int, rules []Rule) error {
	set := Handled(abi)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: set.FS, Scoped: set.Scoped}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), AttrSize(abi), 0)
	if errno != 0 {
		return fmt.Errorf("create ruleset: %w", errno)
	}
	defer func() { _ = unix.Close(int(ruleset)) }()
	for i, r := range rules {
		if r.Rights == 0 {
			continue // the kernel refuses an empty rule, and it would grant nothing
		}
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: r.Rights, Parent_fd: int32(r.FD)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); errno != 0 {
			return fmt.Errorf("add rule %d: %w", i, errno)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

// AttrSize is how much of the attribute structure a kernel of that ABI knows.
func AttrSize(abi int) uintptr {
	var a unix.LandlockRulesetAttr
	switch {
	case abi >= 6:
		return unsafe.Offsetof(a.Quiet_access_fs)
	case abi >= 4:
		return unsafe.Offsetof(a.Scoped)
	default:
		return unsafe.Offsetof(a.Handled_access_net)
	}
}
