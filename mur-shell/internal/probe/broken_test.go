//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/seccomp"
	"github.com/mur-capsules/mur/lib/policy"
)

// lacking says to this program, re-executed, which system call it and what it
// executes shall lack, as "number argument value", argument -1 standing for any.
const lacking = "MUR_TEST_LACKING"

func init() { roles[lacking] = lack }

// lack installs the filter and executes its arguments; it returns when it can not.
func lack() int {
	var nr, value uint32
	var argument int
	_, err := fmt.Sscan(os.Getenv(lacking), &nr, &argument, &value)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err == nil {
		const allow, refuse = 0x7fff0000, 0x00050000 | uint32(unix.EUCLEAN) // an errno no call has of its own
		prog := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: 1}, bpf.RetConstant{Val: refuse}, bpf.RetConstant{Val: allow}}
		if argument >= 0 {
			prog = []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: 3},
				bpf.LoadAbsolute{Off: uint32(16 + 8*argument), Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: 1},
				bpf.RetConstant{Val: refuse}, bpf.RetConstant{Val: allow}}
		}
		err = seccomp.Install(prog)
	}
	if err == nil {
		_ = os.Unsetenv(lacking)
		err = syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "lack:", err)
	return 99
}

// Where the kernel does not do one of the steps of CON section 10, mur-shell runs no
// command in a class that owes the step, whether the probe of the host sees it or
// the step itself fails: it ends with 125, or with 126 where the step is of the
// command alone. lib/confine/escape breaks the steps of a worker that no probe came
// before. CON-129, CON-P124
func TestBrokenSteps(t *testing.T) {
	shell, _ := built(t)
	arch, err := seccomp.Host()
	if err != nil {
		t.Skip(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	lacker := filepath.Join(filepath.Dir(shell), "lack")
	if err := os.WriteFile(lacker, self, 0o755); err != nil {
		t.Fatal(err)
	}
	const control = "reboot" // which nothing needs
	both := []policy.Class{policy.Scoped, policy.Sealed}
	sealed := both[1:]
	for user, cred := range users() {
		for _, b := range []struct {
			call            string
			argument, value int
			owed            []policy.Class
		}{
			{control, -1, 0, both},
			{"landlock_create_ruleset", -1, 0, both},
			{"landlock_add_rule", -1, 0, both},
			{"landlock_restrict_self", -1, 0, both},
			{"seccomp", 0, unix.SECCOMP_SET_MODE_FILTER, both},
			{"capset", -1, 0, both},
			{"prctl", 0, unix.PR_CAPBSET_DROP, both},
			{"prctl", 0, unix.PR_SET_NO_NEW_PRIVS, both},
			{"prctl", 0, unix.PR_SET_DUMPABLE, both},
			{"prctl", 0, unix.PR_SET_CHILD_SUBREAPER, both},
			{"close_range", -1, 0, both},
			{"setsid", -1, 0, both},
			{"fchdir", -1, 0, both},
			{"mount", -1, 0, sealed},
			{"pivot_root", -1, 0, sealed},
			{"setns", -1, 0, sealed},
		} {
			nr, ok := arch.Number(b.call)
			if !ok {
				t.Fatalf("no system call %s", b.call)
			}
			for _, class := range b.owed {
				t.Run(strings.Join([]string{user, class.String(), b.call, strconv.Itoa(b.value)}, "/"), func(t *testing.T) {
					needs(t, class)
					base, work := workshop(t, cred)
					cmd := exec.Command(lacker, shell, "run", "--workdir", work, "--containment", class.String(), "--allow", "touch", "--", "touch", "ran")
					cmd.Dir = work
					cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(base, "home"), fmt.Sprintf("%s=%d %d %d", lacking, nr, b.argument, b.value)}
					cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
					cmd.WaitDelay = 10 * time.Second
					var said bytes.Buffer
					cmd.Stderr = &said
					var exit *exec.ExitError
					if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
						t.Fatal(err)
					}
					_, err := os.Stat(filepath.Join(work, "ran"))
					status := cmd.ProcessState.ExitCode()
					ran := err == nil
					switch {
					case b.call == control && (!ran || status != 0):
						t.Errorf("with nothing of its own broken it ended with %d: %s", status, said.String())
					case b.call != control && (ran || status != 125 && status != 126):
						t.Errorf("ended with %d, and the command ran: %v: %s", status, ran, said.String())
					}
				})
			}
		}
	}
}
