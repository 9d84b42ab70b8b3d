package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/murtest"
)

// place is a home, a project to work in, and a folder no grant covers.
type place struct{ base, home, work, outside string }

func newPlace(t *testing.T) place {
	t.Helper()
	// Not beneath /tmp, which a run has its own of.
	base, err := os.MkdirTemp("/var/tmp", "mur-shell-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	p := place{base, filepath.Join(base, "home"), filepath.Join(base, "work"), filepath.Join(base, "outside")}
	for _, d := range []string{p.base, p.home, p.work, p.outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.write(t, filepath.Join(p.outside, "canary"), "sesame")
	return p
}

func (p place) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p place) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(murtest.Command(t, "mur-shell"), args...)
	cmd.Dir = p.work
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + programs, "SECRET_API_KEY=sesame", "PLAIN=plain"}
	return cmd
}

type outcome struct {
	code           int
	stdout, stderr string
	took           time.Duration
	usage          *syscall.Rusage
}

func (p place) run(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd := p.command(t, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	begin := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String(), time.Since(begin), usage}
}

func (p place) json(t *testing.T, args ...string) map[string]any {
	t.Helper()
	o := p.run(t, append([]string{"run", "--json"}, args...)...)
	var v map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil {
		t.Fatalf("%v: %q %q", err, o.stdout, o.stderr)
	}
	return v
}

// classes runs a test at each confined class this host reaches.
func classes(t *testing.T, test func(t *testing.T, class string)) {
	for _, class := range []string{"scoped", "sealed"} {
		t.Run(class, func(t *testing.T) {
			needs(t, class)
			test(t, class)
		})
	}
}

func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// A command that leaves something behind in the background returns at once, and
// what it left is gone (SHL-81, SHL-142, CON-282, CON-P134).
func TestBackgroundEndsWithTheCommand(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p, nap := newPlace(t), murtest.Naptime()
		for _, line := range []string{"sleep " + nap + " & echo started", "setsid sleep " + nap + " >/dev/null 2>&1 </dev/null & echo started"} {
			v := p.json(t, "--containment", class, "--allow", "sh", "--allow", "sleep", "--allow", "setsid", "--", "sh", "-c", line)
			if v["exit_code"] != 0.0 || v["stdout"] != "started\n" || v["leftovers"].(float64) < 1 || v["duration_ms"].(float64) > 8000 {
				t.Errorf("%s: %v", line, v)
			}
			if left := murtest.Processes(t, nap); len(left) > 0 {
				t.Errorf("%s: left %v", line, left)
			}
		}
	})
}

// SHL-82, SHL-85 to SHL-87, SHL-P13, SHL-P14
func TestTimeoutLeavesNoProcess(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p, nap := newPlace(t), murtest.Naptime()
		line := strings.ReplaceAll(`trap "" TERM; setsid sh -c 'trap "" TERM; sleep NAP; sleep NAP' & sleep NAP; sleep NAP`, "NAP", nap)
		o := p.run(t, "run", "--containment", class, "--timeout", "1", "--allow", "sh", "--allow", "sleep", "--allow", "setsid", "--", "sh", "-c", line)
		if o.code != 124 || o.took > 20*time.Second {
			t.Errorf("%d after %s: %s", o.code, o.took, o.stderr)
		}
		if left := murtest.Processes(t, nap); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
}

// SHL-143
func TestSignalsReachTheCommand(t *testing.T) {
	needs(t, "scoped")
	p := newPlace(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := p.command(t, "run", "--allow", "sh", "--allow", "sleep", "--", "sh", "-c", `trap "echo got >got; exit 3" INT TERM HUP; echo ready; while :; do sleep 0.1; done`)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 16)) // ready
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 128+int(sig) {
			t.Errorf("%s: %d", sig, got)
		}
		if err := os.Remove(filepath.Join(p.work, "got")); err != nil {
			t.Errorf("%s did not reach the command: %v", sig, err)
		}
	}
}

// SHL-90, CON-133, CON-190, CON-P119: a killed mur-shell leaves no process, mount,
// group or namespace, and the folder it leaves goes with the next run.
func TestKilledLeavesNothing(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p, nap := newPlace(t), murtest.Naptime()
		before := tree(t, p.outside)
		cmd := p.command(t, "run", "--containment", class, "--allow", "sh", "--allow", "sleep", "--allow", "setsid", "--", "sh", "-c",
			strings.ReplaceAll("setsid sleep NAP & setsid sh -c 'sleep NAP & sleep NAP' & echo ready; sleep NAP", "NAP", nap))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 16))
		if len(murtest.Processes(t, nap)) == 0 {
			t.Fatal("the command does not run")
		}
		pid := strconv.Itoa(cmd.Process.Pid)
		_ = cmd.Process.Kill()
		if !murtest.Within(2*time.Second, func() bool { return len(murtest.Processes(t, nap)) == 0 && len(children(pid)) == 0 }) {
			t.Errorf("after 2 s are left %v %v", murtest.Processes(t, nap), children(pid))
		}
		_ = cmd.Wait()
		eventually(t, 5*time.Second, "no group is left", func() bool { return len(groups(t, pid)) == 0 })
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil || strings.Contains(string(mounts), p.base) {
			t.Errorf("mounts of it are left: %v", err)
		}
		if after := tree(t, p.outside); after != before {
			t.Errorf("outside of the work folder something changed")
		}
		if o := p.run(t, "run", "--", "true"); o.code != 0 {
			t.Errorf("the next run: %d %s", o.code, o.stderr)
		}
		if left, _ := os.ReadDir(filepath.Join(p.home, ".murmur/records/standalone")); len(left) > 0 {
			t.Errorf("the next run left %v", left)
		}
	})
}

// children are holders and workers of a mur-shell that was pid.
func children(pid string) []string {
	var found []string
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, s := range stats {
		text, err := os.ReadFile(s)
		if err == nil && strings.Contains(string(text), "(mur-") && strings.Contains(string(text), ") S "+pid+" ") {
			found = append(found, s)
		}
	}
	return found
}

// groups are cgroup directories of a mur-shell that was pid.
func groups(t *testing.T, pid string) []string {
	t.Helper()
	var found []string
	for _, dir := range reading().Cgroup.Hierarchies {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "murmur-run-") && strings.HasSuffix(e.Name(), "-"+pid+"-1") {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
	}
	return found
}

// tree describes every file below a directory, its bytes included.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&b, "%s %v %d %d %d %v", path, info.Mode(), st.Uid, st.Gid, info.Size(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A run that writes nothing changes nothing, in the work folder neither.
func TestTreeIsUntouched(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p := newPlace(t)
		p.write(t, filepath.Join(p.work, "file"), "x")
		before := tree(t, p.work) + tree(t, p.outside)
		if o := p.run(t, "run", "--containment", class, "--", "cat", "file"); o.stdout != "x" {
			t.Fatalf("%d %s", o.code, o.stderr)
		}
		if after := tree(t, p.work) + tree(t, p.outside); after != before {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
		if left, _ := os.ReadDir(filepath.Join(p.home, ".murmur/records/standalone")); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
}

// SHL-60, SHL-68, SHL-70, SHL-152
func TestOutputKeepsMemoryFlat(t *testing.T) {
	needs(t, "scoped")
	p := newPlace(t)
	cmd := p.command(t, "run", "--", "head", "-c", "2000000000", "/dev/zero")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var n int64
	buf := make([]byte, 1<<20)
	for {
		k, err := out.Read(buf)
		n += int64(k)
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil || n != 2000000000 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if kib := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; kib > 64<<10 {
		t.Errorf("mur-shell used %d KiB", kib)
	}
}

// CON-173, CON-175, CON-P110: the cap is on processes at a time, however many have
// been before.
func TestProcessCap(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p := newPlace(t)
		args := []string{"run", "--containment", class, "--limit", "max_processes=64", "--allow", "sh", "--allow", "sleep", "--allow", "true", "--", "sh", "-c"}
		if o := p.run(t, append(args, `i=0; while [ $i -lt 500 ]; do true && /usr/bin/true || exit 3; i=$((i+1)); done; echo ok`)...); o.stdout != "ok\n" {
			t.Errorf("500 in turn: %d %q %q", o.code, o.stdout, o.stderr)
		}
		// The shell itself is one of the 64.
		if o := p.run(t, append(args, `i=0; while [ $i -lt 60 ]; do sleep 1 & i=$((i+1)); done; echo ok`)...); o.stdout != "ok\n" {
			t.Errorf("60 at once: %d %q %q", o.code, o.stdout, o.stderr)
		}
		if o := p.run(t, append(args, `i=0; while [ $i -lt 70 ]; do sleep 1 & i=$((i+1)); done; echo ok`)...); o.code == 0 || !strings.Contains(o.stderr, "fork") {
			t.Errorf("70 at once: %d %q %q", o.code, o.stdout, o.stderr)
		}
	})
}

// SHL-73 to SHL-75, SHL-P10, CON-P109, CON-P113, CON-P115
func TestLimits(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p := newPlace(t)
		limited := func(limit string, allow []string, line string) map[string]any {
			args := []string{"--containment", class, "--timeout", "5", "--allow", "sh"}
			for _, l := range strings.Fields(limit) {
				args = append(args, "--limit", l)
			}
			for _, a := range allow {
				args = append(args, "--allow", a)
			}
			return p.json(t, append(args, "--", "sh", "-c", line)...)
		}
		if v := limited("cpu_seconds=1", nil, "while :; do :; done"); v["exit_code"] != 152.0 || v["resource_limit"] != "cpu_seconds" || !strings.Contains(v["runtime_note"].(string), "cpu_seconds = 1") {
			t.Errorf("CPU: %v", v)
		}
		if v := limited("max_file_size_bytes=1000", []string{"head"}, "exec head -c 5000 /dev/zero > big"); v["exit_code"] != 153.0 || v["resource_limit"] != "max_file_size_bytes" {
			t.Errorf("file size: %v", v)
		}
		if reading().Cgroup.Version == nil {
			t.Skipf("no group is delegated here: %v", reading().Cgroup.Blocker)
		}
		if v := limited("cgroup_memory_bytes=60000000", []string{"head", "tail"}, "head -c 300000000 /dev/zero | tail -n 1"); v["exit_code"] != 137.0 || v["resource_limit"] != "cgroup_memory_bytes" {
			t.Errorf("memory: %v", v)
		}
		if v := limited("cgroup_pids_max=40 max_processes=4000", []string{"sleep"}, "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done"); v["resource_limit"] != "cgroup_pids_max" {
			t.Errorf("processes: %v", v)
		}
		v := limited("cgroup_pids_max=60 max_processes=4000", nil, "f() { f | f & }; (f) & while :; do :; done")
		if v["resource_limit"] != "cgroup_pids_max" || v["timed_out"] != true {
			t.Errorf("fork bomb: %v", v)
		}
	})
}

// CON-214 to CON-220, CON-225, CON-229, CON-234
func TestNetwork(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p := newPlace(t)
		if _, err := os.Stat("/usr/bin/curl"); err != nil {
			t.Skip("curl is not installed")
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
		defer s.Close()
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		get := func(allow string) outcome {
			args := []string{"run", "--containment", class}
			if allow != "" {
				args = append(args, "--network", allow)
			}
			return p.run(t, append(args, "--", "curl", "-sS", "-m", "5", "http://localhost:"+port+"/")...)
		}
		if o := get("localhost:" + port); o.stdout != "hello" {
			t.Errorf("listed: %d %q %q", o.code, o.stdout, o.stderr)
		}
		if o := get(""); o.code != 7 {
			t.Errorf("nothing listed: %d %q %q", o.code, o.stdout, o.stderr)
		}
		if o := get("example.com:" + port); o.code == 0 || !strings.Contains(o.stderr, "127.0.0.1:"+port+" was refused; network.allow lacks 127.0.0.1:"+port) {
			t.Errorf("another name listed: %d %q %q", o.code, o.stdout, o.stderr)
		}
		o := p.run(t, "run", "--containment", class, "--network", "example.com", "--", "curl", "-sS", "-m", "5", "http://secret.example.com/")
		if o.code != 6 {
			t.Errorf("unlisted name: %d %q %q", o.code, o.stdout, o.stderr)
		}
	})
}

// What a command must not reach, tried for real. Each try has a control that must
// work (CON-275). CON-P1 to CON-P4, CON-P7, CON-P14, CON-P17, CON-P20, CON-P21,
// CON-P24, CON-P26, CON-P28, CON-P33, CON-P53, CON-P54, CON-P59, CON-P91, CON-P97,
// CON-P99, CON-P104, CON-P118, SHL-P22, SHL-P23
func TestEscapes(t *testing.T) {
	classes(t, func(t *testing.T, class string) {
		p := newPlace(t)
		canary := filepath.Join(p.outside, "canary")
		before := tree(t, p.outside)
		sleeper := exec.Command("sleep", "60")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
		outer := strconv.Itoa(sleeper.Process.Pid)
		allow := []string{"sh", "cat", "ls", "cp", "mv", "ln", "rm", "touch", "chmod", "kill", "grep", "id", "tee", "env"}
		args := []string{"run", "--containment", class}
		for _, a := range allow {
			args = append(args, "--allow", a)
		}
		loader := "/lib64/ld-linux-x86-64.so.2"
		for _, tc := range []struct{ name, control, try string }{
			{"read outside", "echo a > f; cat f", "cat " + canary},
			{"read through a link", "ln -s f l; cat l", "ln -s " + canary + " c; cat c"},
			{"read through /proc", "true", "cat /proc/self/root" + canary + " || cat /proc/self/cwd/../outside/canary"},
			{"append", "echo b >> f", "echo x >> " + canary},
			{"remove", "echo 1 > g; rm g", "rm -f " + canary + "; ! test -e " + canary + " && false"},
			{"create beside", "touch h", "touch " + p.outside + "/new"},
			{"hard link in", "ln f f2", "ln " + canary + " hard"},
			{"move in", "mv f2 f3", "mv " + canary + " moved"},
			{"move out", "true", "mv f3 " + p.outside + "/f3"},
			{"metadata", "chmod 600 f", "chmod 777 " + canary},
			{"list the root", "ls .", "ls /"},
			{"write below /usr", "true", "touch /usr/bin/mur-test"},
			{"home of the user", "ls $HOME", "ls " + p.home + "/.murmur"},
			{"shadow", "true", "cat /etc/shadow"},
			{"a program that is not allowed", "id", "/usr/bin/od f"},
			{"a copy of an allowed one", "true", "cp /usr/bin/id cat2; ./cat2"},
			{"by the loader", "true", "cp /usr/bin/id own; " + loader + " ./own"},
			{"in tmp", "echo a > $TMPDIR/a", "cp /usr/bin/id $TMPDIR/x; $TMPDIR/x"},
			{"a process outside", "kill -0 $$", "kill -0 " + outer},
			{"another's environment", "true", "cat /proc/" + outer + "/environ"},
			{"become root", "true", "test $(id -u) = 0"},
			{"a group", "true", "echo $$ > /sys/fs/cgroup/cgroup.procs || echo $$ > /sys/fs/cgroup/pids/cgroup.procs"},
			{"the caller's secret", "env", "env | grep sesame"},
		} {
			if o := p.run(t, append(args, "--", "sh", "-c", tc.control)...); o.code != 0 {
				t.Errorf("%s: the control failed: %d %s", tc.name, o.code, o.stderr)
			}
			if o := p.run(t, append(args, "--", "sh", "-c", tc.try)...); o.code == 0 || strings.Contains(o.stdout, "sesame") {
				t.Errorf("%s: got through: %q %q", tc.name, o.stdout, o.stderr)
			}
		}
		if after := tree(t, p.outside); after != before {
			t.Errorf("outside changed:\n%s\n%s", before, after)
		}
	})
}

// CON-192 to CON-196: the guard of a run ends it when the work folder has grown too
// large.
func TestWorkFolderOutgrowsItsLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the guard's ten seconds")
	}
	needs(t, "scoped")
	p := newPlace(t)
	o := p.run(t, "run", "--limit", "workdir_max_bytes=1000", "--allow", "sh", "--allow", "sleep", "--allow", "head", "--", "sh", "-c", "head -c 5000 /dev/zero > big; sleep 60")
	if o.code != 125 || !strings.HasPrefix(o.stderr, "error[E-RUN-013]") && !strings.Contains(o.stderr, "\nerror[E-RUN-013]") || !strings.Contains(o.stderr, "5000 bytes") {
		t.Errorf("%d after %s: %q", o.code, o.took, o.stderr)
	}
}
