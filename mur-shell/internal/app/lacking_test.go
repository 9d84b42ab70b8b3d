package app_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/murtest"
)

// ordinary is a user that owns nothing, for a root that plays another host.
const ordinary = 64322

// Hosts that lack a piece are played by a user namespace whose limits are 0, or
// whose /proc is partly covered: there the kernel refuses for real. CON-20, CON-41,
// CON-58, CON-71, CON-72, CON-121, CON-151, CON-165, CON-175, CON-282, CON-P125,
// CON-P127
func TestHostsThatLackAPiece(t *testing.T) {
	needs(t, "sealed")
	for _, tool := range []string{"unshare", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	p := newPlace(t)
	if os.Getuid() == 0 {
		for _, d := range []string{p.base, p.home, p.work, p.outside} {
			if err := os.Chown(d, ordinary, ordinary); err != nil {
				t.Fatal(err)
			}
		}
	}
	shell := murtest.Command(t, "mur-shell")
	// The program must be reachable for that user.
	data, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	shell = p.base + "/mur-shell"
	if err := os.WriteFile(shell, data, 0o755); err != nil {
		t.Fatal(err)
	}
	on := func(lack string, args ...string) outcome {
		script := lack + ` && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"`
		inner := append([]string{"unshare", "--user", "--mount", "--map-current-user", "--keep-caps", "sh", "-c", script, "sh", shell}, args...)
		if os.Getuid() == 0 {
			inner = append([]string{"setpriv", "--reuid=64322", "--regid=64322", "--clear-groups"}, inner...)
		}
		cmd := exec.Command(inner[0], inner[1:]...)
		cmd.Dir = p.work
		cmd.Env = []string{"HOME=" + p.home, "PATH=" + programs}
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return outcome{code: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errOut.String()}
	}
	if o := on("true", "run", "--", "echo", "fine"); o.stdout != "fine\n" {
		t.Skipf("a user namespace can not be made for this test: %s", o.stderr)
	}
	const (
		noNet  = "echo 0 > /proc/sys/user/max_net_namespaces"
		noMnt  = "echo 0 > /proc/sys/user/max_mnt_namespaces"
		noUser = "echo 0 > /proc/sys/user/max_user_namespaces"
		noPID  = "echo 0 > /proc/sys/user/max_pid_namespaces"
		masked = "mount -t tmpfs none /proc/acpi"
	)
	nap := murtest.Naptime()
	for _, tc := range []struct {
		lack, class string
		code        string // of the refusal, "" when it runs
		tmp         bool   // a literal /tmp is its own
	}{
		{noNet, "scoped", "E-CAP-005", false},
		{noNet, "sealed", "E-CAP-005", false},
		{noUser, "scoped", "E-CAP-005", false},
		{noUser, "unconfined", "", true},
		{noMnt, "scoped", "", false},
		{noMnt, "sealed", "E-CAP-003", false},
		{noPID, "scoped", "", true},
		{noPID, "sealed", "", true},
		{masked, "scoped", "", true},
		{masked, "sealed", "", true},
	} {
		name := tc.lack + " " + tc.class
		o := on(tc.lack, "run", "--containment", tc.class, "--allow", "sh", "--allow", "sleep", "--allow", "setsid", "--allow", "cat", "--", "sh", "-c",
			"setsid sleep "+nap+" >/dev/null 2>&1 & cat /tmp/mur-none ../outside/canary; echo x > /tmp/mur-x && echo tmp; echo y > f && echo work")
		if tc.code != "" {
			if o.code != 125 || !strings.Contains(o.stderr, tc.code) {
				t.Errorf("%s: %d %q", name, o.code, o.stderr)
			}
			continue
		}
		if !strings.Contains(o.stdout, "work\n") || strings.Contains(o.stdout, "tmp\n") != tc.tmp {
			t.Errorf("%s: %d %q %q", name, o.code, o.stdout, o.stderr)
		}
		if strings.Contains(o.stdout, "sesame") != (tc.class == "unconfined") {
			t.Errorf("%s: outside was read: %q", name, o.stdout)
		}
		if left := murtest.Processes(t, nap); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
		_ = os.Remove("/tmp/mur-x")
	}
	// Where there is no PID namespace a command can end its own worker: then all of
	// it ends.
	o := on(noPID, "run", "--allow", "sh", "--allow", "setsid", "--allow", "sleep", "--", "sh", "-c", "setsid sleep "+nap+" & kill -9 $PPID; sleep "+nap)
	if o.code != 125 || !strings.Contains(o.stderr, "the worker ") {
		t.Errorf("%d %q", o.code, o.stderr)
	}
	eventually(t, 3*time.Second, "all of it has ended", func() bool { return len(murtest.Processes(t, nap)) == 0 })
}
