package launch

import (
	"context"
	"errors"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/session/running"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/tools"
)

// run runs the capsule of a session that has begun and ends the session, in the
// order of SES section 5.5.
func (l *launching) run(ctx context.Context) *Outcome {
	began := time.Now()
	if err := running.Write(l.home, l.runningRecord()); err != nil {
		l.warn(diag.Warningf("W-SEC-023", "session", "the running record can not be written: %s; nothing but its URL, where it has one, leads to this session", err))
	}
	l.opt.Announce(l.start())

	o := &Outcome{SessionID: l.doc.SessionID, RecordsDir: l.doc.Directories.Records.Path}
	var end ending
	if l.doc.Kind == session.KindAgent {
		var ended func()
		ctx, ended = l.terminating(ctx, teardownLimit)
		defer ended()
		o.Agent = true
		end = l.tasks(ctx, o)
	} else {
		end = l.script(ctx, o)
	}
	o.ToolCalls = l.trace.toolCalls()
	if err := l.trace.Record(trace.SessionEnd{ExitStatus: end.status}); err != nil {
		end = judge(nil, err, nil)
	}
	l.seal()
	if err := running.Remove(l.home, l.doc.SessionID); err != nil {
		l.bootstrap("[session] the running record can not be removed: " + err.Error())
	}
	l.closeProcesses()
	if err := session.Remove(l.home, l.doc.SessionID); err != nil {
		l.bootstrap("[session] the session directory can not be removed: " + err.Error())
	}
	o.Ending, o.Duration = end.status, time.Since(began)
	o.Err = end.report(l.doc.SessionID, o.RecordsDir)
	return o
}

// script runs a script capsule. The cause of its context's end tells a signal
// from the session's own failure, such as a trace that can not be written.
func (l *launching) script(ctx context.Context, o *Outcome) ending {
	guest, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l.fail = stop
	l.failing(stop)
	result := &resultFile{records: l.held.Records, fail: stop}
	err := l.capsule(guest, result)
	result.Close()
	o.Result = result.path()
	return judge(err, context.Cause(guest), l.latch.Err())
}

// tasks runs the tasks of an agent capsule.
func (l *launching) tasks(ctx context.Context, o *Outcome) ending {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l.fail = stop
	l.failing(stop)
	out := l.agent(work)
	o.Result, o.Text = out.Result, out.Text
	var own *diag.Error
	if errors.As(context.Cause(work), &own) {
		return judgeAgent(out, own, l.latch.Err())
	}
	end := judgeAgent(out, nil, l.latch.Err())
	// The ending is the deadline's when that cancelled the task, or none ever ran.
	if l.reached.Load() && (end.status == canceled || out.Result == "") && out.Fatal == nil {
		end = ending{status: deadlineReached}
	}
	return end
}

func (l *launching) start() Start {
	r := l.runningRecord()
	return Start{
		PID: r.PID, SessionID: r.SessionID, Name: r.CapsuleName, Version: r.CapsuleVersion,
		Workdir: r.Workdir, RecordsDir: r.RecordsDir,
	}
}

// capsule runs a script capsule once (SES-119, SES-120): on the capsule's
// ceiling, with its tools behind it.
func (l *launching) capsule(ctx context.Context, result *resultFile) error {
	folders := tools.Folders{Work: l.held.Work, Runtime: l.held.Runtime, Records: l.held.Records, Home: l.homeDir}
	guests := tools.NewGuests(l.source)
	defer guests.Close()
	desk := tools.NewDesk(tools.Options{
		Document: l.doc, Guests: guests, Folders: folders, Environ: l.environ, Trace: l.trace, Fail: l.fail,
		Processes: l.commands(),
	})
	defer desk.Close()

	grant := tools.CapsuleGrant(l.doc, l.environ)
	who := l.doc.Capsule.Artifact + "@" + l.doc.Capsule.Version
	guest, err := guests.Capsule(ctx, &l.doc.Capsule)
	if err != nil {
		return tools.Explain(who, wasmhost.Capsule, err, grant.Limits)
	}
	dirs, err := folders.Open(grant)
	if err != nil {
		return err
	}
	defer tools.CloseDirs(dirs)
	var http tools.Clients
	defer http.Close()
	stderr := dropErrors{l.env.Stderr}
	err = guest.RunCapsule(ctx, &wasmhost.Instance{
		Name: l.doc.Capsule.Name, Env: grant.Env, Dirs: dirs, HTTP: http.Of(l.doc.Capsule.Artifact, grant.Network),
		Stdout: tee{result, stderr}, Stderr: stderr, Limits: grant.Limits,
		Imports: wasmhost.Imports{Invoke: desk.Invoke, Artifacts: desk.Manager(), Shell: desk.Shell()},
	})
	if err != nil {
		return tools.Explain(who, wasmhost.Capsule, shown(err), grant.Limits)
	}
	return nil
}

// shown is a capsule's fault without its standard error, which was passed on as
// it came.
func shown(err error) error {
	var f *wasmhost.Fault
	if !errors.As(err, &f) {
		return err
	}
	without := *f
	without.Stderr = ""
	return &without
}

// seal signs the trace; that it can not be sealed changes nothing (TRC-115).
func (l *launching) seal() {
	key, err := trace.LoadKey(l.home)
	if err == nil {
		err = l.log.Seal(key, nil)
	}
	if err != nil {
		l.bootstrap("[trace] the trace can not be sealed: " + err.Error())
	}
}
