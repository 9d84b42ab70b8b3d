//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/policy"
)

// watching says to this program, re-executed in namespaces of its own, to be the
// machine whose resolver is watched.
const watching = "MUR_TEST_RESOLVER"

func init() { roles[watching] = beWatched }

// The names of the test: one is listed and leads to the machine itself.
const (
	listedName = "listed.example"
	longName   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.cccccccccccccccccccccccccccccccccccccccccccccccccc.dddddddddddddddddddddddddddddddddddddd.example"
)

// seen is what the watched machine says at its end.
type seen struct {
	Questions []string          // that reached its resolver
	Answers   map[string]string // of the probe, by its words
	Errors    []string
}

// A name that is not listed is answered inside, and no packet of it reaches the
// resolver of the machine, whatever the name carries; the resolver is a real one, on
// port 53 of a machine of the test's own, and does see the listed name when a
// command connects to it. CON-226, CON-229, CON-P72
func TestNoQuestionLeaves(t *testing.T) {
	shell, probeProgram := built(t)
	machine := filepath.Join(filepath.Dir(shell), "machine")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(machine, self, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for user, cred := range users() {
		for _, class := range []policy.Class{policy.Advisory, policy.Scoped, policy.Sealed} {
			t.Run(user+"/"+class.String(), func(t *testing.T) {
				needs(t, class)
				base, work := workshop(t, cred)
				got := watched(t, cred, base, machine, shell, probeProgram, work, class.String())
				for do, want := range map[string]string{
					"dns secret." + listedName + " A": "NXDOMAIN", "dns secret.other.example A": "NXDOMAIN", "dns " + longName + " A": "NXDOMAIN",
					"dns secret.other.example TXT": "NXDOMAIN", "dns secret.other.example A 127.0.0.53:53": "NXDOMAIN",
					"connect-name " + listedName + " 443 A": "ok",
				} {
					if got.Answers[do] != want {
						t.Errorf("%s: %q, want %q", do, got.Answers[do], want)
					}
				}
				if !slices.ContainsFunc(got.Questions, func(q string) bool { return strings.HasPrefix(q, listedName+".") }) {
					t.Errorf("the resolver did not see the listed name: it saw %q", got.Questions)
				}
				for _, q := range got.Questions {
					if !strings.HasPrefix(q, listedName+".") {
						t.Errorf("the resolver saw %q", q)
					}
				}
				if len(got.Errors) > 0 {
					t.Errorf("%q", got.Errors)
				}
			})
		}
	}
}

// watched runs the machine as a user and returns what it saw.
func watched(t *testing.T, cred *syscall.Credential, base string, machine string, args ...string) seen {
	t.Helper()
	conf := filepath.Join(base, "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver 127.0.0.1\noptions attempts:1 timeout:2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Getuid(), os.Getgid()
	words := []string{machine}
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS}
	if cred != nil || uid != 0 {
		// Its own user namespace, with the user's own id and the rights over it.
		attr.Cloneflags |= unix.CLONE_NEWUSER
		if cred != nil {
			uid, gid = int(cred.Uid), int(cred.Gid)
			attr.Credential = cred
		}
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_ADMIN}
	}
	cmd := exec.Command(words[0], args...)
	cmd.Dir = base
	cmd.Env = []string{watching + "=" + conf, "PATH=/usr/bin:/bin", "HOME=" + filepath.Join(base, "home")}
	cmd.SysProcAttr = attr
	cmd.WaitDelay = 30 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if errors.Is(err, unix.EPERM) {
		t.Skipf("a machine of the test's own needs namespaces: %v", err)
	}
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, said.String())
	}
	var s seen
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v: %s%s", err, out, said.String())
	}
	return s
}

// beWatched is the machine: it puts its resolver in place, runs the probes and
// says what it saw. Its arguments are mur-shell, the probe program, the work folder
// and the class.
func beWatched() int {
	out := seen{Answers: map[string]string{}}
	var mu sync.Mutex
	err := func() error {
		if err := raise("lo"); err != nil {
			return fmt.Errorf("raise lo: %w", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("make mounts private: %w", err)
		}
		real, err := filepath.EvalSymlinks("/etc/resolv.conf")
		if err != nil {
			return err
		}
		if err := unix.Mount(os.Getenv(watching), real, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("put resolv.conf: %w", err)
		}
		resolver, err := net.ListenPacket("udp4", "0.0.0.0:53")
		if err != nil {
			return err
		}
		defer resolver.Close()
		go func() {
			buf := make([]byte, 4096)
			for {
				n, from, err := resolver.ReadFrom(buf)
				if err != nil {
					return
				}
				question, reply := respond(buf[:n])
				mu.Lock()
				out.Questions = append(out.Questions, question)
				mu.Unlock()
				_, _ = resolver.WriteTo(reply, from)
			}
		}()
		server, err := net.Listen("tcp4", "127.0.0.1:443")
		if err != nil {
			return err
		}
		defer server.Close()
		go func() {
			for {
				c, err := server.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("x"))
				_ = c.Close()
			}
		}()
		// The commands must not have the rights of the machine.
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return err
		}
		shell, probeProgram, work, class := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
		for _, do := range []string{
			"dns secret." + listedName + " A", "dns secret.other.example A", "dns " + longName + " A", "dns secret.other.example TXT",
			"dns secret.other.example A 127.0.0.53:53", "connect-name " + listedName + " 443 A",
		} {
			cmd := exec.Command(shell, slices.Concat([]string{"run", "--workdir", work, "--containment", class, "--network", listedName + ":443", "--allow", probeProgram, "--", probeProgram, "one"}, strings.Fields(do))...)
			cmd.Dir = work
			cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + os.Getenv("HOME")}
			cmd.Stderr = os.Stderr
			answer, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", do, err)
			}
			out.Answers[do] = strings.TrimSpace(string(answer))
		}
		time.Sleep(100 * time.Millisecond) // for a packet on its way
		return nil
	}()
	mu.Lock()
	defer mu.Unlock()
	if err != nil {
		out.Errors = append(out.Errors, err.Error())
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		return 1
	}
	return 0
}

// respond answers every question of type A with the machine itself.
func respond(msg []byte) (question string, reply []byte) {
	var m dnsmessage.Message
	if err := m.Unpack(msg); err != nil || len(m.Questions) != 1 {
		return fmt.Sprintf("%d bytes that are no question", len(msg)), nil
	}
	q := m.Questions[0]
	r := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	if q.Type == dnsmessage.TypeA {
		r.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
	}
	reply, _ = r.Pack()
	return q.Name.String() + " " + q.Type.String(), reply
}

// raise brings an interface up, netdevice(7).
func raise(name string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, r); err != nil {
		return err
	}
	r.SetUint16(r.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}
