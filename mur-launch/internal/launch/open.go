package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/guests"
	"github.com/mur-capsules/mur/mur-launch/internal/tools"
)

// launching is a session between its lock and its end.
type launching struct {
	env     cli.Env
	opt     Options
	doc     *session.Document
	home    workfs.Home
	latch   *workfs.Latch
	held    *session.Held
	homeDir *workfs.Root
	environ []string // the host's variables, the .env file's after them
	source  *guests.Source
	log     *trace.Log
	trace   *recorder
	early   []trace.Warning         // raised before session_start
	fail    context.CancelCauseFunc // set while a capsule runs
	agency  *agency                 // nil for a script capsule

	deadline deadline
	reached  atomic.Bool // the deadline, and it ended the session
	procs    *processes  // nil when the session can start none
}

// open proves that the session can be run as it was staged and holds its
// directories (SES-103). It writes nothing but the caller's own files.
func open(ctx context.Context, env cli.Env, doc *session.Document, o Options) (*launching, error) {
	if err := unsupported(doc); err != nil {
		return nil, err
	}
	l := &launching{env: env, opt: o, doc: doc, latch: &workfs.Latch{}, deadline: deadlineOf(doc, o.Deadline, o.Started)}
	var err error
	if l.home, err = homeOf(doc); err != nil {
		return nil, err
	}
	l.source = guests.NewSource(doc, l.home)
	if doc.Kind == session.KindAgent {
		l.startAgent(ctx)
	}
	if err = l.openRest(ctx); err != nil {
		l.close()
		return nil, ended(ctx, err)
	}
	return l, nil
}

func (l *launching) openRest(ctx context.Context) (err error) {
	if err = l.doc.VerifyFiles(ctx); err != nil {
		return err
	}
	if l.held, err = l.doc.Hold(l.latch); err != nil {
		return err
	}
	if l.homeDir, err = l.home.OpenExisting(".", workfs.Options{Latch: l.latch}); err != nil {
		return err
	}
	// What holds commands is compared by mur-shell, which alone uses it (CON-5).
	if err = confine.Moved(l.doc.HostProbe, probe.Identity()); err != nil {
		return err
	}
	if l.environ, err = environment(l.env.Environ, l.doc.EnvFile, l.opt.NoEnvFile); err != nil {
		return err
	}
	if l.doc.Kind == session.KindAgent {
		if err = l.openAgent(); err != nil {
			return err
		}
	}
	if err = ctx.Err(); err != nil {
		return err
	}
	if err = l.place(l.opt.Inputs); err != nil {
		return err
	}
	return l.openProcesses(ctx)
}

// ended words an error that only says that a signal came.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	return diag.Errorf("E-RUN-040", "the launch was ended by a signal before the session began").
		In("launch").Name("status", canceled)
}

// begin opens the trace and writes session_start. From here on the session has
// begun and ends with session_end.
func (l *launching) begin() error {
	opt := trace.Options{SessionID: l.doc.SessionID, Capture: trace.Capture(l.doc.Trace.Capture), Survived: l.survived}
	if l.agency != nil {
		l.murmur()
		opt.Mask = l.agency.secrets.Line
	}
	log, err := trace.Create(l.held.Records, opt)
	if errors.Is(err, fs.ErrExist) {
		return diag.Errorf("E-STG-103", "session %s can not be launched: it was launched already", l.doc.SessionID)
	}
	if err != nil {
		return workfs.Fault(err, "cannot begin the session")
	}
	l.log = log
	if l.agency == nil {
		owner := log.Owner("")
		l.trace = &recorder{owner: owner}
		line := sessionStart(l.doc, l.ioMax(), tools.NewInventory(l.doc).Names())
		line.Warnings = append(line.Warnings, l.early...)
		return owner.Start(line, nil)
	}
	owner := log.Owner(l.doc.Inference.Transport)
	l.trace = &recorder{owner: owner}
	line := agentStart(l.doc, l.ioMax(), l.agency.inventory.Names)
	line.Warnings = append(line.Warnings, l.early...)
	if err := owner.Start(line, []byte(l.agency.secrets.Text(l.doc.Inference.SystemPrompt.Text))); err != nil {
		return err
	}
	l.agency.mu.Lock()
	l.agency.changes = log.Appender()
	l.agency.mu.Unlock()
	return nil
}

// close releases what open took.
func (l *launching) close() {
	l.closeProcesses()
	if l.log != nil {
		_ = l.log.Close()
	}
	if l.agency != nil {
		l.agency.close()
	}
	if l.source != nil {
		_ = l.source.Close()
	}
	if l.homeDir != nil {
		_ = l.homeDir.Close()
	}
	if l.held != nil {
		l.held.Close()
	}
}

// survived logs what went wrong and ended nothing (SES-236).
func (l *launching) survived(err error) { l.bootstrap(fmt.Sprintf("[trace] %s", err)) }

// warn raises a warning of the launch's own. Those raised before session_start
// stand in it (TRC-13).
func (l *launching) warn(w diag.Warning) {
	l.opt.Warn(w)
	if l.trace == nil {
		l.early = append(l.early, trace.Warning{Code: string(w.Code), Message: w.Message})
	}
	l.bootstrap(fmt.Sprintf("[%s] warning[%s]: %s", w.Topic, w.Code, w.Message))
}

// bootstrap appends a line to logs/bootstrap.log; a log never fails anything.
func (l *launching) bootstrap(line string) {
	f, err := l.held.Records.Append(session.LogsDir + "/bootstrap.log")
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(line + "\n")
}
