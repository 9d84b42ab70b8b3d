package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/policy"
)

// programs is a directory that every user may look into, with mur-shell and the
// probe program, static.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "mur-probe-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return dir, err
	}
	for name, env := range map[string]string{"mur-shell": "CGO_ENABLED=1", "mur-shell/internal/probe": "CGO_ENABLED=0"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, filepath.Base(name)), "github.com/mur-capsules/mur/"+name)
		cmd.Env = append(os.Environ(), env)
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("go build %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
})

// roles are what this program is instead of a test, re-executed with a variable set.
var roles = map[string]func() int{}

func TestMain(m *testing.M) {
	for name, be := range roles {
		if os.Getenv(name) != "" {
			os.Exit(be())
		}
	}
	status := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(status)
}

func built(t *testing.T) (shell, probeProgram string) {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "mur-shell"), filepath.Join(dir, "probe")
}

// reading is what this host can do.
var reading = sync.OnceValue(probe.Host)

// needs skips a class that this host does not reach, with the reason.
func needs(t *testing.T, class policy.Class) {
	t.Helper()
	r := reading()
	switch {
	case !r.NetNS:
		t.Skipf("this host gives no network namespace: %v", r.NetworkBlocker)
	case class == policy.Sealed && r.Tier() != confine.TierSealed:
		t.Skipf("this host can not compose a root: %v", r.SealedBlocker)
	case class == policy.Scoped && r.Tier() != confine.TierSealed && r.Tier() != confine.TierScoped:
		t.Skipf("this host has no Landlock or no seccomp: %+v", r)
	case class > policy.Advisory && r.Root != nil && r.Root.RunAs == nil:
		t.Skipf("as root commands can get no other user here: %v", r.Root.Blocker)
	}
}

// users are whom the tests run mur-shell as: the caller, and for root an ordinary
// user as well.
func users() map[string]*syscall.Credential {
	if os.Getuid() != 0 {
		return map[string]*syscall.Credential{"user": nil}
	}
	return map[string]*syscall.Credential{"root": nil, "user": {Uid: 12345, Gid: 12345}}
}
