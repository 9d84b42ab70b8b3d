//go:build !linux || !cgo

package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"github.com/mur-capsules/mur/lib/murtest"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func start(t *testing.T) *Process {
	t.Helper()
	p, err := Start(context.Background(), Namespaces{}, Setup{Trees: []Tree{{Path: t.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p
}

// command runs a script of sh; read returns what it wrote.
func command(t *testing.T, script string) (c Command, read func() string) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close(); null.Close() })
	c = Command{Program: sh, Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "ONE=1"}, Stdin: null, Stdout: w, Stderr: w}
	return c, func() string {
		w.Close()
		text, _ := io.ReadAll(r)
		return string(text)
	}
}

func run(t *testing.T, p *Process, c Command) Result {
	t.Helper()
	if err := p.Worker.Start(c); err != nil {
		t.Fatal(err)
	}
	res, err := p.Wait(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// CON-7
func TestConfiningSetUpIsRefused(t *testing.T) {
	for name, s := range map[string]Setup{
		"landlock": {LandlockABI: 1}, "rules": {Inside: []InsideRule{{}}}, "filter": {Filter: []bpf.Instruction{bpf.RetConstant{}}},
		"mounts": {PrivateMounts: true}, "proc": {PrivateProc: true}, "user": {User: &User{}}, "nested": {Nested: true},
	} {
		s.Trees = []Tree{{Path: t.TempDir()}}
		if _, err := Start(context.Background(), Namespaces{}, s); !errors.Is(err, ErrNoConfinement) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CON-289: in the work folder, with its own environment and status alone
func TestCommand(t *testing.T) {
	p := start(t)
	c, read := command(t, `pwd -P; echo "$ONE$HOME$$"; ps -o sid= -p $$ 2>/dev/null; exit 3`)
	res := run(t, p, c)
	lines := strings.Fields(read())
	if res.Status.ExitStatus() != 3 || res.Leftovers != 0 || res.Survivors {
		t.Errorf("%+v", res)
	}
	if len(lines) < 2 || !strings.HasSuffix(lines[0], p.dir[strings.LastIndexByte(p.dir, '/'):]) || !strings.HasPrefix(lines[1], "1") {
		t.Fatalf("it printed %q", lines)
	}
	if len(lines) > 2 && lines[2] != lines[1][1:] {
		t.Errorf("the command is in session %s and not in one of its own", lines[2])
	}
}

// CON-169, CON-171, CON-283
func TestLimitsBindFromTheStart(t *testing.T) {
	p := start(t)
	n, cpu := uint64(37), uint64(5)
	c, read := command(t, `ulimit -n; ulimit -Hn; ulimit -t; ulimit -c; ulimit -n 40 2>/dev/null && echo raised`)
	c.Limits = Limits{OpenFiles: &n, CPUSeconds: &cpu}
	run(t, p, c)
	if got := strings.Fields(read()); strings.Join(got, " ") != "37 37 5 0" {
		t.Errorf("limits are %q", got)
	}
}

func TestNoOtherDescriptors(t *testing.T) {
	p := start(t)
	f, err := os.CreateTemp(t.TempDir(), "kept")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// As inherited from whoever started this program.
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	c, read := command(t, `for n in 3 4 5 6 7 8 9; do if (: <&$n) 2>/dev/null; then echo $n; fi; done`)
	run(t, p, c)
	if got := read(); got != "" {
		t.Errorf("the command has descriptors %q", got)
	}
}

// CON-282
func TestLeftoversEnd(t *testing.T) {
	p := start(t)
	nap := murtest.Naptime()
	c, _ := command(t, `sleep `+nap+` & exit 0`)
	if res := run(t, p, c); res.Leftovers != 1 || res.Survivors {
		t.Errorf("%+v", res)
	}
	if left := murtest.Processes(t, nap); len(left) > 0 {
		t.Errorf("processes %v live on", left)
	}
	c, read := command(t, `echo again`) // the worker goes on
	run(t, p, c)
	if got := read(); got != "again\n" {
		t.Errorf("then it printed %q", got)
	}
}

// SHL-79
func TestLinger(t *testing.T) {
	p := start(t)
	nap := murtest.Naptime()
	c, _ := command(t, `sleep `+nap+` & exit 7`)
	first := make(chan Result, 1)
	c.Linger = func(r Result) { first <- r }
	if err := p.Worker.Start(c); err != nil {
		t.Fatal(err)
	}
	go func() {
		if r := <-first; r.Status.ExitStatus() != 7 {
			t.Errorf("its first process ended with %v", r.Status)
		}
		_ = p.Finish()
	}()
	if res, err := p.Wait(context.Background()); err != nil || res.Status.ExitStatus() != 7 {
		t.Errorf("%+v, %v", res, err)
	}
	if left := murtest.Processes(t, nap); len(left) > 0 {
		t.Errorf("processes %v live on", left)
	}
}

func TestContextEndsTheCommand(t *testing.T) {
	p := start(t)
	c, _ := command(t, `sleep `+murtest.Naptime())
	if err := p.Worker.Start(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if res, err := p.Wait(ctx); err != nil || res.Status.Signal() != syscall.SIGKILL {
		t.Errorf("%+v, %v", res, err)
	}
}

// CON-284, CON-285
func TestNotStarted(t *testing.T) {
	p := start(t)
	c, _ := command(t, `:`)
	for program, want := range map[string]syscall.Errno{"/nowhere": syscall.ENOENT, os.TempDir(): syscall.EACCES} {
		c.Program = program
		err := p.Worker.Start(c)
		var step *StepError
		if !errors.As(err, &step) || step.Step != "execve" || step.Errno != want {
			t.Errorf("%s: %v", program, err)
		}
	}
	c, read := command(t, `echo again`)
	run(t, p, c)
	if got := read(); got != "again\n" {
		t.Errorf("then it printed %q", got)
	}
}
