package worker

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/net/bpf"

	"github.com/mur-capsules/mur/lib/confine/landlock"
)

// Name is the argv[0] under which the program becomes a worker.
const Name = "mur-worker"

// StepError is a step the worker could not do (CON-128): of its set-up, after
// which it has ended, or of the start of a command, after which it goes on.
type StepError struct {
	Step  string
	Errno syscall.Errno
}

func (e *StepError) Error() string { return e.Step + ": " + e.Errno.Error() }

// Unwrap returns the system's error.
func (e *StepError) Unwrap() error { return e.Errno }

// Namespaces are what a spawned worker gets of its own.
type Namespaces struct {
	// User: a user namespace in which the worker is root and the caller's ids are
	// what root stands for. Left out where the caller is root of one already.
	User bool
	// Private: mount, IPC and UTS namespaces (CON-122).
	Private bool
	// PID: a PID namespace, in which it is init (CON-121).
	PID bool
}

// Setup is what a worker confines itself to. The zero value confines nothing
// but drops every capability and sets no_new_privs.
type Setup struct {
	// KeepPrivileges drops nothing: for unconfined sessions alone.
	KeepPrivileges bool
	// Landlock at this ABI; 0: none. Rules hold open descriptors.
	LandlockABI int
	Rules       []landlock.Rule
	// Inside are rules for paths of the worker's own root, such as its /proc,
	// which no descriptor opened outside can stand for. At most 32; a path that
	// is not there is left out.
	Inside []InsideRule
	// Filter is the system call filter; empty: none.
	Filter []bpf.Instruction
	// PrivateMounts: the worker has a mount namespace of its own, and everything
	// in it becomes read-only but Trees.
	PrivateMounts bool
	// Trees stay as they are said to be. The first is the work folder, where
	// commands start; there is at least one and at most 8.
	Trees []Tree
	// PrivateProc: it has a PID namespace of its own too, and mounts its /proc.
	PrivateProc bool
	// User is whom commands run as; nil: as whom the worker was started. A worker
	// started as uid 0 of a user namespace that maps it to an ordinary user is
	// Nested: commands appear as User, that same user, in a namespace below.
	User   *User
	Nested bool
	// CountOwn counts the commands' processes apart from all others of the user,
	// where the host allows it; Worker.CountsOwn says whether it does. A Nested
	// worker always does.
	CountOwn bool
	// IDMap is the user namespace whose map the Mapped trees are mounted with.
	IDMap *os.File
	// Groups are files in which a thread that writes 0 enters a control group, at most
	// 16: the worker does so before anything else. They stay the caller's.
	Groups []*os.File
}

// InsideRule grants rights on or beneath a path of the worker's own root.
type InsideRule struct {
	Path   string
	Rights uint64
}

// Tree is a directory that stays writable unless it is ReadOnly; Path must lead to
// what Dir holds. Where commands run as another user the way to it is made
// passable, if need be by covering what lies beside it.
type Tree struct {
	Path     string
	Dir      *os.File
	Noexec   bool
	ReadOnly bool
	Mapped   bool
	// OverTmp mounts it on /tmp as well. No tree may lie beneath /tmp then.
	OverTmp bool
}

// User is a uid and gid.
type User struct{ UID, GID uint32 }

// Command is what a worker runs. Argv[0] is what the program sees as its name.
type Command struct {
	Program               string // absolute path
	Argv, Env             []string
	Stdin, Stdout, Stderr *os.File
	Limits                Limits
	// Linger, if not nil, hears how the first process ended while others of the
	// command go on; they are left alone until they have ended, Finish is called
	// or the context of Exec ends. Nil ends them with the first process.
	Linger func(Result)
}

// Limits are set between fork and execve; nil leaves what is inherited (CON-283).
type Limits struct{ OpenFiles, FileSize, CPUSeconds, AddressSpace, Processes *uint64 }

// Result is how a command ended.
type Result struct {
	Status       syscall.WaitStatus
	User, System time.Duration
	MaxRSS       uint64 // bytes
	Leftovers    int    // processes it left, all killed (SHL-81)
	// Survivors says that something did not end within two seconds: the worker
	// must be given up and its cgroup killed (CON-282).
	Survivors bool
}
