package shell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
)

// bench is a Runner over the fake, with folders of its own.
type bench struct {
	*Runner
	dir string

	mu    sync.Mutex
	overs []error
	notes []string
}

func options(t *testing.T, b *bench, capsule string) Options {
	t.Helper()
	b.dir = t.TempDir()
	root := func(name string) *workfs.Root {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Join(path, session.LogsDir), 0o700); err != nil {
			t.Fatal(err)
		}
		r, err := workfs.OpenRoot(path, workfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &session.Document{}
	d.Policy.ShellBaselineEnv = []string{"EDITOR", "GITHUB_TOKEN"}
	d.Policy.Limits.DeadlineSeconds = 600
	d.Directories.Session.Path = b.dir
	return Options{
		Program: self, Document: d, Variables: map[string]string{"MURMUR_CAPSULE_NAME": capsule},
		Environ: []string{"PATH=/bin", "EDITOR=ed", "GITHUB_TOKEN=secret", "OPENAI_API_KEY=secret", "OTHER=x"},
		Session: root("session"), Records: root("records"), Now: func() time.Time { return time.UnixMilli(1234) },
		Note: func(line string) { b.mu.Lock(); b.notes = append(b.notes, line); b.mu.Unlock() },
		Over: func(err error) { b.mu.Lock(); b.overs = append(b.overs, err); b.mu.Unlock() },
	}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{}
	r, err := Start(context.Background(), options(t, b, "demo"))
	if err != nil {
		t.Fatal(err)
	}
	b.Runner = r
	t.Cleanup(func() { _ = r.Close() })
	return b
}

func (b *bench) over() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]error(nil), b.overs...)
}

// SHL-7, SHL-8, SHL-14, SHL-22: what does not come to be ready refuses the launch.
func TestStartRefuses(t *testing.T) {
	for capsule, want := range map[string]struct {
		code diag.Code
		says string
	}{
		"old":   {"E-IO-003", `version "0.0.1"`},
		"dead":  {"E-RUN-014", "could not prepare the session: error[E-RUN-014]: the sealed root could not be built"},
		"fatal": {"E-RUN-012", "no leaf"},
	} {
		b := &bench{}
		r, err := Start(context.Background(), options(t, b, capsule))
		if err == nil {
			r.Close()
		}
		if diag.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %v", capsule, err)
		}
		if len(b.over()) > 0 {
			t.Errorf("%s: a refused launch ends a session: %v", capsule, b.over())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	b := &bench{}
	if _, err := Start(ctx, options(t, b, "mute")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("mute: %v", err)
	}
	o := options(t, b, "demo")
	o.Program = "/nowhere/mur-shell"
	if _, err := Start(context.Background(), o); diag.CodeOf(err) != "E-RUN-014" {
		t.Errorf("no program: %v", err)
	}
}

// SHL-55: nothing a credential could be in reaches mur-shell.
func TestEnvironmentOfMurShell(t *testing.T) {
	b := newBench(t)
	d, err := b.Command(context.Background(), "env", `{"command":"x"}`)
	if err != nil || d.Line == nil || d.Note != "noted" {
		t.Fatalf("%+v, %v", d, err)
	}
	r, line, err := b.Execute(context.Background(), "env", nil, nil)
	if err != nil || line == nil || r.Stdout != "PATH=/bin,EDITOR=ed" {
		t.Errorf("mur-shell sees %q, %v", r.Stdout, err)
	}
}

// SHL-15: answers find their requests.
func TestCallsAtOnce(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	for i := range 40 {
		tool := []string{"slow", "quick"}[i%2]
		wg.Go(func() {
			if r, _, err := b.Execute(context.Background(), tool, []string{"a"}, nil); err != nil || r.Stdout != tool {
				t.Errorf("%s: %q, %v", tool, r.Stdout, err)
			}
		})
	}
	wg.Wait()
}

// SHL-63 to SHL-67, SHL-69
func TestLogOfCutOutput(t *testing.T) {
	b := newBench(t)
	for i, name := range []string{"logs/shell-1234.log", "logs/shell-1234-1.log"} {
		d, err := b.Command(context.Background(), "big", `{"command":"x"}`)
		if err != nil || d.Result.Data == nil || !strings.Contains(*d.Result.Data, name+" beneath $MURMUR_RECORDS_DIR") {
			t.Fatalf("%d: %+v, %v", i, d, err)
		}
		if m := d.Result.Metadata; len(m) != 1 || m[0] != [2]string{"full_output_path", name} {
			t.Errorf("metadata %v", m)
		}
		text, err := os.ReadFile(filepath.Join(b.dir, "records", name))
		want := "Command: big a b\nExit code: 7\n\nStdout:\n" + strings.Repeat("x", 20000) + "\n[5 further bytes were not kept]\n\nStderr:\nfaults"
		if err != nil || string(text) != want {
			t.Errorf("%v: %.60q ... %q", err, text, text[max(0, len(text)-60):])
		}
	}
	// A log that can not be written costs its path alone.
	if err := os.RemoveAll(filepath.Join(b.dir, "records/logs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.dir, filepath.Join(b.dir, "records/logs")); err != nil {
		t.Fatal(err)
	}
	d, err := b.Command(context.Background(), "big", `{"command":"x"}`)
	if err != nil || len(d.Result.Metadata) > 0 || !strings.HasSuffix(*d.Result.Data, "The output was cut.") {
		t.Errorf("%+v, %v", d.Result, err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "*.log")); len(left) > 0 || b.opt.Records.Latch().Err() == nil {
		t.Errorf("written through a link: %q, latch %v", left, b.opt.Records.Latch().Err())
	}
}

// SHL-88, CON-262: a call whose time is over ends its command and does not wait
// for one that does not end.
func TestCancelledCalls(t *testing.T) {
	b := newBench(t)
	why := errors.New("the time is over")
	b.client.patience = time.Minute
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	r, line, err := b.Execute(ctx, "polite", nil, nil)
	if err != nil || r.ExitCode != 143 || line.ExitCode != 143 {
		t.Errorf("what ends is told of: %+v, %v", r, err)
	}
	b.client.patience = killTime
	begin := time.Now()
	ctx, cancel = context.WithCancelCause(context.Background())
	cancel(why)
	if _, _, err := b.Execute(ctx, "stubborn", nil, nil); err != why || time.Since(begin) > 30*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	if len(b.over()) > 0 {
		t.Errorf("a cancelled call ends the session: %v", b.over())
	}
}

// SHL-21, SHL-13
func TestRefusals(t *testing.T) {
	b := newBench(t)
	_, line, err := b.Execute(context.Background(), "denied", nil, nil)
	if !errors.Is(err, wasmhost.ErrDenied) || line != nil {
		t.Errorf("%v, line %v", err, line)
	}
	d, err := b.Command(context.Background(), "denied", "{}")
	if err != nil || d.Refusal != "denied is not in shell.allow" || d.Line != nil || d.Fatal != nil {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = b.Command(context.Background(), "quick", strings.Repeat("x", 1<<20))
	if err != nil || !strings.Contains(d.Refusal, "longer than 1 MiB") {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = b.Command(context.Background(), "quick", "{}"); err != nil || d.Refusal != "" {
		t.Errorf("after it: %+v, %v", d, err)
	}
}

// SHL-22, SHL-34, SES-112, AGT-75: what is fatal ends the session, once, and the
// call that met it has its answer.
func TestFatal(t *testing.T) {
	for tool, says := range map[string]string{"fatal": "no root", "die": "was lost: it ended by itself", "babble": "what is no answer"} {
		b := newBench(t)
		d, err := b.Command(context.Background(), tool, "{}")
		if err != nil || diag.CodeOf(d.Fatal) != "E-RUN-014" || !strings.Contains(d.Refusal, says) {
			t.Errorf("%s: %+v, %v", tool, d, err)
		}
		if tool != "fatal" {
			if d, err := b.Command(context.Background(), "quick", "{}"); err != nil || d.Fatal == nil {
				t.Errorf("%s: a call after it: %+v, %v", tool, d, err)
			}
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: %v", tool, err)
		}
		if o := b.over(); len(o) != 1 || b.Fatal() != o[0] {
			t.Errorf("%s: the session is ended by %v", tool, o)
		}
	}
}

// SHL-17, SHL-18, SHL-127, SHL-128
func TestResolveAndNative(t *testing.T) {
	b := newBench(t)
	c, err := b.Resolve(context.Background(), "quick", "text")
	if err != nil || c.Call != "call-1" || c.Binary != "/bin/quick" || c.Argv[0] != "text" {
		t.Errorf("%+v, %v", c, err)
	}
	data := "in"
	r, err := b.NativeTool(context.Background(), "prog", wasmhost.ToolInput{Data: &data})
	if err != nil || r.Status != wasmhost.Failed || *r.Data != "in600" || len(r.Metadata) != 2 || r.Metadata[0][0] != "a" {
		t.Errorf("%+v, %v", r, err)
	}
	if d, err := b.Native(context.Background(), "prog", data); err != nil || d.Line != nil || d.Note != "" {
		t.Errorf("%+v, %v", d, err)
	}
}

// Closing leaves no process and no wait.
func TestClose(t *testing.T) {
	b := newBench(t)
	proc := b.proc
	done := make(chan error, 1)
	go func() {
		_, _, err := b.Execute(context.Background(), "stubborn", nil, nil)
		done <- err
	}()
	time.Sleep(30 * time.Millisecond)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("a call of a closed session has an answer")
	}
	if proc.cmd.ProcessState == nil || len(b.over()) > 0 {
		t.Errorf("%v, ended by %v", proc.cmd.ProcessState, b.over())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.notes) == 0 || b.notes[0] != "a note" {
		t.Errorf("notes %q", b.notes)
	}
}

// SHL-46, SHL-55
func TestEnvironment(t *testing.T) {
	env := Environment([]string{"PATH=p", "HOME=h", "LD_PRELOAD=x", "MY_X=1", "AWS_SECRET=1"}, policy.Policy{ShellBaselineEnv: []string{"MY_X", "AWS_SECRET"}, ShellStripEnv: []policy.Pattern{"HOME"}})
	if got := strings.Join(env, " "); got != "PATH=p MY_X=1" {
		t.Errorf("%q", got)
	}
}

// CON-192 to CON-195
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a", 400)
	write("deep/er/b", 400)
	outside := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(outside, make([]byte, 10000), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": outside, "dir": filepath.Dir(outside), "loop": "."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	work, err := workfs.OpenRoot(dir, workfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	type breach struct {
		found int64
		err   error
	}
	ch := make(chan breach, 2)
	g := Watch(work, 1000, 5*time.Millisecond, func(string) {}, func(n int64, err error) { ch <- breach{n, err} })
	time.Sleep(50 * time.Millisecond)
	if len(ch) > 0 {
		t.Fatalf("800 bytes and links count as %+v", <-ch)
	}
	write("deep/c", 300)
	select {
	case b := <-ch:
		if b.found != 1100 || diag.CodeOf(b.err) != "E-RUN-013" || !strings.Contains(b.err.Error(), "1100 bytes") {
			t.Errorf("%+v", b)
		}
	case <-time.After(10 * time.Second):
		t.Error("the guard sees nothing")
	}
	g.Stop()
	g.Stop()
	if len(ch) > 0 {
		t.Error("told twice")
	}
}
