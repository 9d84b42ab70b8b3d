package launch

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/memory"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
	"github.com/mur-capsules/mur/mur-launch/internal/shell"
	"github.com/mur-capsules/mur/mur-launch/internal/tools"
)

// processes are what a session has that can start processes: the group they are
// bounded in, the guard over the work folder, and the mur-shell that runs them
// (SES section 5.2, steps 4, 5 and 7).
type processes struct {
	runner *shell.Runner
	scope  *cgroup.Scope
	guard  *shell.Guard
	io     confine.IOMax

	mu    sync.Mutex
	fatal error       // the first reason for which the session must end
	fail  func(error) // ends it; set while a capsule runs
}

// reachesProcess tells whether a session can start a process (SES-107).
func reachesProcess(doc *session.Document) bool {
	return doc.Policy.RunsProcesses() || native(doc)
}

// openProcesses makes ready what commands need, or refuses the launch. A session
// that can start no process has nothing of it.
func (l *launching) openProcesses(ctx context.Context) error {
	if !reachesProcess(l.doc) {
		return nil
	}
	program, err := cli.ShellFor(l.env.Environ)
	if err != nil {
		return err
	}
	// Keys may be in this process's memory and environment, which commands of the
	// same user must not read (CON-118).
	memory.Hide()
	p := &processes{io: confine.IOMax{DeclaredBytesPerSec: l.doc.Policy.DeclaredResources.CgroupIOBytesPerSec, Status: "not-required"}}
	l.procs = p
	if needsScope(l.doc) {
		if p.scope, err = makeScope(l.doc, probe.Cgroup()); err != nil {
			return err
		}
		l.limitIO()
	}
	var secrets *mask.Set
	if l.agency != nil {
		secrets = l.agency.secrets
	}
	p.runner, err = shell.Start(ctx, shell.Options{
		Secrets: secrets,
		Program: program, Document: l.doc, Environ: l.environ, Scope: p.scope, Variables: variables(l.doc),
		Session: l.held.Session, Records: l.held.Records, Now: l.env.Now,
		Note: func(line string) { l.bootstrap("[shell] " + line) }, Over: p.over,
	})
	if err != nil {
		return err
	}
	if limit, guarded := workdirLimit(l.doc); guarded {
		p.guard = shell.Watch(l.held.Work, limit, shell.GuardInterval, func(line string) { l.bootstrap("[shell] " + line) },
			func(found int64, err error) {
				p.runner.Latch(found, limit)
				p.over(err)
			})
	}
	for _, w := range tierWarnings(l.doc, p.scope != nil, l.opt.Verbose) {
		l.warn(w)
	}
	return nil
}

// over ends the session, once: while no capsule runs yet, as soon as one does.
func (p *processes) over(err error) {
	p.mu.Lock()
	if p.fatal == nil {
		p.fatal = err
	}
	fail := p.fail
	p.mu.Unlock()
	if fail != nil {
		fail(err)
	}
}

// failing says how the session is ended, now that a capsule runs.
func (l *launching) failing(fail func(error)) {
	p := l.procs
	if p == nil {
		return
	}
	p.mu.Lock()
	p.fail = fail
	err := p.fatal
	p.mu.Unlock()
	if err != nil {
		fail(err)
	}
}

// commands runs what is no guest, nil when the session can start no process.
func (l *launching) commands() tools.Processes {
	if l.procs == nil {
		return nil // and no interface around nothing
	}
	return l.procs.runner
}

// closeProcesses ends every process of the session and removes what bounded them
// (SES section 5.5, step 10). A second call does nothing.
func (l *launching) closeProcesses() {
	p := l.procs
	if p == nil {
		return
	}
	l.procs = nil
	if p.guard != nil {
		p.guard.Stop()
	}
	var errs []error
	if p.runner != nil {
		errs = append(errs, p.runner.Close())
	}
	if p.scope != nil {
		errs = append(errs, p.scope.Clear())
	}
	if err := errors.Join(errs...); err != nil {
		l.bootstrap("[shell] the session's processes could not be cleared away: " + err.Error())
	}
}

// needsScope tells whether the session's processes are bounded as a whole.
func needsScope(doc *session.Document) bool {
	return doc.HostProbe.Linux() && confine.NeedsScope(doc.Containment.Declared, doc.Policy.DeclaredResources)
}

// makeScope makes the session's group with its limits; E-RUN-012 says what is
// missing and how to get it. Where it can be made is read now: that depends on the
// group this program was started in, which mur-stage was not (CON-5).
func makeScope(doc *session.Document, here confine.Cgroup) (*cgroup.Scope, error) {
	s, err := cgroup.New(here, cgroup.Name(doc.SessionID, os.Getpid()), cgroup.LimitsOf(doc.Policy, doc.Containment.Unconfined))
	if err == nil {
		return s, nil
	}
	return nil, confine.ScopeRefusal(err)
}

// limitIO bounds the bandwidth of the work folder's device. The scope does without
// (SES-109, CON-187).
func (l *launching) limitIO() {
	var warnings []diag.Warning
	l.procs.io, warnings = confine.LimitIO(l.doc.Policy, l.doc.Containment.Unconfined, func(bytes uint64) error {
		var st unix.Stat_t
		if err := unix.Fstat(int(l.held.Work.File().Fd()), &st); err != nil {
			return err
		}
		return l.procs.scope.LimitIO(uint64(st.Dev), bytes)
	})
	for _, w := range warnings {
		l.warn(w)
	}
}

// ioMax says what became of the bandwidth limit, for the trace.
func (l *launching) ioMax() confine.IOMax {
	if l.procs == nil {
		return confine.IOMax{DeclaredBytesPerSec: l.doc.Policy.DeclaredResources.CgroupIOBytesPerSec, Status: "not-required"}
	}
	return l.procs.io
}

// workdirLimit is how large the work folder may grow, if it is watched (CON-28).
func workdirLimit(doc *session.Document) (int64, bool) {
	return doc.Policy.Resources.WorkdirMaxBytes, !doc.Containment.Unconfined || doc.Policy.DeclaredResources.WorkdirMaxBytes != nil
}

// variables are the session's own, for its commands (SHL section 5). Those the
// document tells of are mur-shell's to set.
func variables(doc *session.Document) map[string]string {
	out := map[string]string{}
	inf := doc.Inference
	if inf == nil {
		return out
	}
	out["MURMUR_INFERENCE_TRANSPORT"], out["MURMUR_INFERENCE_MODEL"] = inf.Transport, inf.Model
	if len(inf.Choices) > 0 {
		c := inf.Choices[0]
		out["MURMUR_INFERENCE_DRIVER"], out["MURMUR_INFERENCE_MODEL"] = c.Driver, c.Model
		if c.ConfigJSON != nil {
			out["MURMUR_INFERENCE_DRIVER_CONFIG"] = *c.ConfigJSON
		}
	}
	return out
}

// tierWarnings say what holds commands less than people may think, and when asked
// for more also what holds them (CON-268).
func tierWarnings(doc *session.Document, bounded, verbose bool) []diag.Warning {
	var out []diag.Warning
	add := func(code diag.Code, topic, format string, args ...any) {
		out = append(out, diag.Warningf(code, topic, format, args...))
	}
	p, tier := doc.Policy, confine.Tier(doc.Sandbox.AppliedTier)
	open := doc.Containment.Unconfined || !doc.HostProbe.NetNS
	switch {
	case tier == confine.TierNone && doc.Containment.Unconfined:
		add("W-SEC-001", "containment", "the session is unconfined: its commands run with this user's rights, and nothing but their environment is kept from them")
	case tier == confine.TierNone:
		add("W-SEC-001", "containment", "this host has no kernel sandbox, so commands run with this user's rights for as long as it has none: nothing but their environment is kept from them")
	case tier == confine.TierSeccomp:
		add("W-SEC-002", "containment", "Landlock can not be used on this host, so what commands read, write and execute is not limited; system calls, privileges and the network are")
	case verbose:
		add("W-SEC-005", "containment", "commands are held by %s to the files, programs and hosts the manifest grants; capabilities.network.unix_sockets, here %t, would let them talk to other programs of this host", tier, p.UnixSockets)
	}
	if tier == confine.TierNone && open && slices.Contains(p.ShellAllow, "bash") && len(p.NetworkAllow) > 0 {
		add("W-SEC-003", "containment", "capabilities.shell.allow has bash and nothing here holds it to capabilities.network.allow")
	}
	if !bounded && !doc.HostProbe.Linux() {
		add("W-SEC-010", "resources", "this platform has no cgroups, so the cgroup_* fields of capabilities.resources do nothing: no bound on all processes together")
	}
	return out
}
