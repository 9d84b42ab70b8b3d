//go:build linux && cgo

package box

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/holder"
	"github.com/mur-capsules/mur/lib/confine/landlock"
	"github.com/mur-capsules/mur/lib/confine/packet"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/confine/seccomp"
	"github.com/mur-capsules/mur/lib/confine/worker"
)

func TestMain(m *testing.M) {
	Init()
	os.Exit(m.Run())
}

type fakeHost map[string]string // path -> link target or ""

func (h fakeHost) Link(p string) (string, bool) { t := h[p]; return t, t != "" }
func (h fakeHost) Exists(p string) bool         { _, ok := h[p]; return ok }

// CON-144, CON-145, CON-152, CON-153, CON-155 to CON-157, CON-162
func TestLayout(t *testing.T) {
	h := fakeHost{"/usr": "", "/bin": "usr/bin", "/lib": "usr/lib", "/etc/ssl": "", "/opt/tool": "", "/usr/lib/x": "", "/r/logs": ""}
	mounts, links := Layout(Spec{
		StagedRuntimes: []string{"/opt/staged"}, Optional: []string{"/opt/tool", "/opt/missing", "/usr/lib/x"}, HostPaths: []string{"/srv/data"},
		Runtime: "/s/runtime", ReadOnly: []string{"/r/logs", "/r/children"}, Tmp: "/r/tmp", Home: "/r/home", Work: "/r",
		Passwd: "/s/passwd", Group: "/s/group", Resolv: "/s/resolv", Hosts: "/s/hosts", Program: "/bin/mur-shell",
	}, h)
	var got []string
	for _, m := range mounts {
		mode := "r"
		if m.Writable {
			mode = "w"
		}
		if m.Noexec {
			mode += "n"
		}
		if m.Required {
			mode += "!"
		}
		got = append(got, m.Target+" "+mode)
	}
	want := []string{"/opt/staged r!", "/usr r", "/etc/ssl r", "/etc/passwd r!", "/etc/group r!", "/etc/resolv.conf r!", "/etc/hosts r!", WorkerPath + " r!", "/tmp wn!",
		"/opt/tool r", "/srv/data rn!", "/s/runtime r!", "/r wn!", "/r/logs rn", "/r/tmp wn!", "/r/home wn!"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(links) != 2 || links["/bin"] != "usr/bin" || links["/lib"] != "usr/lib" {
		t.Errorf("links %v", links)
	}
}

// boxID is the id of a test's box.
func boxID() string { return fmt.Sprintf("mur-test-%d", os.Getpid()) }

type session struct {
	work string
	base string
	w    *worker.Worker
}

func sealed(t testing.TB) *session {
	t.Helper()
	reading := probe.Host()
	if reading.Tier() != confine.TierSealed {
		t.Skipf("this host can not compose a root: %v", reading.SealedBlocker)
	}
	base, err := os.MkdirTemp("/var/tmp", "mur-box-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dirs := map[string]string{}
	for _, d := range []string{"work", "tmp", "home", "runtime", "logs", "state"} {
		dirs[d] = filepath.Join(base, d)
		if err := os.Mkdir(dirs[d], 0o711); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n", "resolv": "nameserver 127.0.0.1\n", "secret": "x"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(base, 0o711); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	h, sockets, err := holder.Start(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	for _, d := range sockets.DNS {
		t.Cleanup(func() { _ = d.Close() })
	}
	mounts, links := Layout(Spec{
		Runtime: dirs["runtime"], ReadOnly: []string{dirs["logs"]}, Tmp: dirs["tmp"], Home: dirs["home"], Work: dirs["work"],
		Passwd: filepath.Join(base, "passwd"), Group: filepath.Join(base, "group"), Resolv: filepath.Join(base, "resolv"), Hosts: filepath.Join(base, "resolv"), Program: self,
	}, Disk{})
	conn, theirs, err := packet.Pair()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{ID: boxID(), Mounts: mounts, Links: links, State: dirs["state"], NetNS: fmt.Sprintf("/proc/%d/ns/net", h.PID()), Work: dirs["work"]}
	set := worker.Setup{LandlockABI: reading.Landlock.ABI, User: &worker.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}, Nested: true}
	if os.Getuid() != 0 {
		c.UserNS = fmt.Sprintf("/proc/%d/ns/user", h.PID())
	} else {
		c.UID, c.GID, set.User, set.Nested = 65534, 65534, nil, false
		for _, d := range []string{"work", "tmp", "home"} {
			if err := os.Chown(dirs[d], 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := Start(ctx, c, theirs)
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	rule := func(p string, tree confine.Tree) {
		fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		t.Cleanup(func() { unix.Close(fd) })
		var st unix.Stat_t
		_ = unix.Fstat(fd, &st)
		set.Rules = append(set.Rules, landlock.Rule{FD: fd, Rights: landlock.Rights(tree, reading.Landlock.ABI, st.Mode&unix.S_IFMT == unix.S_IFDIR, false)})
	}
	for _, d := range []string{"work", "tmp", "home"} {
		rule(dirs[d], confine.WorkFolder)
	}
	rule("/usr", confine.ExecListDir)
	for _, p := range []string{"/dev/null", "/dev/zero", "/dev/tty"} {
		set.Inside = append(set.Inside, worker.InsideRule{Path: p, Rights: landlock.Rights(confine.DeviceWrite, reading.Landlock.ABI, false, false)})
	}
	set.Inside = append(set.Inside, worker.InsideRule{Path: "/proc", Rights: landlock.Rights(confine.ReadTree, reading.Landlock.ABI, true, false)})
	dir, err := os.OpenFile(dirs["work"], unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	set.Trees = []worker.Tree{{Path: dirs["work"], Dir: dir}}
	arch, _ := seccomp.Host()
	set.Filter, err = seccomp.Build(arch, seccomp.Options{NoexecMemfd: seccomp.KnowsNoexecMemfd(), TruncateMediated: true})
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.Attach(ctx, conn, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &session{work: dirs["work"], base: base, w: w}
}

func (s *session) sh(t testing.TB, line string) string {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := s.w.Exec(context.Background(), worker.Command{Program: "/usr/bin/dash", Argv: []string{"sh", "-c", line}, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: out, Stdout: out, Stderr: out}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A session's groups are its scope's alone: what the library would make beside them
// nobody would remove after a kill. CON-140, CON-190
func TestTheLibraryMakesNoGroup(t *testing.T) {
	if cgroups.IsCgroup2UnifiedMode() {
		t.Skip("on cgroup v2 the library puts a container into a group of its own")
	}
	sealed(t)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]bool{}
	for line := range strings.Lines(string(mounts)) {
		left, right, _ := strings.Cut(line, " - ")
		for group := range strings.Lines(string(own)) {
			if strings.HasPrefix(right, "cgroup") {
				parts := strings.SplitN(strings.TrimSpace(group), ":", 3)
				dirs[filepath.Join(strings.Fields(left)[4], parts[2])] = true
			}
		}
	}
	for dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, boxID())); err == nil {
			t.Errorf("the library made %s", filepath.Join(dir, boxID()))
		}
	}
	if len(dirs) == 0 {
		t.Skip("no cgroup hierarchy is mounted")
	}
}

// CON-139, CON-142, CON-143, CON-150 to CON-153, CON-159, CON-161, CON-163, CON-164
func TestSealed(t *testing.T) {
	s := sealed(t)
	me := os.Getuid()
	if me == 0 {
		me = 65534
	}
	for _, tc := range []struct{ name, line, says string }{
		{"work", "pwd; echo hi > f && cat f", s.work + "\nhi\n"},
		{"who", "id -u", fmt.Sprintln(me)},
		{"outside does not exist", "cat " + s.base + "/secret", "No such file"},
		{"other trees do not exist", "ls /root /var /sys /run /home", "No such file"},
		{"root is not listable", "ls /", "Permission denied"},
		{"usr is read-only", "touch /usr/x", "Read-only file system|Permission denied"},
		{"own code", "cp /usr/bin/true t; ./t", "Permission denied"},
		{"own code by the loader", "/lib64/ld-linux-x86-64.so.2 ./t", "failed to map segment"},
		{"tmp", "echo a > /tmp/a && ls /tmp", "a\n"},
		{"the worker's file", "cat " + WorkerPath, "Permission denied"},
		{"the worker", "cat /proc/1/environ", "Permission denied"},
		{"capabilities", "grep -c '^Cap.*0000000000000000' /proc/self/status", "5\n"},
		{"processes", "test $(ls -d /proc/[0-9]* | wc -l) -le 5 && echo few", "few"},
		{"host name", "cat /proc/sys/kernel/hostname", "capsule"},
		{"null", "echo x > /dev/null && echo fine", "fine"},
		{"sysctl", "echo 1 > /proc/sys/kernel/core_uses_pid", "Permission denied|Read-only"},
	} {
		got := s.sh(t, tc.line)
		ok := false
		for _, want := range strings.Split(tc.says, "|") {
			ok = ok || strings.Contains(got, want)
		}
		if !ok {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.says)
		}
	}
}

func BenchmarkSealed(b *testing.B) {
	s := sealed(b)
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	for b.Loop() {
		if _, err := s.w.Exec(context.Background(), worker.Command{Program: "/usr/bin/true", Argv: []string{"true"}, Stdin: null, Stdout: null, Stderr: null}); err != nil {
			b.Fatal(err)
		}
	}
}
