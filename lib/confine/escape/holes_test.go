//go:build linux && cgo

package escape_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/closure"
	"github.com/mur-capsules/mur/lib/confine/escape/attempt"
	"github.com/mur-capsules/mur/lib/confine/holder"
	"github.com/mur-capsules/mur/lib/confine/landlock"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/confine/seccomp"
	"github.com/mur-capsules/mur/lib/confine/worker"
)

// The test binary is holder, worker and, with a first argument one, the probe
// program inside.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "one" {
		os.Exit(attempt.Main(os.Args[:1], os.Args[1:], os.Stdout))
	}
	os.Exit(m.Run())
}

// cell is a set-up with every mechanism of scoped, for tests that leave one out.
type cell struct {
	base, work, outside, program string
	setup                        worker.Setup
	ns                           worker.Namespaces
}

var reading = sync.OnceValue(probe.Host)

func newCell(t *testing.T) *cell {
	t.Helper()
	r := reading()
	if r.Tier() != confine.TierSealed {
		t.Skipf("this host lacks Landlock, seccomp or mount namespaces: %+v", r)
	}
	base, err := os.MkdirTemp("/var/tmp", "mur-hole-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	c := &cell{base: base, work: filepath.Join(base, "work"), outside: filepath.Join(base, "outside"), program: filepath.Join(base, "probe"), ns: worker.Namespaces{User: os.Getuid() != 0, Private: true, PID: true}}
	for _, d := range []string{base, c.work, c.outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	c.confine(t, r)
	return c
}

func (c *cell) confine(t *testing.T, r confine.Reading) {
	t.Helper()
	abi := r.Landlock.ABI
	s := &c.setup
	s.LandlockABI, s.PrivateMounts, s.PrivateProc = abi, true, r.ProcView == "private"
	rule := func(path string, tree confine.Tree) {
		st, err := os.Stat(path)
		if err != nil {
			return
		}
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		s.Rules = append(s.Rules, landlock.Rule{FD: fd, Rights: landlock.Rights(tree, abi, st.IsDir(), false)})
	}
	rule(c.work, confine.WorkFolder)
	for _, p := range closure.Find([]string{c.program, "true"}, "/usr/bin:/bin") {
		for _, f := range p.Closure {
			rule(f, confine.ExecFile)
		}
	}
	rule("/dev/null", confine.DeviceWrite)
	dir, err := os.Open(c.work)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	s.Trees = []worker.Tree{{Path: c.work, Dir: dir, Noexec: true}}
	arch, err := seccomp.Host()
	if err != nil {
		t.Fatal(err)
	}
	if s.Filter, err = seccomp.Build(arch, seccomp.Options{NoexecMemfd: seccomp.KnowsNoexecMemfd(), TruncateMediated: abi >= 3}); err != nil {
		t.Fatal(err)
	}
	s.User, s.Nested = &worker.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}, true
	if os.Getuid() == 0 {
		s.User, s.Nested = &worker.User{UID: 65534, GID: 65534}, false
		if err := os.Chown(c.work, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
}

// try runs an operation in a new worker with the cell's set-up.
func (c *cell) try(t *testing.T, do ...string) string {
	t.Helper()
	w, err := worker.Start(t.Context(), c.ns, c.setup)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Stop() }()
	return c.exec(t, w.Worker, append([]string{c.program, "one"}, do...)...)
}

func (c *cell) exec(t *testing.T, w *worker.Worker, words ...string) string {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var text []byte
	var wg sync.WaitGroup
	wg.Go(func() { text, _ = io.ReadAll(out) })
	res, err := w.Exec(t.Context(), worker.Command{Program: words[0], Argv: words, Env: []string{"TMPDIR=" + c.work}, Stdin: null, Stdout: in, Stderr: os.Stderr})
	in.Close()
	wg.Wait()
	switch {
	case err != nil:
		t.Fatal(err)
	case res.Status.Signaled():
		return "killed:" + unix.SignalName(res.Status.Signal())
	}
	return strings.TrimSpace(string(text))
}

func (c *cell) copyTrue(t *testing.T, to string) {
	t.Helper()
	found := closure.Find([]string{"true"}, "/usr/bin:/bin")[0].Paths
	if len(found) == 0 {
		t.Skip("this host has no program true")
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what, got string, owed ...string) {
	t.Helper()
	if !slices.Contains(owed, got) {
		t.Errorf("%s: %q, want one of %q", what, got, owed)
	}
}

// Each hole that was found in plainer confinement: it is there when the piece
// that closes it is left out, and closed with it.

// Landlock does not see what a dynamic loader maps: a noexec mount does.
// CON-279, CON-P59
func TestHoleOfTheLoader(t *testing.T) {
	c := newCell(t)
	loader := "/lib64/ld-linux-x86-64.so.2"
	if _, err := os.Stat(loader); err != nil {
		t.Skip("this host has no loader " + loader)
	}
	real, err := filepath.EvalSymlinks(loader)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(c.work, "program")
	c.copyTrue(t, program)
	want(t, "with noexec", c.try(t, "exec", real, program), "exit 127")
	want(t, "mapped with noexec", c.try(t, "map-exec", program), "EPERM")
	c.setup.Trees[0].Noexec = false
	want(t, "directly, without noexec", c.try(t, "exec", program), "EACCES")
	want(t, "through the loader, without noexec", c.try(t, "exec", real, program), "ok")
}

// Anonymous memory is outside of Landlock: the filter refuses to make some that
// can be executed. CON-107, CON-P58
func TestHoleOfMemory(t *testing.T) {
	c := newCell(t)
	program := closure.Find([]string{"true"}, "/usr/bin:/bin")[0].Paths[0]
	want(t, "with the filter", c.try(t, "memfd-execveat", program), "EPERM")
	c.setup.Filter = nil
	// The program runs in place of the one that would answer.
	want(t, "without", c.try(t, "memfd-execveat", program), "")
}

// Landlock does not mediate metadata, and root needs no capability to change that
// of its own files: commands are never root, and what is outside is read-only.
// CON-71, CON-278, CON-P7, CON-P137
func TestHoleOfMetadata(t *testing.T) {
	c := newCell(t)
	file := filepath.Join(c.outside, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, "with private mounts", c.try(t, "chmod", file), "EROFS", "EPERM")
	c.setup.PrivateMounts, c.setup.PrivateProc, c.ns.Private, c.ns.PID = false, false, false, false
	if os.Getuid() != 0 {
		want(t, "without them, by the owner", c.try(t, "chmod", file), "ok")
		return
	}
	want(t, "without them, as another user", c.try(t, "chmod", file), "EPERM")
	c.setup.User = nil
	want(t, "without either", c.try(t, "chmod", file), "ok")
}

// Landlock knows TCP by ports alone, and neither UDP nor the rest: the network
// namespace holds them all. CON-202, CON-231, CON-P75
func TestHoleOfDatagrams(t *testing.T) {
	c := newCell(t)
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	came := func() bool {
		_ = l.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		_, _, err := l.ReadFrom(make([]byte, 16))
		return err == nil
	}
	if answer := c.try(t, "udp", l.LocalAddr().String(), "x"); !came() {
		t.Errorf("without a network namespace nothing came: %s", answer)
	}
	h, sockets, err := holder.Start(t.Context(), nil)
	if err != nil {
		t.Skipf("this host gives no network namespace: %v", err)
	}
	defer h.Stop()
	for _, s := range sockets.DNS {
		defer s.Close()
	}
	w, _, err := h.Worker(context.Background(), c.setup, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	answer := c.exec(t, w, c.program, "one", "udp", l.LocalAddr().String(), "x")
	if came() {
		t.Errorf("a datagram came out of the namespace: %s", answer)
	}
}

// A Unix socket is reached by its name where nothing grants the file: the filter
// refuses to make one. CON-103, CON-236, CON-P82
func TestHoleOfUnixSockets(t *testing.T) {
	c := newCell(t)
	path := filepath.Join(c.outside, "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	want(t, "with the filter", c.try(t, "unix", path), "socket: EACCES")
	arch, err := seccomp.Host()
	if err != nil {
		t.Fatal(err)
	}
	if c.setup.Filter, err = seccomp.Build(arch, seccomp.Options{UnixSockets: true, NoexecMemfd: true, TruncateMediated: true}); err != nil {
		t.Fatal(err)
	}
	want(t, "with the grant of all", c.try(t, "unix", path), "ok")
}

// A filter that does not look at the architecture first takes a number of the
// 32-bit gate for another call. CON-93, CON-280, CON-P64
func TestHoleOfTheOtherGate(t *testing.T) {
	c := newCell(t)
	const getpid32 = "20" // writev of the 64-bit table, which is allowed
	if got := c.try(t, "call-32", getpid32); strings.HasPrefix(got, "no 32-bit") {
		t.Skip(got)
	} else {
		want(t, "with the check", got, "killed:"+unix.SignalName(syscall.SIGSYS))
	}
	// The program starts by loading the architecture and killing any other.
	if load, ok := c.setup.Filter[0].(bpf.LoadAbsolute); !ok || load.Off != 4 {
		t.Fatalf("the filter does not look at the architecture first: %v", c.setup.Filter[:3])
	}
	c.setup.Filter = c.setup.Filter[3:]
	if got := c.try(t, "call-32", getpid32); strings.HasPrefix(got, "killed") {
		t.Skip("this kernel has no 32-bit gate: " + got)
	} else {
		want(t, "without it", got, "ok")
	}
}
