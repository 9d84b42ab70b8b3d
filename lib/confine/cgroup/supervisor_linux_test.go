package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/murtest"
)

// handing makes a v2 group that can hand down a controller, whichever the v2 tree of
// this host carries, and puts this process into it until the test has ended.
func handing(t *testing.T) (group, controller string) {
	t.Helper()
	group = groupIn(t, "")
	above, self := filepath.Dir(group), strconv.Itoa(os.Getpid())
	text := func(dir, file string) []string {
		b, _ := os.ReadFile(filepath.Join(dir, file))
		return strings.Fields(string(b))
	}
	have, given := text(above, "cgroup.controllers"), text(above, "cgroup.subtree_control")
	if len(have) == 0 {
		t.Skip("the v2 tree of this host carries no controller")
	}
	controller = have[0]
	if len(given) > 0 {
		controller = given[0]
	} else {
		if err := write(filepath.Join(above, "cgroup.subtree_control"), "+"+controller); err != nil {
			t.Skipf("the v2 group of this process hands nothing down: %v", err)
		}
		t.Cleanup(func() { _ = write(filepath.Join(above, "cgroup.subtree_control"), "-"+controller) })
	}
	if err := write(filepath.Join(group, "cgroup.procs"), self); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := write(filepath.Join(above, "cgroup.procs"), self); err != nil {
			t.Error(err)
		}
		if err := write(filepath.Join(group, "cgroup.subtree_control"), "-"+controller); err != nil {
			t.Error(err)
		}
		_ = os.Remove(filepath.Join(group, confine.SupervisorGroup))
	})
	if err := write(filepath.Join(group, "cgroup.subtree_control"), "+"+controller); !errors.Is(err, unix.EBUSY) {
		t.Fatalf("the kernel hands down from a group with a process: %v", err)
	}
	return group, controller
}

// In a group of its own, as systemd-run --scope makes one, a program and its children
// make way for the scope; one that is there already does so again for nothing.
// CON-184, CON-181
func TestMakesWay(t *testing.T) {
	group, controller := handing(t)
	child := exec.Command("sleep", murtest.Naptime())
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	for range 2 {
		if err := handDown(group, "+"+controller); err != nil {
			t.Fatal(err)
		}
		given, err := os.ReadFile(filepath.Join(group, "cgroup.subtree_control"))
		if err != nil || !slices.Contains(strings.Fields(string(given)), controller) {
			t.Errorf("handed down %q: %v", given, err)
		}
		for _, pid := range []string{"self", strconv.Itoa(child.Process.Pid)} {
			own, err := os.ReadFile("/proc/" + pid + "/cgroup")
			if err != nil || !strings.Contains(string(own), "/"+filepath.Base(group)+"/"+confine.SupervisorGroup+"\n") {
				t.Errorf("%s is in %s: %v", pid, own, err)
			}
		}
	}
}

// What is somebody else's stays where it is, and the reason says so. CON-184
func TestMakesNoWayForOthers(t *testing.T) {
	group, controller := handing(t)
	nap := murtest.Naptime()
	// Its parent has ended, so that it is nobody's child of this program.
	line := "sleep " + nap + " >/dev/null 2>&1 & echo $!"
	out, err := exec.Command("/bin/sh", "-c", line).Output()
	if err != nil {
		t.Fatal(err)
	}
	other, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = unix.Kill(other, unix.SIGKILL)
		murtest.Within(2*time.Second, func() bool { return len(murtest.Processes(t, nap)) == 0 })
	}()
	err = handDown(group, "+"+controller)
	if !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "there are 1 in "+group) {
		t.Errorf("%v", err)
	}
	if own, err := os.ReadFile("/proc/" + strconv.Itoa(other) + "/cgroup"); err != nil || strings.Contains(string(own), confine.SupervisorGroup) {
		t.Errorf("it is in %s: %v", own, err)
	}
}
