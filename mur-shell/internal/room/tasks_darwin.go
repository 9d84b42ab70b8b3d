package room

import "golang.org/x/sys/unix"

// counted: tasksOf counts here.
const counted = true

// tasksOf counts the processes of a user, which is what RLIMIT_NPROC counts on
// macOS (setrlimit(2)); 0 when they can not be counted (CON-173).
func tasksOf(uid int) uint64 {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", uid)
	if err != nil {
		return 0
	}
	return uint64(len(all))
}
