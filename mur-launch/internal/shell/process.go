package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/shellproto"
)

// hostNames are what a command may get of the host's environment (SHL-46).
var hostNames = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "CARGO_HOME", "RUSTUP_HOME", "TERM"}

// Environment is what mur-shell is started with: what a command could get of the
// host's variables, and nothing a credential could be in (SHL-55).
func Environment(environ []string, p policy.Policy) []string {
	out := []string{}
	rules := p.Env()
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(hostNames, name) && !slices.Contains(p.ShellBaselineEnv, name) {
			continue
		}
		if _, removed := rules.Removes(name); !removed {
			out = append(out, kv)
		}
	}
	return out
}

// process is a running mur-shell.
type process struct {
	cmd    *exec.Cmd
	stderr *lines
	exited chan struct{} // closed once it has been waited for
	err    error         // of Wait
}

// start starts mur-shell for a staged document and hands it the facts. Its
// standard error goes to note, a line at a time.
func start(program, staged string, environ []string, f shellproto.Facts, control *os.File, note func(string)) (*process, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	factsIn, factsOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer factsIn.Close()
	defer factsOut.Close()
	p := &process{stderr: &lines{note: note}, exited: make(chan struct{})}
	p.cmd = exec.Command(program, "serve", "--staged", staged, "--control-fd", "3", "--facts-fd", "4")
	p.cmd.Env, p.cmd.Dir = environ, "/"
	p.cmd.Stderr = p.stderr
	p.cmd.ExtraFiles = []*os.File{control, factsIn}
	p.cmd.WaitDelay = time.Second // a process that kept the pipe does not hold the end up
	// A signal of the terminal is for mur-launch, which ends the session in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		p.stderr.flush()
		close(p.exited)
	}()
	// The facts are shorter than a pipe holds; a reader that has gone is told of by
	// the control socket.
	if _, err := factsOut.Write(text); err != nil && !errors.Is(err, syscall.EPIPE) {
		p.kill()
		return nil, fmt.Errorf("hand over the launch facts: %w", err)
	}
	return p, nil
}

// kill ends it and waits.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// scopeOf says where a scope is, nil for none.
func scopeOf(s *cgroup.Scope) *shellproto.Scope {
	if s == nil {
		return nil
	}
	return &shellproto.Scope{Version: s.Version(), Paths: s.Dirs()}
}

// ready waits until mur-shell has prepared the session and compares its version.
func (p *process) ready(ctx context.Context, c *conn, program string) error {
	stop := context.AfterFunc(ctx, c.close)
	e, err := c.next()
	if !stop() {
		return context.Cause(ctx)
	}
	switch {
	case err == nil && e.Event == shellproto.EventFatal:
		return fatalError(e)
	case err != nil || e.Event != shellproto.EventReady:
		select {
		case <-p.exited:
		case <-time.After(time.Second):
		}
		why := p.stderr.last()
		if why == "" && err != nil && !errors.Is(err, io.EOF) {
			why = err.Error()
		}
		if why == "" {
			why = "it said nothing"
		}
		return diag.Errorf("E-RUN-014", "%s could not prepare the session: %s", program, why).
			In("launch").Name("step", "start mur-shell").Name("reason", why)
	case e.Version != cli.Version:
		return cli.OtherShell(program, e.Version, cli.Version)
	}
	return nil
}

// lines passes on text a line at a time and remembers the last one, or the last
// that is an error.
type lines struct {
	note func(string)

	mu   sync.Mutex
	rest []byte
	prev string
}

// maxNote bounds a line of the log.
const maxNote = 4096

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, complete := bytes.Cut(l.rest, []byte("\n"))
		if !complete && len(l.rest) < maxNote {
			return len(p), nil
		}
		if !complete {
			line, rest = l.rest[:maxNote], l.rest[maxNote:]
		}
		l.say(line)
		l.rest = append([]byte(nil), rest...)
	}
}

func (l *lines) say(line []byte) {
	if text := strings.ToValidUTF8(strings.TrimSpace(string(line)), "\ufffd"); text != "" {
		if strings.HasPrefix(text, "error") || !strings.HasPrefix(l.prev, "error") {
			l.prev = text
		}
		l.note(text)
	}
}

func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(l.rest)
	l.rest = nil
}

func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.prev
}
