//go:build linux && cgo

package holder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/egress"
	"github.com/mur-capsules/mur/lib/confine/packet"
	"github.com/mur-capsules/mur/lib/confine/worker"
	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/policy"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "client":
			client(os.Args[2:])
			return
		case "run":
			begun()
			return
		}
	}
	os.Exit(m.Run())
}

// client is what runs inside: it asks the network as an ordinary program does.
func client(args []string) {
	for _, a := range args {
		kind, target, _ := strings.Cut(a, "=")
		switch kind {
		case "get":
			c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{Proxy: nil}}
			r, err := c.Get(target)
			if err != nil {
				fmt.Println(a, "error:", err)
				continue
			}
			b, _ := io.ReadAll(r.Body)
			fmt.Println(a, r.StatusCode, string(b))
		case "lookup":
			r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "udp", "9.9.9.9:53") // whatever resolver it believes in
			}}
			addrs, err := r.LookupHost(context.Background(), target)
			fmt.Println(a, addrs, err)
		case "dial":
			c, err := net.DialTimeout("tcp", target, 5*time.Second)
			if err != nil {
				fmt.Println(a, "error:", err)
				continue
			}
			b, err := io.ReadAll(c)
			fmt.Println(a, "connected", string(b), err)
		case "udp":
			c, err := net.Dial("udp", target)
			if err != nil {
				fmt.Println(a, "error:", err)
				continue
			}
			_, _ = c.Write([]byte("x"))
			_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			_, err = c.Read(make([]byte, 10))
			fmt.Println(a, err)
		}
	}
}

// begun is what "mur-shell run" is to the holder: it was begun before main. It says
// who the holder is and whether it knows the secret of the environment.
func begun() {
	h, sockets, err := Start(context.Background(), []int{80})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Stop()
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", h.PID()))
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", h.PID()))
	fmt.Printf("%s%s listeners=%d known=%v\n", name, bytes.TrimRight(line, "\x00"), len(sockets.Listeners), knows(h.PID(), os.Getenv("HOLDER_SECRET")))
}

// knows looks for a text in all memory of a process.
func knows(pid int, text string) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		fmt.Println(err)
		return true
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		fmt.Println(err)
		return true
	}
	defer mem.Close()
	read := 0
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil || strings.Contains(line, "[v") {
			continue // what the kernel maps
		}
		part := make([]byte, to-from)
		n, _ := mem.ReadAt(part, from)
		read += n
		if bytes.Contains(part[:n], []byte(text)) {
			return true
		}
	}
	return read < 1<<16 // that would be no look
}

// session is a holder, its proxy, and a worker with no other confinement.
type session struct {
	h        *Holder
	work     *os.File
	w        *worker.Worker
	pid      int // of the worker
	mu       sync.Mutex
	refusals []egress.Refusal
}

func newSession(t *testing.T, allow ...string) *session {
	t.Helper()
	rules, err := policy.ParseRules(policy.Place{}, allow)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ports, _ := egress.Ports(rules)
	h, sockets, err := Start(ctx, ports)
	if err != nil {
		t.Fatalf("no network namespace on this host: %v", err)
	}
	t.Cleanup(h.Stop)
	dir, err := os.OpenFile(t.TempDir(), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	s := &session{h: h, work: dir}
	proxy := egress.Serve(sockets, rules, func(r egress.Refusal) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refusals = append(s.refusals, r)
	})
	t.Cleanup(proxy.Close)
	s.w, s.pid, err = h.Worker(ctx, s.setup(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.w.Close() })
	return s
}

// setup is that of a worker with no other confinement.
func (s *session) setup() worker.Setup {
	return worker.Setup{Trees: []worker.Tree{{Path: s.work.Name(), Dir: s.work}}}
}

func (s *session) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.w.Exec(context.Background(), worker.Command{Program: self, Argv: append([]string{"client", "client"}, args...), Env: []string{"HOME=/"}, Stdin: out, Stdout: out, Stderr: out}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// CON-202 to CON-208, CON-214 to CON-221, CON-225, CON-226, CON-228, CON-231, CON-234
func TestOnlyWhatIsListedIsReached(t *testing.T) {
	serve := func(text string) (*httptest.Server, string) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }))
		t.Cleanup(s.Close)
		return s, s.Listener.Addr().String()
	}
	_, listed := serve("listed")
	_, other := serve("other")
	_, port, _ := net.SplitHostPort(listed)
	s := newSession(t, "127.0.0.1:"+port, "localhost:"+port, "allowed.test")
	got := s.run(t,
		"get=http://"+listed+"/", "get=http://[::1]:"+port+"/", "get=http://"+other+"/", "get=http://10.1.2.3:"+port+"/",
		"lookup=allowed.test", "lookup=ALLOWED.TEST.", "lookup=secret.attacker.test", "dial=8.8.8.8:53", "udp=8.8.8.8:4444", "dial=1.1.1.1:80")
	for _, want := range []string{
		"get=http://" + listed + "/ 200 listed",
		"get=http://" + other + "/ error: Get \"http://" + other + "/\": dial tcp " + other + ": connect: connection refused",
		"get=http://10.1.2.3:" + port + "/ error: Get \"http://10.1.2.3:" + port + "/\": ",
		"lookup=allowed.test [198.18.0.10 fd6d:7572::10] <nil>",
		"lookup=ALLOWED.TEST. [198.18.0.10 fd6d:7572::10] <nil>",
		"lookup=secret.attacker.test [] lookup secret.attacker.test on ",
		"dial=8.8.8.8:53 error: dial tcp 8.8.8.8:53: connect: connection refused",
		"udp=8.8.8.8:4444 read udp",
		"dial=1.1.1.1:80 connected  ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]string{}
	for _, r := range s.refusals {
		seen[fmt.Sprintf("%s:%d", r.Host, r.Port)] = r.Missing
	}
	if seen["10.1.2.3:"+port] != "10.1.2.3:"+port || seen["1.1.1.1:80"] == "" {
		t.Errorf("refusals %v", s.refusals)
	}
}

// An allowed connection is spliced byte for byte, with half-closes. CON-220
func TestSplice(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Write(big)
	}()
	s := newSession(t, l.Addr().String())
	if got := s.run(t, "dial="+l.Addr().String()); !strings.Contains(got, "connected "+string(big)+" <nil>") {
		t.Errorf("%d bytes came", len(got))
	}
}

// CON-208: nothing listed, nothing reached.
func TestEmptyList(t *testing.T) {
	s := newSession(t)
	got := s.run(t, "lookup=example.org", "dial=127.0.0.1:80", "dial=[::1]:443")
	if strings.Count(got, "connection refused") != 2 || !strings.Contains(got, "no such host") {
		t.Error(got)
	}
}

// CON-133: a holder whose client dies ends.
func TestHolderEndsWithItsClient(t *testing.T) {
	h, sockets, err := Start(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range sockets.DNS {
		d.Close()
	}
	if err := h.conn.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _, _ = h.proc.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("the holder lives on")
		h.Stop()
	}
}

// SHL-1
func TestInternalFormRefusesByHand(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{Name}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "internal form") {
		t.Errorf("%v, %q", err, out)
	}
}

// A holder that is begun before main listens as any other does, and forgot what it
// was forked with. CON-119, CON-124, CON-P36
func TestBegunAhead(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	secret := "secret-" + murtest.Naptime()
	cmd.Args = []string{"/somewhere/mur-shell", "run"}
	cmd.Env = append(os.Environ(), "HOLDER_SECRET="+secret)
	out, err := cmd.CombinedOutput()
	want := regexp.MustCompile(`^mur-holder\nmur-holder listeners=[12] known=false\n$`)
	if err != nil || !want.Match(out) {
		t.Errorf("%v, %q", err, out)
	}
	cmd = exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env = []string{"other", "run"}, append(os.Environ(), "HOLDER_SECRET=")
	if out, _ := cmd.CombinedOutput(); !strings.HasSuffix(string(out), "known=true\n") {
		t.Errorf("the look finds nothing: %q", out)
	}
}

// What a worker without a PID namespace leaves when it is killed ends with it, and
// the holder goes on. CON-133, SHL-85
func TestOrphansOfADeadWorker(t *testing.T) {
	s := newSession(t)
	nap := murtest.Naptime()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	done := make(chan error, 1)
	go func() {
		text := fmt.Sprintf("setsid sleep %[1]s & setsid sleep %[1]s & exec sleep %[1]s", nap)
		_, err := s.w.Exec(context.Background(), worker.Command{
			Program: "/bin/sh", Argv: []string{"sh", "-c", text}, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: null, Stdout: null, Stderr: null,
		})
		done <- err
	}()
	living := func(n int) func() bool { return func() bool { return len(murtest.Processes(t, nap)) == n } }
	if !murtest.Within(10*time.Second, living(3)) {
		t.Fatalf("the command did not start: %q", murtest.Processes(t, nap))
	}
	if err := unix.Kill(s.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, packet.ErrGone) {
		t.Errorf("the worker died and Exec says %v", err)
	}
	if !murtest.Within(5*time.Second, living(0)) {
		t.Fatalf("left: %q", murtest.Processes(t, nap))
	}
	w, _, err := s.h.Worker(t.Context(), s.setup(), nil)
	if err != nil {
		t.Fatalf("after that the holder starts no worker: %v", err)
	}
	_ = w.Close()
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		h, s, err := Start(context.Background(), []int{80, 443})
		if err != nil {
			b.Fatal(err)
		}
		for _, l := range s.Listeners {
			l.Close()
		}
		for _, d := range s.DNS {
			d.Close()
		}
		h.Stop()
	}
}
