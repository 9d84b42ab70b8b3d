//go:build linux && cgo

package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/landlock"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/confine/seccomp"
)

// room is a work folder, a tmp and a home, as a session has them.
type room struct{ work, tmp, home string }

func newRoom(t testing.TB) room {
	t.Helper()
	// Not beneath /tmp, which the session's own tmp covers.
	base, err := os.MkdirTemp("/var/tmp", "mur-worker-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	r := room{filepath.Join(base, "work"), filepath.Join(base, "tmp"), filepath.Join(base, "home")}
	for _, d := range []string{r.work, r.tmp, r.home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// scoped is a set-up with every mechanism of the class; the runtime trees stand
// in for an exec closure.
func scoped(t testing.TB, r room, reading confine.Reading) Setup {
	t.Helper()
	abi := reading.Landlock.ABI
	s := Setup{LandlockABI: abi, PrivateMounts: true, PrivateProc: reading.ProcView == "private"}
	rule := func(path string, tree confine.Tree) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		t.Cleanup(func() { unix.Close(fd) })
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		s.Rules = append(s.Rules, landlock.Rule{FD: fd, Rights: landlock.Rights(tree, abi, st.Mode&unix.S_IFMT == unix.S_IFDIR, false)})
	}
	for _, d := range []string{r.work, r.tmp, r.home} {
		rule(d, confine.WorkFolder)
		f, err := os.OpenFile(d, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		s.Trees = append(s.Trees, Tree{Path: d, Dir: f, Noexec: true, OverTmp: d == r.tmp})
	}
	for _, d := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		rule(d, confine.ExecListDir)
	}
	rule("/dev/null", confine.DeviceWrite)
	// CON-73 grants no /proc at scoped; the tests look at it.
	s.Inside = []InsideRule{{"/proc", landlock.Rights(confine.ReadTree, abi, true, false)}}
	rule("/etc/ld.so.cache", confine.ReadTree)
	arch, err := seccomp.Host()
	if err != nil {
		t.Fatal(err)
	}
	s.Filter, err = seccomp.Build(arch, seccomp.Options{NoexecMemfd: seccomp.KnowsNoexecMemfd(), TruncateMediated: abi >= 3})
	if err != nil {
		t.Fatal(err)
	}
	s.User, s.Nested = &User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}, true
	if os.Getuid() == 0 {
		// As root commands get another user; the folders are given to it.
		s.User, s.Nested = &User{UID: 65534, GID: 65534}, false
		for _, d := range []string{r.work, r.tmp, r.home} {
			if err := os.Chown(d, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		// The way down to them, which the test's directories keep to root.
		for d := filepath.Dir(r.work); d != "/" && d != "/var/tmp"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func start(t testing.TB, r room) *Process {
	t.Helper()
	p, _ := startWith(t, r)
	return p
}

func startWith(t testing.TB, r room) (*Process, Setup) {
	t.Helper()
	reading := probe.Host()
	if reading.Tier() != confine.TierSealed {
		t.Skipf("this host has not every mechanism: %+v", reading)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	setup := scoped(t, r, reading)
	p, err := Start(ctx, Namespaces{User: os.Getuid() != 0, Private: true, PID: true}, setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p, setup
}

// sh runs a shell line in the work folder and returns what it printed.
func sh(t testing.TB, ctx context.Context, p *Process, r room, line string, limits Limits) (string, Result) {
	t.Helper()
	return command(t, ctx, p, r, limits, "/bin/sh", "-c", line)
}

func command(t testing.TB, ctx context.Context, p *Process, r room, limits Limits, program string, args ...string) (string, Result) {
	t.Helper()
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(out)
		text <- string(b)
	}()
	res, err := p.Exec(ctx, Command{
		Program: program, Argv: append([]string{program}, args...),
		Env:   []string{"PATH=/usr/bin:/bin", "HOME=" + r.home, "TMPDIR=" + r.tmp},
		Stdin: null, Stdout: in, Stderr: in, Limits: limits,
	})
	in.Close()
	got := <-text
	if err != nil {
		t.Fatalf("%v; printed %q", err, got)
	}
	return got, res
}

// CON-115, CON-116, CON-117, CON-120, CON-123, CON-126, CON-127
func TestCommands(t *testing.T) {
	r := newRoom(t)
	p := start(t, r)
	ctx := context.Background()
	for _, tc := range []struct{ line, out string }{
		{"echo hello; exit 3", "hello\n"},
		{"pwd", r.work + "\n"},
		{"umask; ulimit -c", "0022\n0\n"},
		{"ls -l /proc/self/fd | wc -l", "5\n"}, // 0, 1, 2, the listing itself, and the total line
		{"echo $PPID; cat /proc/self/stat | cut -d' ' -f7", "1\n0\n"},
		{"echo x > a && mv a b && mkdir d && ls", "b\nd\n"},
	} {
		got, res := sh(t, ctx, p, r, tc.line, Limits{})
		if got != tc.out {
			t.Errorf("%s: %q, want %q", tc.line, got, tc.out)
		}
		if res.Leftovers != 0 || res.Survivors {
			t.Errorf("%s: %+v", tc.line, res)
		}
	}
	if _, res := sh(t, ctx, p, r, "exit 3", Limits{}); res.Status.ExitStatus() != 3 {
		t.Errorf("status %v", res.Status)
	}
	if _, res := sh(t, ctx, p, r, "kill -TERM $$", Limits{}); res.Status.Signal() != syscall.SIGTERM {
		t.Errorf("status %v", res.Status)
	}
}

// What a confined command must not be able to do. CON-59, CON-71, CON-73, CON-92, CON-103, CON-106, CON-113, CON-114, CON-118, CON-279
func TestEscapes(t *testing.T) {
	r := newRoom(t)
	outside := filepath.Join(filepath.Dir(r.work), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(outside, 0o666); err != nil {
		t.Fatal(err)
	}
	p, setup := startWith(t, r)
	ctx := context.Background()
	for _, tc := range []struct{ name, line, says string }{
		{"read outside", "cat " + outside, "Permission denied"},
		{"read outside by a link", "ln -s " + outside + " l; cat l", "Permission denied"},
		{"write outside", "echo x >> " + outside, "ermission denied|Read-only"},
		{"change metadata outside", "chmod 600 " + outside, "Read-only file system"},
		{"read the account's files", "cat /etc/passwd /etc/hostname", "Permission denied"},
		{"run own code", "cp /bin/true t; ./t", "ermission denied"},
		{"run own code by the loader", "cp /bin/true t; /lib64/ld-linux-x86-64.so.2 ./t", "failed to map segment"},
		{"load own library", "cp /lib/x86_64-linux-gnu/libc.so.6 l.so; LD_PRELOAD=./l.so /bin/true", "failed to map segment"},
		{"read the worker", "cat /proc/1/environ /proc/1/maps", "Permission denied"},
		{"see host processes", "test $(ls -d /proc/[0-9]* | wc -l) -le 5 && echo few", "few"},
		{"gain capabilities", "grep CapBnd /proc/self/status | cut -f2", "0000000000000000"},
		{"mount", "mount -t tmpfs x " + r.work, "must be superuser|permitted|ermission denied"},
		{"make a namespace", "unshare -U true", "peration not permitted"},
		{"write the root", "mkdir /x", "Read-only file system|Permission denied"},
		{"be the user", "id -u", fmt.Sprint(setup.User.UID)},
		{"private tmp", "echo hi > /tmp/f && cat " + r.tmp + "/f", "hi"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _ := sh(t, ctx, p, r, tc.line, Limits{})
			ok := false
			for _, s := range strings.Split(tc.says, "|") {
				ok = ok || strings.Contains(got, s)
			}
			if !ok {
				t.Errorf("%s: %q, want %q", tc.line, got, tc.says)
			}
		})
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "secret" {
		t.Errorf("outside holds %q, %v", b, err)
	}
	if st, err := os.Stat(outside); err != nil || st.Mode().Perm() != 0o666 {
		t.Errorf("outside has mode %v, %v", st.Mode(), err)
	}
	// Killing the worker from inside does nothing.
	if got, _ := sh(t, ctx, p, r, "kill -9 1; kill -TERM 1; echo alive", Limits{}); !strings.HasSuffix(got, "alive\n") {
		t.Errorf("printed %q", got)
	}
	if got, _ := sh(t, ctx, p, r, "echo again", Limits{}); got != "again\n" {
		t.Errorf("printed %q", got)
	}
}

// CON-282, SHL-81
func TestLeftoversDie(t *testing.T) {
	r := newRoom(t)
	p := start(t, r)
	begin := time.Now()
	_, res := sh(t, context.Background(), p, r, "setsid sleep 300 >/dev/null 2>&1 & (sleep 300 >/dev/null 2>&1 &) ; sleep 0.05; exit 0", Limits{})
	if res.Leftovers != 2 || res.Survivors || res.Status.ExitStatus() != 0 {
		t.Errorf("%+v", res)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("waited %v for what was left", took)
	}
	got, _ := sh(t, context.Background(), p, r, "ls -d /proc/[0-9]* | wc -l", Limits{})
	if n := strings.TrimSpace(got); n != "4" && n != "3" { // worker, sh, ls, wc
		t.Errorf("%s processes are left", n)
	}
}

// CON-131, CON-171, CON-283
func TestLimitsBind(t *testing.T) {
	r := newRoom(t)
	p := start(t, r)
	n := func(v uint64) *uint64 { return &v }
	got, _ := sh(t, context.Background(), p, r, "ulimit -Sn; ulimit -Hn; ulimit -f; ulimit -t; ulimit -v", Limits{OpenFiles: n(77), FileSize: n(1 << 20), CPUSeconds: n(9), AddressSpace: n(1 << 30)})
	if got != "77\n77\n2048\n9\n1048576\n" {
		t.Errorf("limits %q", got)
	}
	_, res := sh(t, context.Background(), p, r, "while :; do :; done", Limits{CPUSeconds: n(1)})
	if res.Status.Signal() != syscall.SIGXCPU && res.Status.Signal() != syscall.SIGKILL {
		t.Errorf("status %v", res.Status)
	}
}

func TestStartFailuresNameTheStep(t *testing.T) {
	r := newRoom(t)
	p := start(t, r)
	dir, err := os.Open(r.work)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, tc := range []struct {
		program string
		env     []string
		step    string
		errno   syscall.Errno
	}{
		{"/no/such", nil, "execve", syscall.ENOENT},
		{"/etc/passwd", nil, "execve", syscall.EACCES},
		{"/bin/true", []string{"X=" + strings.Repeat("x", 200<<10)}, "execve", syscall.E2BIG},
		{"/bin/true", []string{"X=\x00"}, "read arguments", syscall.EINVAL},
	} {
		_, err := p.Exec(context.Background(), Command{Program: tc.program, Argv: []string{"x"}, Env: tc.env, Stdin: dir, Stdout: dir, Stderr: dir})
		var step *StepError
		if !errors.As(err, &step) || step.Step != tc.step || step.Errno != tc.errno {
			t.Errorf("%s: %v", tc.program, err)
		}
	}
	if got, _ := sh(t, context.Background(), p, r, "echo on", Limits{}); got != "on\n" {
		t.Errorf("the worker did not go on: %q", got)
	}
}

// The worker enters its groups itself, before it confines itself, or starts no
// command. CON-132
func TestEntersItsGroups(t *testing.T) {
	r := newRoom(t)
	door := filepath.Join(r.home, "tasks")
	work, err := os.Open(r.work)
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	start := func(flags int) error {
		f, err := os.OpenFile(door, flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := Start(context.Background(), Namespaces{}, Setup{Trees: []Tree{{Path: r.work, Dir: work}}, Groups: []*os.File{f}})
		if err == nil {
			err = p.Stop()
		}
		return err
	}
	if err := start(os.O_WRONLY | os.O_CREATE); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(door); err != nil || string(text) != "0" {
		t.Errorf("the group was entered by %q, %v", text, err)
	}
	var step *StepError
	if err := start(os.O_RDONLY); !errors.As(err, &step) || step.Step != "enter group" || step.Errno != unix.EBADF {
		t.Errorf("a group that can not be entered: %v", err)
	}
}

func TestCancelKillsTheTree(t *testing.T) {
	r := newRoom(t)
	p := start(t, r)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, res := sh(t, ctx, p, r, "sleep 300 & setsid sleep 300 & wait", Limits{})
	if res.Status.Signal() != syscall.SIGKILL {
		t.Errorf("status %v", res.Status)
	}
}

// CON-133: the worker and everything below it die with the client.
func TestEverythingDiesWithTheClient(t *testing.T) {
	r := newRoom(t)
	p := start(t, r)
	marker := fmt.Sprintf("sleep 86%d", os.Getpid())
	go func() { _, _ = p.Exec(context.Background(), longRunning(t, r, marker)) }()
	waitFor(t, "the command to run", func() bool { return running(marker) })
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the command to end", func() bool { return !running(marker) })
}

func longRunning(t *testing.T, r room, line string) Command {
	dir, err := os.Open(r.work)
	if err != nil {
		t.Fatal(err)
	}
	return Command{Program: "/bin/sh", Argv: []string{"sh", "-c", "setsid " + line + " & " + line}, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: dir, Stdout: dir, Stderr: dir}
}

func running(cmdline string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		b, _ := os.ReadFile(p)
		if string(bytes.TrimRight(bytes.ReplaceAll(b, []byte{0}, []byte{' '}), " ")) == cmdline {
			return true
		}
	}
	return false
}

func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for range 500 {
		if cond() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

// SHL-1
func TestInternalFormRefusesByHand(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{Name}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 || !strings.Contains(string(out), "internal form") {
		t.Errorf("%v, %q", err, out)
	}
}

func BenchmarkExec(b *testing.B) {
	r := newRoom(b)
	p := start(b, r)
	dir, err := os.Open(r.work)
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	for b.Loop() {
		if _, err := p.Exec(context.Background(), Command{Program: "/bin/true", Argv: []string{"true"}, Stdin: dir, Stdout: dir, Stderr: dir}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
