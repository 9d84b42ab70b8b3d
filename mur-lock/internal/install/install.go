// Package install copies artifacts into a store, from another store or from
// paths, and pins them (ART-99, ART-104 to ART-106, ART-182).
package install

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Options of an install.
type Options struct {
	Args   []string // references and paths; none: everything the manifest declares
	Global bool
	Scope  string // of what is installed by path
}

type installer struct {
	*project.Places
	scope   string
	target  *store.Store
	sources store.Chain
	pins    bool          // what is installed by reference is pinned
	lock    lockfile.Lock // as it was at the start; every write reads it again
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
	found := in.fetchAll(ctx, requests)
	rep := report.Report{Rows: make([]report.Row, 0, len(requests))}
	for i := range requests {
		rep.Rows = append(rep.Rows, in.finish(ctx, requests[i], found[i]))
	}
	return rep, nil
}

func newInstaller(p *project.Places, o Options) (*installer, error) {
	if err := project.CheckScope(o.Scope); err != nil {
		return nil, err
	}
	in := &installer{Places: p, scope: o.Scope, target: p.Global, sources: p.Chain()}
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

type answer struct {
	fetched
	err error
}

// fetchAll fetches in parallel. Archives are held in memory until they are
// stored, so only a few are fetched at a time.
func (in *installer) fetchAll(ctx context.Context, requests []request) []answer {
	out := make([]answer, len(requests))
	slots := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i, r := range requests {
		if r.err != nil {
			out[i].err = r.err
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i].fetched, out[i].err = in.fetch(ctx, r.Request)
		}()
	}
	wg.Wait()
	return out
}

// finish stores and pins one artifact.
func (in *installer) finish(ctx context.Context, r request, a answer) report.Row {
	row := report.Row{Name: r.text}
	if r.Ref.Full.Name != "" {
		row.Name, row.Version = r.Ref.Full.String(), r.Ref.Version
	}
	if a.err != nil {
		return row.Fail(a.err)
	}
	it := a.item
	row = report.Row{
		Name: it.Ref.Full.String(), Version: it.Ref.Version, SHA256: it.SHA256, Platform: it.Platform,
		Store: in.target.Label(), Outcome: report.Installed,
	}
	if err := project.CheckNativePlatform(it); err != nil {
		return row.Fail(err)
	}
	entry := store.Pin(it.Ref, it.SHA256, it.Manifest.Kind, it.Platform)
	pin := in.pins && r.Form != artifact.ByPath
	if pin {
		// Before anything is stored (ART-105).
		if c := in.lock.Conflicts(entry); c != nil {
			return row.Fail(c.Diagnostic())
		}
	}
	if a.stored {
		row.Outcome = report.Unchanged
	} else if path, err := in.target.Put(ctx, it, true); err != nil {
		return row.Fail(err)
	} else {
		row.Path = path
	}
	row.Pin = &pin
	row.Text = fmt.Sprintf("%s %s%s %s the %s store (sha256 %s)", row.Outcome, it.Ref, project.ForPlatform(it.Platform), preposition(row.Outcome), row.Store, row.SHA256)
	if !pin {
		row.Text += in.note(it, entry)
		return row
	}
	return in.pin(ctx, row, entry)
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
