package seccomp

import (
	"slices"
	"strings"
)

// allowed are the calls that pass, whatever their arguments unless a rule of
// argumentRules says more (CON-100). Kept in the groups of CON section 8.
var allowed = strings.Fields(`
execve execveat clone fork vfork exit exit_group wait4 waitid kill tkill tgkill
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigpending rt_sigtimedwait
rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack restart_syscall pause set_tid_address
set_robust_list get_robust_list rseq prctl arch_prctl getpid getppid gettid getpgrp
getpgid setpgid getsid setsid getpriority setpriority ioprio_get ioprio_set sched_yield
sched_getaffinity sched_setaffinity sched_getparam sched_setparam sched_getscheduler
sched_setscheduler sched_getattr sched_setattr sched_get_priority_max
sched_get_priority_min sched_rr_get_interval getcpu capget capset prlimit64 getrlimit
setrlimit getrusage getitimer setitimer times uname sysinfo pidfd_open pidfd_send_signal

mmap munmap mprotect mremap madvise brk mlock mlock2 munlock mlockall munlockall
membarrier msync mincore memfd_create pkey_alloc pkey_free pkey_mprotect shmget shmat
shmdt shmctl

open openat openat2 creat close close_range read write pread64 pwrite64 readv writev
preadv pwritev preadv2 pwritev2 lseek dup dup2 dup3 fcntl flock fsync fdatasync sync
syncfs sync_file_range fadvise64 readahead truncate ftruncate fallocate

stat fstat lstat newfstatat statx access faccessat faccessat2 getdents getdents64 getcwd
chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat
symlink symlinkat readlink readlinkat chmod fchmod fchmodat fchmodat2 chown fchown
fchownat lchown umask utime utimes utimensat futimesat mknod mknodat sendfile
copy_file_range splice tee vmsplice ioctl poll ppoll select pselect6 epoll_create
epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 pipe pipe2
inotify_init inotify_init1 inotify_add_watch inotify_rm_watch signalfd signalfd4
timerfd_create timerfd_settime timerfd_gettime getxattr lgetxattr fgetxattr setxattr
lsetxattr fsetxattr listxattr llistxattr flistxattr removexattr lremovexattr
fremovexattr statfs fstatfs name_to_handle_at io_setup io_destroy io_submit io_cancel
io_getevents

connect sendto socketpair bind listen accept accept4 getsockname getpeername getsockopt
setsockopt shutdown sendmsg sendmmsg recvfrom recvmsg recvmmsg

clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time timer_create
timer_settime timer_gettime timer_getoverrun timer_delete alarm

msgget msgsnd msgrcv msgctl semget semop semctl semtimedop mq_open mq_unlink
mq_timedsend mq_timedreceive mq_notify mq_getsetattr

getrandom futex futex_waitv getuid geteuid getgid getegid setuid setgid setreuid setregid
setresuid setresgid getresuid getresgid getgroups setgroups setfsuid setfsgid
`)

// denied may never come into allowed: what reaches the kernel itself, other
// processes' memory, mounts and namespaces (CON-101, CON-102). The filter has no
// use for the list; a test asserts that the two do not meet (CON-95).
var denied = strings.Fields(`
io_uring_setup io_uring_enter io_uring_register bpf userfaultfd perf_event_open
process_vm_readv process_vm_writev open_by_handle_at keyctl add_key request_key ptrace
mount umount2 pivot_root chroot unshare setns init_module finit_module delete_module
kexec_load kexec_file_load reboot swapon swapoff acct quotactl nfsservctl iopl ioperm
vm86 vm86old _sysctl sysfs uselib create_module get_kernel_syms query_module
lookup_dcookie clock_adjtime clock_settime settimeofday stime adjtimex set_mempolicy
get_mempolicy mbind migrate_pages move_pages fanotify_init fanotify_mark seccomp
personality kcmp

pidfd_getfd process_madvise process_mrelease mount_setattr open_tree move_mount fsopen
fsconfig fsmount fspick quotactl_fd syslog vhangup set_mempolicy_home_node
landlock_create_ruleset landlock_add_rule landlock_restrict_self
`)

// unknown are calls the table knows and the filter says it does not: libraries
// then fall back to a call whose arguments can be looked at (CON-106).
var unknown = []string{"clone3"}

// Denied returns the names of the calls that may never be allowed.
func Denied() []string { return slices.Clone(denied) }

// unfiltered are calls that the kernel lets past every filter, since it makes
// programs call them itself: of anybody else they are an error of their own
// (seccomp(2)).
var unfiltered = []string{"uretprobe", "uprobe"}

// Refused returns the numbers below end that the filter refuses whatever their
// arguments: those the table knows (EPERM), and those it does not (ENOSYS).
func (a Arch) Refused(end uint32) (known, others []uint32) {
	passes := map[uint32]bool{}
	for _, name := range slices.Concat(allowed, unknown, unfiltered) {
		if n, ok := a.numbers[name]; ok {
			passes[n] = true
		}
	}
	for _, r := range argumentRules(Options{}) {
		passes[a.numbers[r.call]] = true
	}
	table := map[uint32]bool{}
	for _, n := range a.numbers {
		table[n] = true
	}
	for n := range end {
		switch {
		case table[n] && !passes[n]:
			known = append(known, n)
		case !table[n]:
			others = append(others, n)
		}
	}
	return known, others
}
