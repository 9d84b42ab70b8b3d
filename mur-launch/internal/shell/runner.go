package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
)

// endTime is how long a session's commands may take to end (SHL-85, SHL-86), and
// startTime how long mur-shell may take to prepare the session.
const (
	endTime   = 6 * time.Second
	startTime = 30 * time.Second
)

// Options are what a Runner is started with.
type Options struct {
	Program  string // the path of mur-shell
	Document *session.Document
	// Environ is the host's environment; mur-shell gets what Environment keeps.
	Environ []string
	// Scope is the session's group, nil without one.
	Scope *cgroup.Scope
	// Variables are the session's own, by name (SHL section 5, second table).
	Variables map[string]string
	// Session and Records are held roots: output waits beneath the first, and logs
	// are kept beneath the second.
	Session, Records *workfs.Root
	// Secrets are masked in the logs of commands that have ended; nil masks
	// nothing.
	Secrets *mask.Set
	Now     func() time.Time
	// Note takes a line for the session's log, Over is told once that the session
	// must end; both from any goroutine.
	Note func(line string)
	Over func(error)
}

// Runner runs a session's commands and native tools. It is safe for concurrent
// use.
type Runner struct {
	opt    Options
	proc   *process
	client *client

	mu   sync.Mutex
	over error // the first reason for which the session must end
}

// Start starts mur-shell and waits until it has prepared the session. The error
// has a code.
func Start(ctx context.Context, o Options) (*Runner, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, diag.Errorf("E-RUN-014", "%s did not prepare the session within %s", o.Program, startTime).In("launch").Name("step", "start mur-shell"))
	defer cancel()
	ours, theirs, err := pair()
	if err != nil {
		return nil, startFault(o.Program, err)
	}
	staged := filepath.Join(o.Document.Directories.Session.Path, session.DocumentName)
	f := shellproto.Facts{Scope: scopeOf(o.Scope), RuntimeEnv: map[string]string{}}
	maps.Copy(f.RuntimeEnv, o.Variables)
	p, err := start(o.Program, staged, Environment(o.Environ, o.Document.Policy), f, theirs, o.Note)
	theirs.Close()
	if err != nil {
		ours.close()
		return nil, startFault(o.Program, err)
	}
	if err := p.ready(ctx, ours, o.Program); err != nil {
		ours.close()
		p.kill()
		return nil, err
	}
	r := &Runner{opt: o, proc: p}
	r.client = newClient(ours, r.end)
	return r, nil
}

func startFault(program string, err error) error {
	return diag.Errorf("E-RUN-014", "%s can not be started: %w", program, err).In("launch").Name("step", "start mur-shell")
}

// end notes the first reason for which the session must end.
func (r *Runner) end(err error) {
	r.mu.Lock()
	first := r.over == nil
	if first {
		r.over = err
	}
	r.mu.Unlock()
	if first {
		r.opt.Over(err)
	}
}

// Fatal is why the session must end, nil while it need not.
func (r *Runner) Fatal() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// Latch tells mur-shell that the work folder has grown too large: nothing more is
// started (CON-194).
func (r *Runner) Latch(bytes, limit int64) {
	_ = r.client.conn.send(shellproto.Request{Op: shellproto.OpLatch, ID: "latch", Bytes: bytes, Limit: limit})
}

// Close ends every command and mur-shell itself, and waits for it. What does not
// end is killed; the cgroup scope is its maker's to clear.
func (r *Runner) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err := r.client.shutdown(ctx)
	if err != nil {
		r.client.conn.close() // the end of input says the same (SHL-16)
	}
	if r.Fatal() != nil {
		err = nil // it has been told of
	}
	select {
	case <-r.proc.exited:
	case <-ctx.Done():
		err = fmt.Errorf("mur-shell did not end within %s and was killed", endTime)
		r.proc.kill()
	}
	r.client.conn.close()
	<-r.client.end
	return err
}

// call is a command to run: the input of a shell tool, an argument list, or the
// handle of a resolved call.
type call struct {
	tool string
	data *string
	args *[]string
	env  [][2]string
	call string
}

// outcome is what a call came to: done or refused, and why the session must end, if
// it must.
type outcome struct {
	done    *shellproto.Done
	log     string // of the whole output, relative to the records directory
	cut     bool   // output was cut and no log could be written
	refused *shellproto.Refused
	fatal   error
}

// run runs one command. The error is that no answer came.
func (r *Runner) run(ctx context.Context, c call) (outcome, error) {
	s, err := newSpools(r.opt.Session)
	if err != nil {
		return outcome{}, err
	}
	id, answer, err := r.client.begin()
	if err != nil {
		s.close()
		return outcome{fatal: r.Fatal()}, err
	}
	q := shellproto.Request{Op: shellproto.OpExec, ID: id, Tool: c.tool, Data: c.data, Args: c.args, Env: c.env, Call: c.call, Mode: shellproto.Foreground}
	if err = r.client.conn.send(q, s.out, s.err); err != nil {
		r.client.forget(id)
		s.close()
		if err = r.client.sendFault(err); errors.Is(err, errTooLong) {
			return outcome{refused: &shellproto.Refused{Reason: shellproto.ReasonInput, Message: err.Error()}}, nil
		}
		return outcome{fatal: err}, err
	}
	e, err := r.client.await(ctx, id, answer)
	if err != nil {
		s.close()
		return outcome{fatal: r.Fatal()}, err
	}
	defer s.close()
	return r.read(e, s)
}

// read takes an answer to exec or native apart. Spools is nil for a native tool.
func (r *Runner) read(e event, s *spools) (outcome, error) {
	switch e.Event {
	case shellproto.EventDone:
		d, err := decode[shellproto.Done](e)
		if err != nil {
			return outcome{}, err
		}
		o := outcome{done: &d}
		if d.Truncated && s != nil {
			if o.log, err = s.writeLog(r.opt.Records, r.opt.Secrets, r.opt.Now(), d); err != nil {
				o.log, o.cut = "", true
				r.opt.Note(fmt.Sprintf("the output of %s can not be kept: %v", d.Tool, err))
			}
		}
		return o, nil
	case shellproto.EventRefused:
		f, err := decode[shellproto.Refused](e)
		return outcome{refused: &f}, err
	case shellproto.EventFatal:
		err := fatalError(e)
		return outcome{refused: &shellproto.Refused{Reason: "fatal", Message: err.Error()}, fatal: err}, nil
	}
	return outcome{}, fmt.Errorf("mur-shell answered a call with %s", diag.Quote(e.Event))
}

// ProtectedError says that a command was not run because it names a read-only path.
type ProtectedError struct {
	Binary string
	shellproto.Protected
}

func (e *ProtectedError) Error() string {
	return fmt.Sprintf("%s names %s, which capabilities.filesystem.read_only protects with %s", e.Via, e.Path, e.Entry)
}

// Resolve says what a shell tool's call would run and starts nothing (TOL-24). A
// call that is refused is an error in mur-shell's words.
func (r *Runner) Resolve(ctx context.Context, tool, data string) (shellproto.Resolved, error) {
	return r.resolve(ctx, shellproto.Request{Tool: tool, Data: &data})
}

func (r *Runner) resolve(ctx context.Context, q shellproto.Request) (shellproto.Resolved, error) {
	q.Op = shellproto.OpResolve
	e, err := r.client.ask(ctx, q)
	if err != nil {
		return shellproto.Resolved{}, err
	}
	if e.Event == shellproto.EventRefused {
		f, err := decode[shellproto.Refused](e)
		if err == nil {
			err = errors.New(f.Message)
		}
		return shellproto.Resolved{}, err
	}
	return decode[shellproto.Resolved](e)
}

// Command runs a shell tool in the foreground; its command ends when ctx does.
func (r *Runner) Command(ctx context.Context, tool, data string) (dispatch.Done, error) {
	o, err := r.run(ctx, call{tool: tool, data: &data})
	return o.dispatched(err)
}

// Run runs a resolved call in the foreground, exactly as it was resolved (SHL-18).
func (r *Runner) Run(ctx context.Context, c shellproto.Resolved) (dispatch.Done, error) {
	o, err := r.run(ctx, call{call: c.Call})
	return o.dispatched(err)
}

// Native runs a native tool. Its deadline is that of guests (SHL-127).
func (r *Runner) Native(ctx context.Context, name, data string) (dispatch.Done, error) {
	o, err := r.native(ctx, name, wasmhost.ToolInput{Data: &data})
	return o.dispatched(err)
}

// NativeTool is Native for a script capsule: what the tool said, or the runtime's
// own reason why it did not run.
func (r *Runner) NativeTool(ctx context.Context, name string, in wasmhost.ToolInput) (wasmhost.ToolResult, error) {
	o, err := r.native(ctx, name, in)
	switch {
	case err != nil:
		return wasmhost.ToolResult{}, err
	case o.refused != nil:
		return wasmhost.ToolResult{}, errors.New(o.refused.Message)
	}
	return o.result(), nil
}

func (r *Runner) native(ctx context.Context, name string, in wasmhost.ToolInput) (outcome, error) {
	q := shellproto.Request{Op: shellproto.OpNative, Name: name, Input: &shellproto.NativeInput{Data: in.Data, LogPath: in.LogPath}}
	if secs := r.opt.Document.Policy.Limits.DeadlineSeconds; secs > 0 {
		secs = min(secs, 1<<31)
		q.TimeoutSecs = &secs
	}
	e, err := r.client.ask(ctx, q)
	if errors.Is(err, errTooLong) {
		return outcome{refused: &shellproto.Refused{Reason: shellproto.ReasonInput, Message: err.Error()}}, nil
	}
	if err != nil {
		return outcome{fatal: r.Fatal()}, err
	}
	o, err := r.read(e, nil)
	if err == nil && o.done != nil {
		o.done.Argv = nil
	}
	return o, err
}

// dispatched is an outcome as a tool call's answer.
func (o outcome) dispatched(err error) (dispatch.Done, error) {
	if err != nil && o.fatal == nil {
		return dispatch.Done{}, err
	}
	d := dispatch.Done{Fatal: o.fatal}
	switch {
	case err != nil:
		d.Refusal = err.Error()
	case o.refused != nil:
		d.Refusal = o.refused.Message
	case o.done != nil:
		d.Result, d.Line = o.result(), o.line()
		if n := o.done.RuntimeNote; n != nil {
			d.Note = *n
		}
	}
	return d, nil
}

// result is what a finished call gives the one who called (SHL-29, SHL-31).
func (o outcome) result() wasmhost.ToolResult {
	t := o.done.ToolResult
	r := wasmhost.ToolResult{Status: wasmhost.Status(t.Status), Summary: t.Summary, Data: t.Data, DataPath: t.DataPath}
	if t.Truncated != nil {
		r.Truncated = *t.Truncated
	}
	for _, k := range slices.Sorted(maps.Keys(t.Metadata)) {
		r.Metadata = append(r.Metadata, [2]string{k, t.Metadata[k]})
	}
	if o.log == "" && !o.cut {
		return r
	}
	text := ""
	if r.Data != nil {
		text = *r.Data
	}
	if o.log != "" {
		text += "\n\nThe output was cut. All of it is in " + o.log + " beneath $MURMUR_RECORDS_DIR."
		r.Metadata = append(r.Metadata, [2]string{"full_output_path", o.log})
	} else {
		text += "\n\nThe output was cut."
	}
	r.Data = &text
	return r
}

// line is the shell line of a command; a native tool has none (TRC-36).
func (o outcome) line() *trace.Shell {
	d := o.done
	if d.Argv == nil {
		return nil
	}
	l := &trace.Shell{
		Binary: d.Binary, Command: commandOf(d.Argv, d.Script), ExitCode: int64(d.ExitCode),
		StdoutBytes: d.StdoutBytes, StderrBytes: d.StderrBytes, DurationMS: d.DurationMS,
	}
	if d.ResourceLimit != nil {
		l.ResourceLimit = *d.ResourceLimit
	}
	return l
}

// commandOf is a command as the trace has it: the body of an interpreter, else the
// argument list.
func commandOf(argv []string, script *string) trace.Raw {
	var v any = argv
	if script != nil {
		v = *script
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return trace.Raw("null")
	}
	return raw
}

// Execute runs an allowed program with an argument list and variables of the
// call's own, in the foreground (SHL-94, SHL-156). Its trace line is nil when
// nothing ran. A refusal is an error in mur-shell's words; one for the allow list
// wraps wasmhost.ErrDenied, one for a read-only path is a *ProtectedError.
func (r *Runner) Execute(ctx context.Context, program string, args []string, env [][2]string) (wasmhost.ShellResult, *trace.Shell, error) {
	if args == nil {
		args = []string{}
	}
	o, err := r.run(ctx, call{tool: program, args: &args, env: env})
	switch {
	case err != nil:
		return wasmhost.ShellResult{}, nil, err
	case o.refused != nil && o.refused.Reason == shellproto.ReasonProtectedPath:
		c, err := r.resolve(ctx, shellproto.Request{Tool: program, Args: &args, Env: env})
		if err != nil || c.Protected == nil {
			return wasmhost.ShellResult{}, nil, errors.New(o.refused.Message)
		}
		return wasmhost.ShellResult{}, nil, &ProtectedError{c.Binary, *c.Protected}
	case o.refused != nil && o.refused.Reason == shellproto.ReasonNotAllowed:
		return wasmhost.ShellResult{}, nil, fmt.Errorf("%w: %s", wasmhost.ErrDenied, o.refused.Message)
	case o.refused != nil:
		return wasmhost.ShellResult{}, nil, errors.New(o.refused.Message)
	}
	d := o.done
	out := wasmhost.ShellResult{ExitCode: int32(d.ExitCode), Stdout: d.Stdout, Stderr: d.Stderr, Truncated: d.Truncated}
	if o.log != "" {
		out.FullOutputPath = &o.log
	}
	return out, o.line(), nil
}
