// Package install copies artifacts into a store, from another store, from sources
// or from paths, and pins them (ART-99, ART-104 to ART-106, ART-182).
package install

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/remote"
	"github.com/mur-capsules/mur/lib/store/source"

	"github.com/mur-capsules/mur/mur-lock/internal/precompile"
	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Options of an install.
type Options struct {
	Args   []string // references and paths; none: everything the manifest declares
	Global bool
	Scope  string // of what is installed by path

	Remote     *remote.Remote
	Progress   source.Progress
	Precompile bool
	Warn       func(diag.Warning)
}

type installer struct {
	*project.Places
	scope    string
	target   *store.Store
	sources  store.Chain
	pins     bool          // what is installed by reference is pinned
	lock     lockfile.Lock // as it was at the start; every write reads it again
	remote   *remote.Remote
	attested bool
	progress source.Progress
	kept     *store.Compiled // nil to compile nothing
	warn     func(diag.Warning)
}

// Install installs and pins. The error is one that stops it before any artifact;
// those of single artifacts are in the rows, in the order of the arguments or of
// the manifest.
func Install(ctx context.Context, p *project.Places, o Options) (report.Report, error) {
	in, err := newInstaller(p, o)
	if err != nil {
		return report.Report{}, err
	}
	requests, err := in.requests(o.Args)
	if err != nil {
		return report.Report{}, err
	}
	rep := report.Report{Rows: make([]report.Row, 0, len(requests))}
	in.fetchAll(ctx, requests, func(r request, a answer) {
		if a.err != nil {
			rep.Rows = append(rep.Rows, r.failed(a.err))
		}
		for _, f := range a.found {
			rep.Rows = append(rep.Rows, in.finish(ctx, r, f))
		}
	})
	return rep, nil
}

func newInstaller(p *project.Places, o Options) (*installer, error) {
	if err := project.CheckScope(o.Scope); err != nil {
		return nil, err
	}
	in := &installer{
		Places: p, scope: o.Scope, target: p.Global, sources: p.Chain(),
		remote: o.Remote, progress: o.Progress, warn: o.Warn, attested: p.Trust.Wanted(),
	}
	if o.Precompile {
		in.kept = store.OpenCompiled(p.Home, "")
	}
	if !o.Global || len(o.Args) == 0 {
		if err := p.Need(); err != nil {
			return nil, err
		}
	}
	if !o.Global {
		in.target, in.pins = p.Project, true
		lock, _, err := lockfile.Load(p.LockPath())
		if err != nil {
			return nil, err
		}
		in.lock = lock
	}
	return in, nil
}

// request is an argument with its reading, or why it can not be read.
type request struct {
	text string
	artifact.Request
	err error
}

func (in *installer) requests(args []string) ([]request, error) {
	var out []request
	for _, a := range args {
		req, err := artifact.ParseRequest(a)
		out = append(out, request{text: a, Request: req, err: err})
	}
	if len(args) > 0 {
		return out, nil
	}
	m, err := in.Manifest()
	if err != nil {
		return nil, err
	}
	for _, e := range m.Artifacts {
		if e.Source != "" {
			continue // read from its path at staging
		}
		ref := artifact.Ref{Full: e.Name, Version: e.Version}
		out = append(out, request{text: ref.String(), Request: artifact.Request{Form: artifact.ByVersion, Ref: ref}})
	}
	return out, nil
}

// failed is the row of a request that led to nothing.
func (r request) failed(err error) report.Row {
	row := report.Row{Name: r.text}
	if r.Ref.Full.Name != "" {
		row.Name, row.Version = r.Ref.Full.String(), r.Ref.Version
	}
	return row.Fail(err)
}

type answer struct {
	found []fetched
	err   error
}

// fetchAll fetches in parallel and hands over in the order of the requests, which
// is the order of new pins. Archives are held in memory until they are stored, so
// only a few are fetched ahead.
func (in *installer) fetchAll(ctx context.Context, requests []request, finish func(request, answer)) {
	slots := make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0)))
	answers := make([]chan answer, len(requests))
	for i := range answers {
		answers[i] = make(chan answer, 1)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i, r := range requests {
			slots <- struct{}{}
			wg.Go(func() {
				a := answer{err: r.err}
				if a.err == nil {
					a.found, a.err = in.fetch(ctx, r.Request)
				}
				if a.err != nil {
					a.found = nil
				}
				answers[i] <- a
			})
		}
	})
	for i, r := range requests {
		finish(r, <-answers[i])
		<-slots
	}
}

// finish stores and pins one artifact.
func (in *installer) finish(ctx context.Context, r request, f fetched) report.Row {
	if f.bundle != nil {
		return in.shelve(ctx, f)
	}
	it := f.item
	row := report.Row{
		Name: it.Ref.Full.String(), Version: it.Ref.Version, SHA256: it.SHA256, Platform: it.Platform,
		Store: in.target.Label(), Outcome: report.Installed, Source: f.from,
	}
	if err := project.CheckNativePlatform(it); err != nil {
		return row.Fail(err)
	}
	var err error
	subject := provenance.Subject{Name: it.Ref.String(), SHA256: it.SHA256}
	if row.SignedBy, err = in.Trust.Check(ctx, in.Trust.Artifacts, it.Attestations, subject); err != nil {
		return row.Fail(err)
	}
	entry := store.Pin(it.Ref, it.SHA256, it.Manifest.Kind, it.Platform)
	entry.OwnerID = f.ownerID
	pin := in.pins && r.Form != artifact.ByPath
	if pin {
		// Before anything is stored (ART-105).
		if c := in.lock.Conflicts(entry); c != nil {
			return row.Fail(c.Diagnostic())
		}
	}
	if f.stored {
		row.Outcome = report.Unchanged
	} else if path, err := in.target.Put(ctx, it, true); err != nil {
		return row.Fail(err)
	} else {
		row.Path = path
	}
	in.compile(ctx, it)
	row.Pin = &pin
	row.Text = fmt.Sprintf("%s %s%s %s the %s store (sha256 %s)", row.Outcome, it.Ref, project.ForPlatform(it.Platform), preposition(row.Outcome), row.Store, row.SHA256)
	if !pin {
		row.Text += in.note(it, entry)
		return row
	}
	if row = in.pin(ctx, row, entry); row.Fault != nil {
		return row
	}
	// A prune may have taken it between the two; now that it is pinned none does.
	if there, err := in.target.Has(ctx, it.Ref, in.Host); err == nil && !there {
		if _, err := in.target.Put(ctx, it, true); err != nil {
			return row.Fail(err)
		}
	}
	return row
}

// compile makes the compiled form of what was installed. A failure changes
// nothing here (ART-133); staging meets it again.
func (in *installer) compile(ctx context.Context, it *store.Item) {
	if in.kept == nil || ctx.Err() != nil {
		return
	}
	if _, err := precompile.Item(ctx, in.kept, it); err != nil {
		w := diag.Warningf("", "artifact", "%s is installed and can not be compiled: %v", it.Ref, err)
		subject := it.Ref.Subject()
		w.Subject = &subject
		in.warn(w)
	}
}

func preposition(o report.Outcome) string {
	if o == report.Unchanged {
		return "in"
	}
	return "into"
}

// note tells how an artifact installed by path stands to the lock.
func (in *installer) note(it *store.Item, entry lockfile.Entry) string {
	if !in.pins {
		return ""
	}
	_, pinned := in.lock.Find(it.Ref.Full)
	switch {
	case !pinned:
		return fmt.Sprintf("; not pinned: mur-lock pin %s", it.Ref)
	case in.lock.Conflicts(entry) != nil:
		return fmt.Sprintf("; murmur.lock pins another: mur-lock pin --update %s", it.Ref)
	}
	return ""
}

// pin writes the pin of a stored artifact. Another process may have pinned since
// the start, so conflicts are looked for again.
func (in *installer) pin(ctx context.Context, row report.Row, entry lockfile.Entry) report.Row {
	if in.lock.Holds(entry) {
		return row.From(entry.Origin) // as it was at the start
	}
	before, err := project.Pin(ctx, in.Places, entry, false)
	if err != nil {
		return row.Fail(err) // it is stored and not pinned (ART-106)
	}
	row = row.From(entry.Origin)
	if before.Adopted(entry) {
		row.AdoptedFrom = before.Origin.Session
		row.Text += "\n" + project.AdoptionLine(entry, before)
	}
	return row
}
