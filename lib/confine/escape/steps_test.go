//go:build linux && cgo

package escape_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/seccomp"
	"github.com/mur-capsules/mur/lib/confine/worker"
)

// breaking says to the re-executed test which of brokenSteps it is about.
const breaking = "MUR_TEST_BREAK"

// brokenStep is a step of CON section 10 that is made to fail.
type brokenStep struct {
	step string // as the answer names it; "": the worker is not even started
	// The system call that the kernel answers with broken instead of doing it, and
	// the arguments that make it the step's.
	call   string
	when   []argument
	change func(c *cell)   // what else it takes, or does it instead of a call
	errno  unix.Errno      // where it is not broken
	who    map[bool]string // why root, or an ordinary user, has no such step
}

// argument is what the low half of an argument of a system call must be.
type argument struct {
	n     uint32
	test  bpf.JumpTest
	value uint32
}

func is(n, value uint32) argument { return argument{n, bpf.JumpEqual, value} }

// broken is an errno that none of the calls has of its own.
const broken = unix.EUCLEAN

var noUser = map[bool]string{false: "an ordinary user's commands keep theirs"}

func call(step, name string, when ...argument) brokenStep {
	return brokenStep{step: step, call: name, when: when}
}

func brokenSteps() []brokenStep {
	const openPath = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	const below = 1<<32 + unix.AT_FDCWD // of the working directory
	const private = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	nobody := func(uid, gid uint32) func(*cell) {
		return func(c *cell) { c.setup.User, c.setup.Nested = &worker.User{UID: uid, GID: gid}, true }
	}
	nested := nobody(uint32(os.Getuid()), uint32(os.Getgid()))
	const invalid = ^uint32(0) // no user of any namespace, user_namespaces(7)
	all := []brokenStep{
		{step: "", call: "clone", when: []argument{{0, bpf.JumpBitsSet, unix.CLONE_NEWNS}}},
		{step: "enter group", errno: unix.EBADF, change: func(c *cell) { c.setup.Groups = []*os.File{c.setup.Trees[0].Dir} }},
		call("make mounts private", "mount", is(3, unix.MS_REC|unix.MS_PRIVATE)),
		call("open writable tree", "openat", is(2, openPath)),
		{step: "compare writable tree", errno: unix.ESTALE, change: func(c *cell) { c.setup.Trees[0].Path = c.outside }},
		call("bind writable tree", "open_tree"),
		call("make mounts read-only", "mount_setattr", is(2, unix.AT_RECURSIVE)),
		call("set flags of writable tree", "mount_setattr", is(2, unix.AT_EMPTY_PATH)),
		call("place writable tree", "move_mount"),
		call("mount shared memory", "mount", is(3, private)),
		{step: "mount proc", call: "mount", when: []argument{is(3, private)}, change: func(c *cell) { c.setup.PrivateMounts = false }},
		call("become subreaper", "prctl", is(0, unix.PR_SET_CHILD_SUBREAPER)),
		call("mark descriptors close-on-exec", "close_range"),
		{step: "unshare user namespace", call: "unshare", change: nested},
		{step: "deny setgroups", call: "openat", when: []argument{{0, bpf.JumpNotEqual, below}, is(2, unix.O_WRONLY|unix.O_CLOEXEC)}, change: nested},
		{step: "write uid_map", errno: unix.EINVAL, change: nobody(invalid, 0)},
		{step: "write gid_map", errno: unix.EINVAL, change: nobody(uint32(os.Getuid()), invalid)},
		{step: "switch user", call: "setgroups", who: noUser},
		{step: "switch user", call: "setresgid", who: noUser},
		{step: "switch user", call: "setresuid", who: noUser},
		call("drop capabilities", "prctl", is(0, unix.PR_CAPBSET_DROP)),
		call("drop capabilities", "capset"),
		call("set no_new_privs", "prctl", is(0, unix.PR_SET_NO_NEW_PRIVS)),
		call("create Landlock ruleset", "landlock_create_ruleset"),
		call("add Landlock rule", "landlock_add_rule"),
		call("enter Landlock domain", "landlock_restrict_self"),
		call("become non-dumpable", "prctl", is(0, unix.PR_SET_DUMPABLE)),
		call("install filter", "seccomp", is(0, unix.SECCOMP_SET_MODE_FILTER)),
		// Of each command.
		call("make session", "setsid"),
		call("change directory", "fchdir"),
		call("set limits", "prlimit64", is(1, unix.RLIMIT_CORE)),
	}
	if runtime.GOARCH == "amd64" { // elsewhere these are calls that starting the worker takes too
		all = append(all, call("fork", "vfork"), call("place descriptors", "dup2"))
	}
	return all
}

func (b brokenStep) name() string {
	return strings.ReplaceAll(strings.TrimSpace(b.step+" "+b.call), " ", "-")
}

// filter answers the step's call with broken and lets all others pass.
func (b brokenStep) filter(t *testing.T) []bpf.Instruction {
	t.Helper()
	arch, err := seccomp.Host()
	if err != nil {
		t.Skip(err)
	}
	nr, ok := arch.Number(b.call)
	if !ok {
		t.Fatalf("no system call %s", b.call)
	}
	const allow, refuse = 0x7fff0000, 0x00050000 | uint32(broken)
	all := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: uint8(2*len(b.when) + 1)}}
	for i, a := range b.when {
		all = append(all, bpf.LoadAbsolute{Off: 16 + 8*a.n, Size: 4}, bpf.JumpIf{Cond: a.test, Val: a.value, SkipFalse: uint8(2*(len(b.when)-i-1) + 1)})
	}
	return append(all, bpf.RetConstant{Val: refuse}, bpf.RetConstant{Val: allow})
}

// Whichever step fails, for any reason: the failure names it, and no command's
// program is ever executed. CON-128, CON-129, CON-130, CON-P124
func TestEachStepFails(t *testing.T) {
	if about := os.Getenv(breaking); about != "" {
		for _, b := range append(brokenSteps(), brokenStep{step: "nothing"}) {
			if b.name() == about {
				b.try(t)
			}
		}
		return
	}
	newCell(t) // skips where the host lacks a mechanism
	for _, b := range append(brokenSteps(), brokenStep{step: "nothing"}) {
		t.Run(b.name(), func(t *testing.T) {
			if why := b.who[os.Getuid() == 0]; why != "" {
				t.Skip(why)
			}
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestEachStepFails$", "-test.v", "-test.count=1")
			cmd.Env = append(os.Environ(), breaking+"="+b.name())
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "tried "+b.name()+"\n") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// try breaks the step, for this process and all it starts, and runs a command.
func (b brokenStep) try(t *testing.T) {
	c := newCell(t)
	mark := filepath.Join(c.work, "ran")
	if b.change != nil {
		b.change(c)
	}
	want := b.errno
	if b.call != "" {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if err := seccomp.Install(b.filter(t)); err != nil {
			t.Fatal(err)
		}
		want = broken
	}
	err := c.run(t, "create", mark)
	_, statErr := os.Stat(mark)
	if b.step == "nothing" {
		if err != nil || statErr != nil {
			t.Fatalf("with nothing broken: %v, %v", err, statErr)
		}
	} else {
		if statErr == nil {
			t.Error("the command ran")
		}
		var step *worker.StepError
		if b.step != "" && (!errors.As(err, &step) || step.Step != b.step) {
			t.Errorf("failed with %v, want step %q", err, b.step)
		}
		if !errors.Is(err, want) {
			t.Errorf("failed with %v, want %v", err, want)
		}
	}
	_, _ = os.Stdout.WriteString("tried " + b.name() + "\n")
}

// run starts a worker and in it one operation; the error is that of the set-up or
// of the start.
func (c *cell) run(t *testing.T, do ...string) error {
	t.Helper()
	w, err := worker.Start(t.Context(), c.ns, c.setup)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	words := append([]string{c.program, "one"}, do...)
	_, err = w.Exec(t.Context(), worker.Command{Program: words[0], Argv: words, Stdin: null, Stdout: null, Stderr: os.Stderr})
	return err
}
