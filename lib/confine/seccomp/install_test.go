//go:build linux

package seccomp

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary re-executes itself to try the filter in the kernel: what is
// installed can not be taken off again.
const inside = "MUR_TEST_SECCOMP"

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		tryCalls()
		return
	}
	os.Exit(m.Run())
}

type attempt struct {
	Name  string
	Errno int
}

func tryCalls() {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	arch, err := Host()
	if err != nil {
		panic(err)
	}
	prog, err := Build(arch, Options{NoexecMemfd: KnowsNoexecMemfd(), TruncateMediated: true})
	if err != nil {
		panic(err)
	}
	if err := Install(prog); err != nil {
		panic(err)
	}
	var out []attempt
	try := func(name string, nr uintptr, args ...uintptr) {
		var a [3]uintptr
		copy(a[:], args)
		_, _, errno := unix.Syscall(nr, a[0], a[1], a[2])
		out = append(out, attempt{name, int(errno)})
	}
	try("getpid", unix.SYS_GETPID)
	try("unix socket", unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0)
	try("inet socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0)
	try("packet socket", unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0)
	try("unshare", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	try("ptrace", unix.SYS_PTRACE)
	try("clone3", unix.SYS_CLONE3)
	try("no such call", 9999)
	try("other process's limit", unix.SYS_PRLIMIT64, 1, unix.RLIMIT_NOFILE, 0)
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}

// CON-92, CON-103, CON-106, CON-110: the answers of the interpreter, in the kernel.
func TestFilterInTheKernel(t *testing.T) {
	if _, err := Host(); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v (is seccomp missing on this host? the probe would say so)", err)
	}
	var got []attempt
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	want := map[string]unix.Errno{
		"getpid": 0, "unix socket": unix.EACCES, "inet socket": 0, "packet socket": unix.EACCES, "unshare": unix.EPERM,
		"ptrace": unix.EPERM, "clone3": unix.ENOSYS, "no such call": unix.ENOSYS, "other process's limit": unix.EPERM,
	}
	if len(got) != len(want) {
		t.Fatalf("%d attempts, want %d", len(got), len(want))
	}
	for _, a := range got {
		if unix.Errno(a.Errno) != want[a.Name] {
			t.Errorf("%s: %v, want %v", a.Name, unix.Errno(a.Errno), want[a.Name])
		}
	}
}
