//go:build linux && cgo

package escape_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/holder"
)

// pinging says to this test, re-executed in a network of its own, to try there.
const pinging = "MUR_TEST_PING"

// No filter holds these sockets, but what a command lacks: a raw one takes a
// capability, raw(7), and a datagram one for ICMP a group that
// net.ipv4.ping_group_range of its network names, which is none in a new network
// whatever the host's says, icmp(7). CON-202, CON-233, CON-P77
func TestHoleOfPing(t *testing.T) {
	if os.Getenv(pinging) != "" {
		tryPing(t)
		return
	}
	newCell(t) // skips where the host lacks a mechanism
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestHoleOfPing$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), pinging+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW}
	}
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err != nil:
		t.Errorf("%v\n%s", err, text)
	case strings.Contains(text, "ping range: "):
		t.Skip(text)
	case !strings.Contains(text, "tried all\n"):
		t.Errorf("nothing was tried:\n%s", text)
	}
}

func tryPing(t *testing.T) {
	c := newCell(t)
	groups := fmt.Sprintf("%d %d", os.Getgid(), os.Getgid())
	if os.Getuid() == 0 {
		groups = "0 65534" // of root and of whom its commands run as
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte(groups), 0); err != nil {
		t.Skipf("ping range: %v", err)
	}
	raw, datagram := []string{"socket", "2", "3", "1"}, []string{"socket", "2", "2", "1"} // domain, type, protocol
	// With a capability, and a group that is named, there is nothing that refuses.
	for what, kind := range map[string]int{"raw": unix.SOCK_RAW, "datagram": unix.SOCK_DGRAM} {
		s, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		if err != nil {
			t.Errorf("a %s socket for ICMP with the right to it: %v", what, err)
			continue
		}
		_ = unix.Close(s)
	}
	want(t, "a datagram socket in this network", c.try(t, datagram...), "ok")
	want(t, "a raw socket in this network", c.try(t, raw...), "EPERM")
	h, sockets, err := holder.Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Stop()
	for _, s := range sockets.DNS {
		defer s.Close()
	}
	w, _, err := h.Worker(t.Context(), c.setup, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want(t, "a datagram socket in the session's", c.exec(t, w, append([]string{c.program, "one"}, datagram...)...), "EACCES")
	want(t, "a raw socket in the session's", c.exec(t, w, append([]string{c.program, "one"}, raw...)...), "EPERM")
	_, _ = os.Stdout.WriteString("tried all\n")
}
