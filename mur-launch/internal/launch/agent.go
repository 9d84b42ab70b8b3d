package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/spend"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/agent"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
	"github.com/mur-capsules/mur/mur-launch/internal/loop"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
	"github.com/mur-capsules/mur/mur-launch/internal/model"
	"github.com/mur-capsules/mur/mur-launch/internal/model/tokens"
	"github.com/mur-capsules/mur/mur-launch/internal/tools"
)

// agency is what an agent session has beside what every session has.
type agency struct {
	secrets   *mask.Set
	driver    *session.Artifact
	gateways  map[string]*model.Gateway // by artifact
	ledger    *spend.Ledger
	inventory dispatch.Inventory
	task      []byte // of --task, nil for none

	guests  *tools.Guests
	warm    sync.WaitGroup // what runs beside the launch
	settled sync.Once
	over    chan struct{} // closed when the session is

	mu      sync.Mutex
	changes trace.Appender // where credentials report; set once the trace is open
	warned  map[string]bool
	turn    int64
	current string // the running task's id
}

// startAgent begins what takes longest before the first request, beside all else:
// loading the driver's code. A driver that can not be loaded is told of by its first
// call.
func (l *launching) startAgent(ctx context.Context) {
	a := &agency{
		secrets: &mask.Set{}, gateways: map[string]*model.Gateway{}, warned: map[string]bool{}, guests: tools.NewGuests(l.source),
		over: make(chan struct{}),
	}
	l.agency = a
	for i := range l.doc.Artifacts {
		if art := &l.doc.Artifacts[i]; art.Name == l.doc.Inference.Choices[0].Driver {
			a.driver = art
			a.warm.Go(func() { _, _ = a.guests.Artifact(ctx, art) })
		}
	}
}

// settle gives back, once, what was needed to start, when the first request has
// been sent: a form is several times what is kept of it.
func (a *agency) settle() {
	a.settled.Do(func() {
		a.warm.Go(func() {
			select {
			case <-a.over:
			case <-time.After(settleAfter):
				debug.FreeOSMemory()
			}
		})
	})
}

// settleAfter leaves the first request its time.
const settleAfter = 500 * time.Millisecond

// openAgent reads the keys and what the model will be offered, so that what is
// missing refuses the launch (SES section 5.2, step 1).
func (l *launching) openAgent() error {
	d, a := l.doc, l.agency
	for i := range d.Artifacts {
		art := &d.Artifacts[i]
		if art.Gateway == nil {
			continue
		}
		g, err := l.openGateway(art, d.Gateways[*art.Gateway])
		if err != nil {
			return err
		}
		a.gateways[art.Name] = g
	}
	if a.driver == nil || a.gateways[a.driver.Name] == nil {
		return diag.Errorf("E-RUN-005", "the document of session %s names no driver with a gateway: inference.choices[0].driver is %q", d.SessionID, d.Inference.Choices[0].Driver).
			In("launch").Name("key", "inference.driver.artifact")
	}
	var err error
	if a.inventory, err = dispatch.BuildInventory(d, l.held.Runtime); err != nil {
		return err
	}
	if d.Spend.MachineTokensPerDay != nil || d.Spend.TreeTokens != nil {
		account := spend.Account{Session: d.SessionID, Machine: d.Spend.MachineTokensPerDay, Tree: d.Spend.TreeTokens}
		if a.ledger, err = spend.Open(l.home, account, l.env.Now); err != nil {
			return diag.Errorf("E-RUN-026", "the spend ledger %s can not be used: %w", l.home.Join(spend.Dir), err).
				In("launch").Name("path", l.home.Join(spend.Dir)).Name("reason", err.Error())
		}
	}
	l.unbuilt()
	if t := l.opt.Task; t != nil {
		a.task, err = taskBytes(l.env.Dir, *t)
	}
	return err
}

func (l *launching) openGateway(art *session.Artifact, g session.Gateway) (*model.Gateway, error) {
	var key *model.Credential
	if ref := g.Credential; ref != nil {
		report := func(c model.Change) { l.agency.credentialChanged(l.doc, art, *ref, c) }
		var err error
		l.warnOpenFile(*ref)
		if key, err = model.NewCredential(*ref, l.environ, l.doc.Manifest.SHA256, l.agency.secrets, report); err != nil {
			return nil, err
		}
	}
	gateway, err := model.NewGateway(g, key, l.agency.secrets, nil)
	if err != nil {
		return nil, diag.Errorf("E-STG-101", "the gateway of %s can not be used: %w", art.Name, err).In("launch").Name("field", "gateways")
	}
	return gateway, nil
}

// warnOpenFile warns, once for each file, of a configuration that others can
// reach (AGT-147).
func (l *launching) warnOpenFile(ref session.CredentialRef) {
	info, err := os.Stat(ref.File)
	if ref.Source != session.FromConfig || err != nil {
		return
	}
	if w, open := config.ModeWarning(ref.File, info.Mode()); open && !l.agency.warned[w.Message] {
		l.agency.warned[w.Message] = true
		l.warn(w)
	}
}

// unbuilt warns of what a document asks for, holds nothing less back, and is not
// done: the session runs all the same.
func (l *launching) unbuilt() {
	for _, c := range []struct {
		asked bool
		field string
	}{
		{l.doc.Trace.Retain != nil, "trace.retain: no earlier session is removed"},
		{l.doc.Context.Retain != nil, "context.retain: no conversation is removed or cut"},
		{l.doc.Observability.OtelEndpoint != nil, "observability.otel_endpoint: no spans are sent"},
		{l.doc.Observability.Eval != nil, "observability.eval: nothing is scored"},
	} {
		if c.asked {
			l.warn(diag.Warningf("", "session", "this mur-launch does not do what the document asks for in %s", c.field))
		}
	}
}

// credentialChanged writes what happened to a key (AGT-149, TRC-50).
func (a *agency) credentialChanged(d *session.Document, art *session.Artifact, ref session.CredentialRef, c model.Change) {
	name := ref.Name
	if ref.Source == session.FromManifest {
		name = ""
	}
	line := trace.GatewayCredential{
		Artifact: art.Name, Source: ref.Source, Credential: name, Change: c.Change, Trigger: c.Trigger, Reason: c.Reason,
	}
	if c.Change == "rejected" {
		status := int64(401)
		line.Status, line.Retried = &status, &c.Retried
	}
	a.mu.Lock()
	to := a.changes
	a.mu.Unlock()
	if art.Name != d.Inference.Choices[0].Driver {
		to.Append(line)
		return
	}
	to.Append(trace.InferenceCredential{
		Source: line.Source, Credential: name, Change: line.Change, Trigger: line.Trigger,
		Status: line.Status, Retried: line.Retried, Reason: line.Reason,
	})
}

// where is the turn and task a call is made in.
func (a *agency) where() (*int64, *string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	turn := a.turn
	if a.current == "" {
		return &turn, nil
	}
	id := a.current
	return &turn, &id
}

func (a *agency) close() {
	close(a.over)
	a.warm.Wait()
	_ = a.guests.Close()
	for _, g := range a.gateways {
		g.Close()
	}
	if a.ledger != nil {
		_ = a.ledger.Close()
	}
}

// agent runs the tasks of an agent capsule (SES section 5.4, step 15). What an
// attempt works with is put together here and nowhere else.
func (l *launching) agent(ctx context.Context) loop.Outcome {
	a := l.agency
	desk := tools.NewDesk(tools.Options{
		Document: l.doc, Guests: a.guests, Environ: l.environ, Trace: l.trace, Fail: l.fail,
		Folders: tools.Folders{Work: l.held.Work, Runtime: l.held.Runtime, Records: l.held.Records, Home: l.homeDir},
		Gateway: func(art *session.Artifact, base wasmhost.HTTP) wasmhost.HTTP {
			return a.gateways[art.Name].Before(base, nil, nil)
		},
		Secrets: a.secrets, Where: a.where,
	})
	defer desk.Close()
	driver, err := model.NewDriver(l.doc, a.driver, desk, l.environ, a.gateways[a.driver.Name])
	if err != nil {
		return l.broken(err)
	}
	if err := l.taskInput(); err != nil {
		return l.broken(err)
	}
	a.warm.Wait()
	l.bootstrap("tools: " + string(a.inventory.JSON))
	show := newTerminal(l.opt.Stream, l.env.Stderr, a.secrets)
	defer show.close()
	meter := spend.NewMeter(l.doc.Spend.MaxSessionTokens, a.ledger, func(err error) { l.report("the spend ledger: " + err.Error()) })
	return loop.Run(ctx, &loop.Session{
		Document: l.doc, Home: l.home, Records: l.held.Records, Now: l.env.Now, Report: l.report,
		Source:  loop.FromFile(l.doc, l.held.Runtime, l.report),
		Started: func(task string) { a.mu.Lock(); a.current, a.turn = task, 0; a.mu.Unlock() },
		Frame: agent.Frame{
			Model: l.doc.Inference.Model, MaxTokens: l.doc.Inference.MaxOutputTokens,
			System: a.secrets.Text(agent.System(l.doc)), Tools: a.secrets.Line(a.inventory.JSON),
		},
		Parts: agent.Parts{
			Model: driver, Spend: meter, Trace: l.trace, Sink: sink{show, a}, Counter: tokens.New(l.counting), Mask: a.secrets.Text,
			Desk: &noticing{deadline: l.deadline, Desk: dispatch.New(dispatch.Options{
				Document: l.doc, Inventory: a.inventory, Guests: desk, Processes: l.runs(), Runtime: l.held.Runtime, Mask: a.secrets.Text,
			})},
			Gate: l.gates(), Fatal: l.lost, Warn: l.warnOnce,
		},
	})
}

// lost says what has ended the session, whatever its task is at: a refusal of
// its file access, or the loss of what bounds its processes (AGT-59, SES-46).
func (l *launching) lost() error {
	if err := l.latch.Err(); err != nil {
		return err
	}
	if p := l.procs; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.fatal
	}
	return nil
}

// runs is what runs commands and native tools, nil when the session can start no
// process.
func (l *launching) runs() dispatch.Processes {
	if l.procs == nil {
		return nil // and no interface around nothing
	}
	return l.procs.runner
}

// sink notes the turn for lines that are written beside the loop.
type sink struct {
	agent.Sink
	agency *agency
}

func (s sink) Turn(n int64) {
	s.agency.mu.Lock()
	s.agency.turn = n - 1
	s.agency.mu.Unlock()
	s.agency.settle()
	s.Sink.Turn(n)
}

// broken is the outcome of a session that could not come to its first task.
func (l *launching) broken(err error) loop.Outcome {
	out := loop.Outcome{Status: failed, Reason: err.Error(), Fatal: err}
	_ = errors.As(err, &out.Coded)
	return out
}

// taskInput puts the task where the loop reads it (SES-139, SES-140).
func (l *launching) taskInput() error {
	switch {
	case l.agency.task != nil:
		return loop.WriteTask(l.held.Runtime, l.agency.task)
	case l.doc.Task.Import && !l.doc.Task.Written:
		return loop.Import(l.held.Work, l.held.Runtime)
	}
	return nil
}

// murmur puts the URL of the door into MURMUR.md: none, since there is no door
// (SES-228). A failed write warns only.
func (l *launching) murmur() {
	text, err := l.held.Runtime.ReadFile(session.MurmurName, 1<<20)
	if err == nil {
		text, err = session.SetMurmurURL(text, "none")
	}
	if err == nil {
		err = l.held.Runtime.WriteFileMode(session.MurmurName, text, 0o644)
	}
	if err != nil {
		l.warn(diag.Warningf("", "session", "%s can not be rewritten: %s", session.MurmurName, err))
	}
}

// counting notes how tokens are counted (AGT-92).
func (l *launching) counting(by string, err error) {
	l.bootstrap("tokens are counted by " + by)
	if err != nil {
		l.report("tokens are counted as a quarter of the bytes: " + err.Error())
	}
}

// report tells the operator of something that ended nothing.
func (l *launching) report(text string) {
	text = l.agency.secrets.Text(text)
	fmt.Fprintf(l.env.Stderr, "murmur: %s\n", text)
	l.bootstrap("[session] " + text)
}

// warnOnce raises a warning of a running session, each once (DIA-24, DIA-26).
func (l *launching) warnOnce(w diag.Warning) {
	w.Message = l.agency.secrets.Text(w.Message)
	if key := string(w.Code) + w.Message; !l.agency.warned[key] {
		l.agency.warned[key] = true
		l.opt.Warn(w)
	}
}

// judgeAgent decides how an agent's session ended.
func judgeAgent(out loop.Outcome, own, latch error) ending {
	e := ending{status: out.Status}
	switch {
	case own != nil:
		return ending{failed, coded(own)}
	case out.Fatal != nil:
		return ending{failed, coded(out.Fatal)}
	case latch != nil:
		return ending{failed, coded(latch)}
	case out.Status == ok:
		return e
	case out.Coded != nil:
		e.why = out.Coded
	default:
		e.why = diag.Errorf("E-RUN-040", "%s", out.Reason)
	}
	return e
}

// coded gives an error that has no code the one of the loop's own failure.
func coded(err error) *diag.Error {
	var own *diag.Error
	if errors.As(err, &own) {
		return own
	}
	return diag.Errorf("E-RUN-007", "%w", err).Name("reason", err.Error())
}

// teardownLimit is how long the end of a session may take after a signal
// (SES-179, SES-181).
const teardownLimit = 20 * time.Second
