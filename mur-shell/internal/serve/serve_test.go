package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/box"
	"github.com/mur-capsules/mur/lib/confine/closure"
	"github.com/mur-capsules/mur/lib/confine/grants"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/mur-shell/internal/terms"
)

// TestMain lets this program be what mur-shell is: init of a composed root, holder,
// worker, and, as a process of its own, the server of a session.
func TestMain(m *testing.M) {
	box.Init()
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		os.Exit(serveDocument(os.Args[2]))
	}
	murtest.Main(m)
}

func serveDocument(path string) int {
	data, err := os.ReadFile(path)
	var doc session.Document
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err == nil {
		err = Serve(context.Background(), config(3, &doc))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return 0
}

func config(fd int, doc *session.Document) Config {
	return Config{
		ControlFD: fd, Document: doc, Env: cli.Env{Stdout: io.Discard, Stderr: os.Stderr, Environ: os.Environ(), Now: time.Now},
		Host: terms.Host{Probe: probe.Host, ProbeRest: probe.WithoutNetwork, Grants: grants.Disk{}},
	}
}

var reading = sync.OnceValue(probe.Host)

// programs is a PATH of the system's own programs.
const programs = "/usr/bin:/bin"

// staged makes the folders and the document of a session with a native tool and
// grace seconds of grace.
func staged(t testing.TB, class policy.Class, grace int64, allow ...string) *session.Document {
	t.Helper()
	r := reading()
	d := confine.Decide(r, class, nil)
	if d.Refusal() != nil || !r.NetNS {
		t.Skipf("this host does not reach %s: %v %v", class, r.SealedBlocker, r.NetworkBlocker)
	}
	base, err := os.MkdirTemp("/var/tmp", "mur-serve-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := func(name string) session.Directory {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		return session.Directory{Path: path, Dev: uint64(st.Dev), Ino: st.Ino}
	}
	work := dir("work")
	doc := &session.Document{
		SessionID: ids.New(ids.Session), Capsule: session.Capsule{Name: "try", Version: "1.0.0"},
		Directories: session.Directories{
			Work: session.WorkDirectory{Path: work.Path, Dev: work.Dev, Ino: work.Ino}, Session: dir("session"), Runtime: dir("session/runtime"),
			SealedEtc: dir("session/sealed-etc"), Records: dir("records"),
		},
		HostProbe:   r,
		Containment: session.Containment{Declared: d.Declared, Achieved: d.Achieved},
		Lifecycle:   session.Lifecycle{ShellGraceSecs: grace},
	}
	dir("records/logs")
	caps := &policy.Capabilities{Shell: &policy.Shell{Allow: allow}}
	if doc.Policy, err = policy.Resolve(caps, class); err != nil {
		t.Fatal(err)
	}
	doc.Policy.ReadOnly = []string{"locked"}
	runAs := confine.RunAs{UID: r.UID, GID: r.GID, Access: "self"}
	if r.Root != nil {
		runAs = *r.Root.RunAs
	}
	doc.Sandbox = confine.Sandbox{Version: 1, AppliedTier: string(d.AppliedTier), Caps: d.Caps, RunAs: runAs}
	for _, p := range closure.Find(allow, programs) {
		doc.Sandbox.Exec = append(doc.Sandbox.Exec, confine.ExecGrant{Entry: p.Entry, Paths: p.Paths, Closure: p.Closure})
	}
	tool := filepath.Join(dir("session/runtime/tools/native").Path, "native")
	script := "#!/usr/bin/dash\nread line\necho \"{\\\"status\\\":\\\"passed\\\",\\\"data\\\":$line,\\\"summary\\\":\\\"${MURMUR_SESSION_ID-none}\\\"}\"\n"
	if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	n := closure.Find([]string{tool, "/usr/bin/dash"}, "")
	doc.Sandbox.Natives = []confine.NativeGrant{{Tool: "native", Path: tool, Closure: append(n[0].Closure, n[1].Closure...)}}
	return doc
}

// client speaks to a server.
type client struct {
	t    testing.TB
	conn *net.UnixConn

	mu    sync.Mutex
	waits map[string]chan map[string]any
	ended chan struct{}
	next  int
}

func newClient(t testing.TB, f *os.File) *client {
	t.Helper()
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	cl := &client{t: t, conn: c.(*net.UnixConn), waits: map[string]chan map[string]any{}, ended: make(chan struct{})}
	go cl.read()
	return cl
}

func (c *client) channel(key string) chan map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, ok := c.waits[key]
	if !ok {
		ch = make(chan map[string]any, 16)
		c.waits[key] = ch
	}
	return ch
}

func (c *client) read() {
	defer close(c.ended)
	in := bufio.NewReaderSize(c.conn, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			c.t.Errorf("a line is no JSON: %q", line)
			return
		}
		id, _ := v["id"].(string)
		key := id
		if v["event"] == "completed" {
			key = id + " completed"
		}
		c.channel(key) <- v
	}
}

// answer waits for the next answer to an id.
func (c *client) answer(key string) map[string]any {
	c.t.Helper()
	select {
	case v := <-c.channel(key):
		return v
	case <-time.After(20 * time.Second):
		c.t.Fatalf("no answer to %q", key)
	case <-c.ended:
		select {
		case v := <-c.channel(key):
			return v
		default:
			c.t.Fatalf("the server went without an answer to %q", key)
		}
	}
	return nil
}

func (c *client) send(v map[string]any, files ...*os.File) {
	c.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	c.raw(append(text, '\n'), files...)
}

func (c *client) raw(text []byte, files ...*os.File) {
	c.t.Helper()
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	for len(text) > 0 {
		n, _, err := c.conn.WriteMsgUnix(text, oob, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		text, oob = text[n:], nil
	}
}

func (c *client) id() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return "r" + strconv.Itoa(c.next)
}

func spools(t testing.TB) (out, errOut *os.File) {
	t.Helper()
	files := make([]*os.File, 2)
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "spool")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		files[i] = f
	}
	return files[0], files[1]
}

// exec sends a command for a tool and returns the request's id.
func (c *client) exec(mode, tool, command string, more map[string]any) string {
	c.t.Helper()
	id := c.id()
	data, _ := json.Marshal(map[string]string{"command": command})
	q := map[string]any{"op": "exec", "id": id, "mode": mode, "tool": tool, "data": string(data), "timeout_secs": nil}
	for k, v := range more {
		q[k] = v
	}
	out, errOut := spools(c.t)
	c.send(q, out, errOut)
	return id
}

func (c *client) run(tool, command string) map[string]any {
	c.t.Helper()
	return c.answer(c.exec("foreground", tool, command, nil))
}

// pair is the control socket: the server's end and ours.
func pair(t testing.TB) (theirs, ours *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "server"), os.NewFile(uintptr(fds[1]), "client")
}

// serve starts a server as a process of its own.
func serve(t testing.TB, doc *session.Document) (*client, *exec.Cmd) {
	t.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(doc.Directories.Session.Path, "staged.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	theirs, ours := pair(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", path)
	cmd.Env = []string{"PATH=" + programs, "HOME=/", "SECRET_TOKEN=x", "GH_TOKEN=sesame"}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	c := newClient(t, ours)
	t.Cleanup(func() {
		_ = c.conn.Close()
		_ = cmd.Wait()
	})
	return c, cmd
}

func start(t testing.TB, class policy.Class, grace int64, allow ...string) *client {
	t.Helper()
	c, _ := serve(t, staged(t, class, grace, allow...))
	if v := c.answer(""); v["event"] != "ready" || v["v"] != 1.0 || v["class"] != class.String() {
		t.Fatalf("%v", v)
	}
	return c
}

func classes(t *testing.T, test func(t *testing.T, class policy.Class)) {
	for _, class := range []policy.Class{policy.Scoped, policy.Sealed} {
		t.Run(class.String(), func(t *testing.T) { test(t, class) })
	}
}

func expect(t testing.TB, v map[string]any, want map[string]any) {
	t.Helper()
	for k, w := range want {
		got, ok := v[k]
		if a, _ := json.Marshal(got); !ok || !jsonEqual(a, w) {
			t.Errorf("%s is %s, want %v in %v", k, a, w, v)
		}
	}
}

func jsonEqual(a []byte, w any) bool {
	b, _ := json.Marshal(w)
	return string(a) == string(b)
}

// SHL-13 to SHL-21, SHL-26, SHL-35, SHL-36, SHL-72, SHL-81, SHL-83, SHL-87, SHL-P3, SHL-P4, SHL-P9, SHL-P11, SHL-P12
func TestForeground(t *testing.T) {
	classes(t, func(t *testing.T, class policy.Class) {
		c := start(t, class, 10, "sh", "sleep", "setsid", "cat", "env")
		expect(t, c.run("sh", "echo $MURMUR_SESSION_ID; echo e >&2; exit 7"), map[string]any{
			"event": "done", "tool": "sh", "exit_code": 7, "signal": nil, "timed_out": false, "stderr": "e\n", "truncated": false, "leftovers": 0,
			"command": "echo $MURMUR_SESSION_ID; echo e >&2; exit 7", "binary": "/usr/bin/dash",
		})
		expect(t, c.run("sh", "kill -SEGV $$"), map[string]any{"exit_code": 139, "signal": "SIGSEGV"})
		expect(t, c.run("cat", "x y"), map[string]any{"exit_code": 1, "argv": []string{"x", "y"}, "script": nil})
		if v := c.run("env", "-u X"); strings.Contains(v["stdout"].(string), "sesame") {
			t.Errorf("%v", v)
		}
		expect(t, c.run("/usr/bin/sh", "true"), map[string]any{"event": "refused", "reason": "not-allowed"})

		// What holds a stream keeps the command alive until its time-out; what closed
		// them does not.
		began, nap := time.Now(), murtest.Naptime()
		v := c.answer(c.exec("foreground", "sh", "sleep "+nap+" & echo x", map[string]any{"timeout_secs": 2}))
		if took := time.Since(began); took < 1900*time.Millisecond || took > 15*time.Second {
			t.Errorf("ended after %s", took)
		}
		expect(t, v, map[string]any{"timed_out": true, "stdout": "x\n"})
		began = time.Now()
		v = c.run("sh", "setsid sleep "+nap+" >/dev/null 2>&1 </dev/null & echo x")
		expect(t, v, map[string]any{"exit_code": 0, "leftovers": 1, "stdout": "x\n"})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("ended after %s", took)
		}
		if left := murtest.Processes(t, nap); len(left) > 0 {
			t.Errorf("left %v", left)
		}

		for name, data := range map[string]any{"none": nil, "text": "ls", "blank": `{"command":" "}`, "number": `{"command":1}`} {
			id := c.id()
			out, errOut := spools(t)
			c.send(map[string]any{"op": "exec", "id": id, "mode": "foreground", "tool": "sh", "data": data}, out, errOut)
			v := c.answer(id)
			expect(t, v, map[string]any{"event": "refused", "reason": "input"})
			if v["tool_result"].(map[string]any)["status"] != "error" {
				t.Errorf("%s: %v", name, v)
			}
		}
		expect(t, c.answer(c.exec("foreground", "sh", "true", map[string]any{"timeout_secs": 0})), map[string]any{"reason": "input"})
		expect(t, c.answer(c.exec("sideways", "sh", "true", nil)), map[string]any{"reason": "protocol"})

		// A line that is none does not end the connection, whatever came with it.
		out, errOut := spools(t)
		c.raw([]byte("nonsense\n"), out, errOut)
		expect(t, c.answer(""), map[string]any{"event": "refused", "reason": "protocol"})
		c.raw([]byte(`{"op":"` + strings.Repeat("x", shellproto.MaxRequest) + "\"}\n"))
		expect(t, c.answer(""), map[string]any{"event": "refused", "reason": "protocol"})
		expect(t, c.run("sh", "echo on"), map[string]any{"stdout": "on\n"})
	})
}

// What ends a command, here its streams that close at last, never reaches the next one
// of the same worker. SHL-81, SHL-85, CON-281
func TestNoCommandEndsForAnother(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1") // so that the server's threads are late now and then
	classes(t, func(t *testing.T, class policy.Class) {
		c := start(t, class, 10, "sh", "sleep")
		for i := 0; i < 150 && !t.Failed(); i++ {
			expect(t, c.run("sh", "sleep 0.005 & echo x"), map[string]any{"exit_code": 0, "stdout": "x\n"})
			expect(t, c.run("sh", "echo y"), map[string]any{"exit_code": 0, "stdout": "y\n"})
		}
	})
}

// SHL-17 to SHL-19, SHL-45, SHL-P24, CON-244
func TestResolve(t *testing.T) {
	c := start(t, policy.Scoped, 10, "sh", "make", "cat")
	resolve := func(tool, command string) map[string]any {
		id := c.id()
		data, _ := json.Marshal(map[string]string{"command": command})
		c.send(map[string]any{"op": "resolve", "id": id, "tool": tool, "data": string(data)})
		return c.answer(id)
	}
	v := resolve("sh", "echo once")
	expect(t, v, map[string]any{"event": "resolved", "argv": []string{"-c", "echo once"}, "script": "echo once", "recipe": nil, "protected": nil, "binary": "/usr/bin/dash"})
	expect(t, c.answer(c.exec("foreground", "", "", map[string]any{"call": v["call"]})), map[string]any{"event": "done", "stdout": "once\n", "tool": "sh"})
	expect(t, c.answer(c.exec("foreground", "", "", map[string]any{"call": v["call"]})), map[string]any{"event": "refused", "reason": "protocol"})

	v = resolve("sh", "echo x > locked/a")
	if p, _ := v["protected"].(map[string]any); p["entry"] != "locked" || p["via"] != ">" || p["path"] != "locked/a" {
		t.Errorf("%v", v)
	}
	expect(t, c.answer(c.exec("foreground", "", "", map[string]any{"call": v["call"]})), map[string]any{"event": "refused", "reason": "protected-path"})
	expect(t, c.run("sh", "echo x > locked/a"), map[string]any{"event": "refused", "reason": "protected-path"})
	// Further keys of the input are walked too (SHL-27).
	expect(t, c.answer(c.exec("foreground", "sh", "", map[string]any{"data": `{"command":"true","dest":"locked/x"}`})), map[string]any{"reason": "protected-path"})
	expect(t, resolve("nothing", "x"), map[string]any{"event": "refused", "reason": "not-allowed"})
}

// SHL-15, SHL-88, SHL-P32, CON-281, CON-P135
func TestCommandsAtOnce(t *testing.T) {
	classes(t, func(t *testing.T, class policy.Class) {
		c := start(t, class, 10, "sh", "sleep", "kill", "cat")
		began := time.Now()
		var idsOf []string
		for range 6 {
			idsOf = append(idsOf, c.exec("foreground", "sh", "sleep 1; echo $$", nil))
		}
		for _, id := range idsOf {
			expect(t, c.answer(id), map[string]any{"exit_code": 0})
		}
		if took := time.Since(began); took > 4500*time.Millisecond {
			t.Errorf("six of a second took %s", took)
		}
		nap := murtest.Naptime()
		id := c.exec("foreground", "sleep", nap, nil)
		eventually(t, "it runs", func() bool { return len(murtest.Processes(t, nap)) > 0 })
		expect(t, c.run("sh", "kill -9 -1; cat /proc/[0-9]*/cmdline"), map[string]any{"event": "done"})
		if len(murtest.Processes(t, nap)) == 0 {
			t.Error("another command was hit")
		}
		k := c.id()
		c.send(map[string]any{"op": "kill", "id": k, "target": id})
		expect(t, c.answer(k), map[string]any{"event": "killed", "target": id, "found": true})
		expect(t, c.answer(id), map[string]any{"event": "done", "exit_code": 143, "signal": "SIGTERM"})
		c.send(map[string]any{"op": "kill", "id": k, "target": "nobody"})
		expect(t, c.answer(k), map[string]any{"event": "killed", "found": false})
	})
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// SHL-92 to SHL-104, SHL-P15, SHL-P17
func TestDemotion(t *testing.T) {
	classes(t, func(t *testing.T, class policy.Class) {
		c := start(t, class, 1, "sh", "sleep", "head")
		// It goes on when its log is there, for what came before is not in order (SHL-101).
		text := "echo before; echo err >&2; while [ ! -e go ]; do sleep 0.05; done; echo after; exit 4"
		id := c.exec("demotable", "sh", text, nil)
		expect(t, c.answer(id), map[string]any{"event": "demoted", "command": text, "binary": "/usr/bin/dash"})
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		fmt.Fprintln(log, "Command: sh -c ...")
		o := c.id()
		c.send(map[string]any{"op": "outstanding", "id": o})
		list := c.answer(o)["commands"].([]any)
		if len(list) != 1 || list[0].(map[string]any)["id"] != id || list[0].(map[string]any)["running_ms"].(float64) < 900 {
			t.Errorf("outstanding: %v", list)
		}
		c.send(map[string]any{"op": "attach", "id": id}, log)
		expect(t, c.answer(id), map[string]any{"event": "attached"})
		expect(t, c.run("sh", "echo meanwhile; : >go"), map[string]any{"stdout": "meanwhile\n"})
		expect(t, c.answer(id+" completed"), map[string]any{"event": "completed", "exit_code": 4, "signal": nil, "output_bytes": 17, "resource_limit": nil, "error": nil})
		logged, err := os.ReadFile(log.Name())
		if err != nil || string(logged) != "Command: sh -c ...\nbefore\nerr\nafter\n\nExit code: 4\n" {
			t.Errorf("log %q, %v", logged, err)
		}
		// What ends within the grace is done, and what can not start is refused.
		expect(t, c.answer(c.exec("demotable", "sh", "exit 3", nil)), map[string]any{"event": "done", "exit_code": 3})
		c.send(map[string]any{"op": "outstanding", "id": o})
		if list := c.answer(o)["commands"].([]any); len(list) != 0 {
			t.Errorf("outstanding: %v", list)
		}
	})
}

// SHL-92, SHL-P16: with a grace of 0 every command is demoted or done, never both,
// and each demoted one completes.
func TestEveryCommandHasOneEnd(t *testing.T) {
	c := start(t, policy.Scoped, 0, "sh", "true")
	for round := range 10 {
		var idsOf []string
		for range 20 {
			idsOf = append(idsOf, c.exec("demotable", "true", "x", nil))
		}
		for _, id := range idsOf {
			v := c.answer(id)
			switch v["event"] {
			case "done":
			case "demoted":
				log, err := os.Create(filepath.Join(t.TempDir(), fmt.Sprint("log", round, id)))
				if err != nil {
					t.Fatal(err)
				}
				c.send(map[string]any{"op": "attach", "id": id}, log)
				log.Close()
				expect(t, c.answer(id), map[string]any{"event": "attached"})
				expect(t, c.answer(id+" completed"), map[string]any{"exit_code": 0})
			default:
				t.Fatalf("%v", v)
			}
		}
	}
}

// SHL-103
func TestTooManyDemoted(t *testing.T) {
	c := start(t, policy.Scoped, 0, "sleep")
	for range maxDemoted {
		expect(t, c.answer(c.exec("demotable", "sleep", "600", nil)), map[string]any{"event": "demoted"})
	}
	v := c.answer(c.exec("demotable", "sleep", "0.2", nil))
	if note, _ := v["runtime_note"].(string); v["event"] != "done" || !strings.Contains(note, "32") {
		t.Errorf("%v", v)
	}
}

// SHL-120 to SHL-126, CON-P42
func TestNative(t *testing.T) {
	classes(t, func(t *testing.T, class policy.Class) {
		c := start(t, class, 10, "sh")
		id := c.id()
		c.send(map[string]any{"op": "native", "id": id, "name": "native", "input": map[string]any{"data": "x", "log_path": nil}})
		v := c.answer(id)
		expect(t, v, map[string]any{"event": "done", "tool": "native", "exit_code": 0})
		r, _ := v["tool_result"].(map[string]any)
		expect(t, r, map[string]any{"status": "passed", "data": `{"data":"x","log_path":null}`, "summary": "none"})
		c.send(map[string]any{"op": "native", "id": id, "name": "other", "input": map[string]any{}})
		expect(t, c.answer(id), map[string]any{"event": "refused", "reason": "not-allowed"})
		c.send(map[string]any{"op": "native", "id": id, "name": "native"})
		expect(t, c.answer(id), map[string]any{"event": "refused", "reason": "input"})
	})
}

// SHL-16, SHL-111, SHL-114, CON-194, CON-196
func TestLatchAndShutdown(t *testing.T) {
	c, cmd := serve(t, staged(t, policy.Scoped, 0, "sh", "sleep"))
	c.answer("")
	nap := murtest.Naptime()
	id := c.exec("demotable", "sleep", nap, nil)
	expect(t, c.answer(id), map[string]any{"event": "demoted"})
	c.send(map[string]any{"op": "latch", "bytes": 11, "limit": 10})
	v := c.run("sh", "true")
	if m, _ := v["message"].(string); v["reason"] != "workdir-size" || !strings.Contains(m, "11 bytes") || !strings.Contains(m, "= 10") {
		t.Errorf("%v", v)
	}
	s := c.id()
	began := time.Now()
	c.send(map[string]any{"op": "shutdown", "id": s})
	expect(t, c.answer(id+" completed"), map[string]any{"exit_code": 143})
	expect(t, c.answer(s), map[string]any{"event": "bye"})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the end took %s", took)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if left := murtest.Processes(t, nap); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// SHL-16, SHL-90, SHL-P30, SHL-P34: without its client the server ends, and without
// the server everything does.
func TestNobodyOutlivesTheSession(t *testing.T) {
	classes(t, func(t *testing.T, class policy.Class) {
		for _, how := range []string{"client", "server"} {
			c, cmd := serve(t, staged(t, class, 10, "sh", "sleep", "setsid"))
			c.answer("")
			nap := murtest.Naptime()
			for range 3 {
				c.exec("foreground", "sh", "setsid sleep "+nap+" & sleep "+nap, nil)
			}
			eventually(t, "they run", func() bool { return len(murtest.Processes(t, "sleep\x00"+nap)) >= 6 })
			if how == "client" {
				_ = c.conn.Close()
			} else {
				_ = cmd.Process.Kill()
			}
			if !murtest.Within(2*time.Second, func() bool { return len(murtest.Processes(t, nap)) == 0 }) {
				t.Errorf("2 s after the end of the %s are left %v", how, murtest.Processes(t, nap))
			}
			_ = cmd.Wait()
		}
	})
}

// SHL-22, SHL-P29, CON-129, CON-165
func TestRootThatCanNotBeBuilt(t *testing.T) {
	doc := staged(t, policy.Sealed, 10, "sh")
	doc.Policy.HostPaths = []string{filepath.Join(doc.Directories.Work.Path, "..", "gone")}
	c, cmd := serve(t, doc)
	c.answer("")
	v := c.run("sh", "touch ran")
	expect(t, v, map[string]any{"event": "fatal", "code": "E-RUN-014"})
	if _, err := os.Stat(filepath.Join(doc.Directories.Work.Path, "ran")); err == nil {
		t.Error("the command ran")
	}
	expect(t, c.run("sh", "true"), map[string]any{"event": "refused", "reason": "shutting-down"})
	_ = c.conn.Close()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("ended with %v", err)
	}
}

// CON-5, CON-49, CON-P30, CON-P126
func TestAnotherHostOrFolder(t *testing.T) {
	doc := staged(t, policy.Scoped, 10, "sh")
	doc.HostProbe.BootID = "another"
	c, _ := serve(t, doc)
	expect(t, c.answer(""), map[string]any{"event": "fatal", "code": "E-STG-104"})

	doc = staged(t, policy.Scoped, 10, "sh")
	moved := doc.Directories.Work.Path + ".moved"
	if err := os.Rename(doc.Directories.Work.Path, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(doc.Directories.Work.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	c, _ = serve(t, doc)
	expect(t, c.answer(""), map[string]any{"event": "fatal", "code": "E-STG-102"})
}

// SHL-8
func TestFacts(t *testing.T) {
	f, err := ReadFacts(strings.NewReader(`{"scope":{"version":1,"paths":{"pids":"/x"}},"runtime_env":{"MURMUR_CAPSULE_URL":"u"}}`))
	if err != nil || f.Scope.Paths["pids"] != "/x" || f.RuntimeEnv["MURMUR_CAPSULE_URL"] != "u" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, text := range []string{"", "[]", `{"runtime_env":{"LD_PRELOAD":"x"}}`, `{"x":"` + strings.Repeat("x", shellproto.MaxRequest) + `"}`} {
		if _, err := ReadFacts(strings.NewReader(text)); err == nil {
			t.Errorf("%.40q was read", text)
		}
	}
}
