//go:build linux && cgo

// Package holder keeps a session's network namespace (CON-204). The holder is
// the importing program re-executed under the name mur-holder: before its Go
// runtime starts it has entered a network namespace of its own, owned by a user
// namespace unless it is root. It opens the egress sockets there, hands them out,
// starts the scoped workers, which share the namespace, and ends when its client
// goes. It holds no policy and sees no command.
package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/egress"
	"github.com/mur-capsules/mur/lib/confine/packet"
	"github.com/mur-capsules/mur/lib/confine/worker"
)

// control is the descriptor of the holder's socket.
const control = 3

// request and reply are the messages between client and holder.
type request struct {
	Ports   []int `json:"ports,omitempty"`   // open: the ports to listen on
	Worker  bool  `json:"worker,omitempty"`  // start a worker; descriptors: its socket, then its cgroup if Cgroup
	Private bool  `json:"private,omitempty"` // the worker's own mount, IPC and UTS namespaces
	PID     bool  `json:"pid,omitempty"`     // its own PID namespace
	Cgroup  bool  `json:"cgroup,omitempty"`
	// Groups are cgroup directories to empty and remove when the client has died.
	Groups []string `json:"groups,omitempty"`
}

type reply struct {
	IPv6  bool   `json:"ipv6,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Error string `json:"error,omitempty"`
}

// Main runs the holder if this process is one, and then never returns. A program
// that starts holders calls it first thing in main.
func Main() {
	if os.Args[0] != worker.HolderName {
		return
	}
	conn, err := packet.From(control)
	if err != nil || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		os.Exit(126)
	}
	groups := serve(conn)
	workers.ends.Wait()
	clear(groups)
	os.Exit(0)
}

// serve answers requests until the client has gone, and returns the groups it
// left.
func serve(conn *packet.Conn) (groups []string) {
	buf := make([]byte, 4096)
	for {
		n, fds, err := conn.Receive(buf)
		if err != nil {
			return groups
		}
		r, out, left, err := answer(buf[:n], fds)
		groups = append(groups, left...)
		if err != nil {
			r.Error = err.Error()
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
		send(conn, r, out)
	}
}

// answer does what one request asks; the files go with the reply.
func answer(msg []byte, fds []int) (r reply, out []*os.File, groups []string, err error) {
	var q request
	if err := json.Unmarshal(msg, &q); err != nil {
		return r, nil, nil, err
	}
	switch {
	case q.Worker:
		r.PID, err = startWorker(q, fds)
		return r, nil, nil, err
	case len(q.Groups) > 0:
		return r, nil, q.Groups, nil
	}
	o, err := egress.Open(q.Ports)
	r.IPv6 = o.IPv6
	return r, o.Files, nil, err
}

// clearTime is how long the processes of a dead client may take to end.
const clearTime = 5 * time.Second

// clear removes groups with the leaves below them, and kills what is in them: only
// when its client was killed does a holder live to do so.
func clear(groups []string) {
	for end := time.Now().Add(clearTime); len(groups) > 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		groups = slices.DeleteFunc(groups, func(dir string) bool {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return errors.Is(err, os.ErrNotExist)
			}
			for _, e := range entries {
				if e.IsDir() {
					killGroup(filepath.Join(dir, e.Name()))
					_ = os.Remove(filepath.Join(dir, e.Name()))
				}
			}
			return os.Remove(dir) == nil
		})
	}
}

func killGroup(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func send(conn *packet.Conn, r reply, files []*os.File) {
	text, err := json.Marshal(r)
	if err != nil {
		os.Exit(126)
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	if conn.Send(text, fds...) != nil {
		os.Exit(0)
	}
	for _, f := range files {
		_ = f.Close()
	}
}

func startWorker(q request, fds []int) (int, error) {
	if want := 1 + map[bool]int{true: 1}[q.Cgroup]; len(fds) != want {
		return 0, fmt.Errorf("%d descriptors for a worker, want %d", len(fds), want)
	}
	dup, err := unix.FcntlInt(uintptr(fds[0]), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return 0, err
	}
	theirs := os.NewFile(uintptr(dup), "worker")
	defer theirs.Close()
	ns := worker.Namespaces{Private: q.Private, PID: q.PID, CgroupFD: -1}
	if q.Cgroup {
		ns.CgroupFD = fds[1]
	}
	proc, err := worker.Spawn(theirs, ns)
	if err != nil {
		return 0, err
	}
	workers.add(proc.Pid)
	workers.ends.Go(func() { // it ends with its client's socket
		_, _ = proc.Wait()
		workers.remove(proc.Pid)
		if !q.PID {
			workers.endOrphans()
		}
	})
	return proc.Pid, nil
}

// workers are the living ones.
var workers = living{pids: map[int]bool{}}

type living struct {
	mu   sync.Mutex
	pids map[int]bool
	ends sync.WaitGroup
}

func (l *living) add(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pids[pid] = true
}

func (l *living) remove(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pids, pid)
}

// orphanTime is how long processes of a dead worker may take to end.
const orphanTime = 2 * time.Second

// endOrphans ends what a worker without a PID namespace left when it died itself,
// perhaps by its own command's hand: the holder is the subreaper of all of it, and
// out of reach of its signals.
func (l *living) endOrphans() {
	for end := time.Now().Add(orphanTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		found := false
		files, _ := filepath.Glob("/proc/self/task/[0-9]*/children")
		for _, f := range files {
			text, _ := os.ReadFile(f)
			for _, word := range strings.Fields(string(text)) {
				pid, err := strconv.Atoi(word)
				l.mu.Lock()
				worker := l.pids[pid]
				l.mu.Unlock()
				if err != nil || worker {
					continue
				}
				found = true
				_ = unix.Kill(pid, unix.SIGKILL)
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
		if !found {
			return
		}
	}
}

// Holder is the client's side.
type Holder struct {
	mu      sync.Mutex // one request at a time
	conn    *packet.Conn
	proc    *os.Process
	orphans bool // a worker may leave processes to the holder
}

// Start starts a holder with an empty environment and opens the egress sockets
// of the ports in its namespace. The error of the namespaces is a
// *worker.StepError. When ctx ends before Start returns, the holder ends.
func Start(ctx context.Context, ports []int) (*Holder, egress.Sockets, error) {
	conn, theirs, err := packet.Pair()
	if err != nil {
		return nil, egress.Sockets{}, err
	}
	defer theirs.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{worker.HolderName}, Env: []string{}, ExtraFiles: []*os.File{theirs}, Stderr: os.Stderr}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, egress.Sockets{}, fmt.Errorf("start holder: %w", err)
	}
	theirs.Close() // or the holder's death would not be seen
	h := &Holder{conn: conn, proc: cmd.Process}
	stop := conn.Expire(ctx)
	r, files, err := h.ask(request{Ports: ports})
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		h.Stop()
		return nil, egress.Sockets{}, err
	}
	s, err := egress.From(files, len(ports), r.IPv6)
	if err != nil {
		h.Stop()
		return nil, egress.Sockets{}, err
	}
	return h, s, nil
}

// ask sends one request and waits for its reply.
func (h *Holder) ask(q request, fds ...int) (reply, []*os.File, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, err := json.Marshal(q)
	if err != nil {
		return reply{}, nil, err
	}
	var r reply
	buf := make([]byte, 4096)
	if err := h.conn.Send(text, fds...); err != nil && !errors.Is(err, packet.ErrGone) {
		return r, nil, err
	}
	// A holder that could not enter its namespaces said so and ended.
	n, got, err := h.conn.Receive(buf)
	if err != nil {
		return r, nil, err
	}
	if failure, ok := worker.Failure(buf[:n]); ok {
		return r, nil, failure
	}
	files := make([]*os.File, len(got))
	for i, fd := range got {
		files[i] = os.NewFile(uintptr(fd), "socket")
	}
	if err := json.Unmarshal(buf[:n], &r); err != nil {
		return r, files, err
	}
	if r.Error != "" {
		return r, files, errors.New(r.Error)
	}
	return r, files, nil
}

// Worker starts a scoped worker in the holder's network namespace and sets it up.
// cgroup is an open v2 cgroup directory to start it in, or nil. started, if not
// nil, is called with its process id while it sets itself up, which may take as
// long. Closing the worker ends it.
func (h *Holder) Worker(ctx context.Context, cgroup *os.File, s worker.Setup, started func(pid int)) (*worker.Worker, int, error) {
	conn, theirs, err := packet.Pair()
	if err != nil {
		return nil, 0, err
	}
	defer theirs.Close()
	fds := []int{int(theirs.Fd())}
	if cgroup != nil {
		fds = append(fds, int(cgroup.Fd()))
	}
	h.mu.Lock()
	h.orphans = h.orphans || !s.PrivateProc
	h.mu.Unlock()
	r, _, err := h.ask(request{Worker: true, Private: s.PrivateMounts, PID: s.PrivateProc, Cgroup: cgroup != nil}, fds...)
	if err != nil {
		conn.Close()
		return nil, 0, fmt.Errorf("start worker: %w", err)
	}
	theirs.Close()
	var wg sync.WaitGroup
	if started != nil {
		wg.Go(func() { started(r.PID) })
	}
	w, err := worker.Attach(ctx, conn, s)
	wg.Wait()
	if err != nil {
		return nil, 0, err
	}
	return w, r.PID, nil
}

// Bequeath names a scope's directories, to be emptied and removed by the holder
// should its client die without having done so.
func (h *Holder) Bequeath(groups []string) error {
	_, _, err := h.ask(request{Groups: groups})
	return err
}

// PID is the holder's process id.
func (h *Holder) PID() int { return h.proc.Pid }

// Stop ends the holder and waits for it. Workers end with their own sockets, which
// are closed before.
func (h *Holder) Stop() {
	_ = h.conn.Close()
	if h.orphans {
		// It ends by itself when nothing is left that a worker left.
		late := time.AfterFunc(orphanTime+time.Second, func() { _ = h.proc.Kill() })
		defer late.Stop()
	} else {
		_ = h.proc.Kill()
	}
	_, _ = h.proc.Wait()
}
