package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// agency is an agent capsule whose provider is this program.
type agency struct {
	w       *workshop
	dir     string
	server  *http.Server
	arrived chan time.Time // of each request
	answer  func(http.ResponseWriter, *http.Request)
}

const agentManifest = `name: idle
version: 0.1.0
artifacts:
  - name: local/openai
    version: 0.1.0
    runtime: driver
    gateway: {endpoint: "http://%s/v1", keyless: true}
inference:
  model: none
  driver: {artifact: local/openai}
`

// newAgency builds the drivers and starts the provider.
func (w *workshop) newAgency(ctx context.Context) (*agency, error) {
	if _, err := w.output(ctx, nil, "sh", filepath.Join(w.root, "drivers", "build.sh")); err != nil {
		return nil, err
	}
	a := &agency{w: w, dir: filepath.Join(w.dir, "agent"), arrived: make(chan time.Time, 64)}
	a.answer = func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	}
	if err := os.MkdirAll(filepath.Join(a.dir, "work"), 0o755); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a.server = &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		a.arrived <- time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		a.answer(rw, r)
	})}
	go func() { _ = a.server.Serve(l) }()
	manifest := filepath.Join(a.dir, "murmur.yaml")
	if err := os.WriteFile(manifest, fmt.Appendf(nil, agentManifest, l.Addr()), 0o644); err != nil {
		return nil, err
	}
	archive := filepath.Join(w.root, "drivers", "build", "openai-0.1.0.mur.zip")
	cmd := w.command(ctx, w.bin("mur-lock"), "install", archive)
	cmd.Dir = a.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mur-lock install: %w\n%s", err, out)
	}
	return a, nil
}

func (a *agency) close() { _ = a.server.Close() }

// launch stages a session and starts it.
func (a *agency) launch(ctx context.Context) (*exec.Cmd, error) {
	stage := a.w.command(ctx, a.w.bin("mur-stage"), "--workdir", "work", "--task", "wait")
	stage.Dir = a.dir
	document, err := stage.Output()
	if err != nil {
		return nil, fmt.Errorf("mur-stage: %w", err)
	}
	cmd := a.w.command(ctx, a.w.bin("mur-launch"))
	cmd.Stdin = bytes.NewReader(document)
	return cmd, nil
}

// firstRequest is P11: from the start of mur-launch to the arrival of its first
// request, everything compiled before.
func firstRequest(ctx context.Context, w *workshop) ([]Row, error) {
	a, err := w.newAgency(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close()
	var took []float64
	for i := range 16 {
		cmd, err := a.launch(ctx)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		select {
		case at := <-a.arrived:
			if i > 0 { // the first one compiled
				took = append(took, float64(at.Sub(begin).Microseconds())/1000)
			}
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			return nil, fmt.Errorf("no request arrived")
		}
		_ = cmd.Wait() // the provider refuses, and so the task fails
	}
	slices.Sort(took)
	warm := took[len(took)/2]
	nothing, err := median(15, func() error {
		_, err := w.output(ctx, nil, w.bin("mur-launch"), "--version")
		return err
	})
	if err != nil {
		return nil, err
	}
	peer, r := ratio(warm, nothing)
	return []Row{{ID: "P11", What: "start of mur-launch to the first request of its driver, warm", Value: warm, Unit: "ms",
		Peer: "mur-launch --version", PeerValue: peer, Ratio: r, Goal: "at most 30 ms", OK: judged(warm <= 30)}}, nil
}

// idleMemory is P9: what an agent session has of memory for itself alone while
// its provider lets it wait, for one and for 20 at once. Pages of the program's
// file are the page cache's and not counted. The driver's machine code is, and
// printed beside.
func idleMemory(ctx context.Context, w *workshop) ([]Row, error) {
	if _, err := os.Stat("/proc/self/smaps"); err != nil {
		return []Row{{ID: "P9", What: "memory of an idle agent session", Unit: "MiB", Peer: "this host has no /proc/self/smaps", Goal: "at most 15 MiB"}}, nil
	}
	a, err := w.newAgency(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close()
	a.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	syscall.Sync() // pages of a program that was just built count as its own until written
	var rows []Row
	for _, n := range []int{1, 20} {
		own, code, err := a.idle(ctx, n)
		if err != nil {
			return nil, err
		}
		peer, r := ratio(own, code)
		rows = append(rows, Row{ID: "P9", What: fmt.Sprintf("memory of its own of an idle agent session, %d at once", n), Value: own, Unit: "MiB",
			Peer: "of that the driver's machine code", PeerValue: peer, Ratio: r, Goal: "at most 15 MiB", OK: judged(own <= 15)})
	}
	return rows, nil
}

// idle runs n sessions until all wait, and returns the means of what each has to
// itself, and of its generated code.
func (a *agency) idle(ctx context.Context, n int) (own, code float64, err error) {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	var pids []int
	for range n {
		cmd, err := a.launch(ctx)
		if err != nil {
			return 0, 0, err
		}
		if err := cmd.Start(); err != nil {
			return 0, 0, err
		}
		pids = append(pids, cmd.Process.Pid)
		wg.Go(func() { _ = cmd.Wait() })
	}
	for range n {
		select {
		case <-a.arrived:
		case <-time.After(60 * time.Second):
			return 0, 0, fmt.Errorf("not all of %d sessions asked", n)
		}
	}
	time.Sleep(3 * time.Second) // until what was needed to start has been given back
	for _, pid := range pids {
		o, c, err := privateMiB(pid)
		if err != nil {
			return 0, 0, err
		}
		own, code = own+o/float64(n), code+c/float64(n)
	}
	return own, code, nil
}

// privateMiB is what a process has written and shares with nobody, and how much of
// that is code.
func privateMiB(pid int) (all, code float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return 0, 0, err
	}
	executable := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 5 && !strings.HasSuffix(fields[0], ":"):
			executable = strings.Contains(fields[1], "x")
		case len(fields) == 3 && fields[0] == "Private_Dirty:":
			kib, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				return 0, 0, err
			}
			if all += kib / 1024; executable {
				code += kib / 1024
			}
		}
	}
	return all, code, nil
}
