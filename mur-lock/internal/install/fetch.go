package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/source"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
)

// fetched is an artifact that was found, and what has to happen to it.
type fetched struct {
	item    *store.Item
	stored  bool   // the target holds these very bytes already
	ownerID string // of the source it came from
	from    string // the source's address of it, "" for a store or path

	bundle *bundle.Bundle // instead of an item
	asked  string         // the address the bundle was asked for by
}

// fetch finds the artifacts of a request. It writes nothing.
func (in *installer) fetch(ctx context.Context, req artifact.Request) ([]fetched, error) {
	var one fetched
	var err error
	switch req.Form {
	case artifact.ByPath:
		one, err = in.fromPath(req.Path)
	case artifact.ByAddress:
		one, err = in.fromRegistry(ctx, req.Path)
	case artifact.GitHubRelease:
		return in.fromRelease(ctx, req)
	case artifact.Newest:
		one, err = in.newest(ctx, req.Ref.Full)
	default:
		one, err = in.byVersion(ctx, req.Ref)
	}
	return []fetched{one}, err
}

func (in *installer) fromPath(path string) (fetched, error) {
	abs := in.Abs(path)
	data, err := workfs.ReadFile(abs, in.Limits.ArchiveBytes())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = diag.Errorf("E-IO-001", "there is no archive %s", abs).
				About(diag.Subject{Kind: diag.Path, Name: abs}).Name("path", abs).Name("what was looked for", "an archive")
		}
		return fetched{}, workfs.Fault(err, "cannot read the archive")
	}
	it, err := store.NewItem(data, artifact.Ref{Full: names.Full{Scope: in.scope}}, in.Host, in.Limits, abs)
	if err == nil {
		it.Attestations, err = project.Beside(abs)
	}
	return fetched{item: it}, err
}

// byVersion takes an artifact from the stores, and from the sources of its scope
// when no store has it, or none the bytes the lock pins.
func (in *installer) byVersion(ctx context.Context, ref artifact.Ref) (fetched, error) {
	found, pinned, err := in.fromStores(ctx, ref)
	if err == nil && pinned && in.signed(ctx, found.item) || ctx.Err() != nil || len(in.remote.Sources.For(ref.Full.Scope)) == 0 {
		return found, err
	}
	got, serr := in.fromSources(ctx, source.Want{Name: ref.Full, Version: ref.Version, Platform: in.Host})
	switch {
	case serr == nil && (err != nil || in.isPinned(ref, got.item.SHA256) && in.signed(ctx, got.item)):
		return got, nil
	case err == nil:
		return found, nil // it will be seen to conflict with the pin, or to lack a signature
	case ctx.Err() != nil:
		return fetched{}, context.Cause(ctx)
	}
	var nf *store.NotFoundError
	if errors.As(err, &nf) {
		return fetched{}, alsoNot(serr, nf)
	}
	return fetched{}, err
}

// alsoNot adds what the stores said to what the sources did.
func alsoNot(err error, stores *store.NotFoundError) error {
	var d *diag.Error
	if !errors.As(err, &d) || d.Code != "E-REG-001" && d.Code != "E-REG-006" {
		return err
	}
	for _, p := range stores.Places {
		d.Message += fmt.Sprintf("\n%s (%s): %s", p.Store, p.Dir, p.Reason)
	}
	return d
}

// fromSources fetches an artifact and reads it.
func (in *installer) fromSources(ctx context.Context, want source.Want) (fetched, error) {
	got, err := in.remote.Sources.Fetch(ctx, want, in.progress)
	if err != nil {
		return fetched{}, err
	}
	return in.read(got, want)
}

// read makes an item of what a source handed out: its own manifest must say the
// name and version that were asked for (ART-11, ART-63).
func (in *installer) read(got source.Got, want source.Want) (fetched, error) {
	platform := got.Platform
	if platform == "" {
		platform = in.Host
	}
	full := want.Name
	full.Scope = got.Scope
	it, err := store.NewItem(got.Bytes, artifact.Ref{Full: full}, platform, in.Limits, got.From)
	if err != nil {
		return fetched{}, err
	}
	if err := source.CheckInner(want, it.Ref.Version, got.From); err != nil {
		return fetched{}, err
	}
	it.Attestations = got.Attestations
	return fetched{item: it, ownerID: got.OwnerID, from: got.From}, nil
}

// newest takes the newest version that some store or source has (ART-12).
func (in *installer) newest(ctx context.Context, full names.Full) (fetched, error) {
	ref, err := newest(ctx, in.sources, full, in.Host)
	if ctx.Err() != nil || len(in.remote.Sources.For(full.Scope)) == 0 {
		if err != nil {
			return fetched{}, err
		}
		return in.byVersion(ctx, ref)
	}
	want := source.Want{Name: full, Platform: in.Host}
	version, serr := in.remote.Sources.Newest(ctx, want)
	switch {
	case serr != nil && (err != nil || diag.CodeOf(serr) != "E-REG-001"):
		return fetched{}, serr // an unknown newest is no newest
	case serr == nil && (err != nil || store.CompareVersions(version, ref.Version) > 0):
		ref = artifact.Ref{Full: full, Version: version}
	}
	return in.byVersion(ctx, ref)
}

// newest picks the newest version some store has of a name.
func newest(ctx context.Context, chain store.Chain, full names.Full, host string) (artifact.Ref, error) {
	ref := artifact.Ref{Full: full}
	for _, s := range chain {
		versions, err := s.Versions(ctx, full, host)
		if err != nil {
			return ref, err
		}
		if n := len(versions); n > 0 && (ref.Version == "" || store.CompareVersions(versions[n-1], ref.Version) > 0) {
			ref.Version = versions[n-1]
		}
	}
	if ref.Version == "" {
		e := diag.Errorf("E-REG-001", "no store has any version of %s%s", full, places(chain)).
			Hint("publish it first with mur-lock publish, or install it by path").
			About(diag.Subject{Kind: diag.Artifact, Name: full.String()}).Name("name@version", full.String())
		return ref, e
	}
	return ref, nil
}

func places(chain store.Chain) string {
	out := ""
	for _, s := range chain {
		out += fmt.Sprintf("\n%s (%s): it has no such artifact", s.Label(), s.Dir())
	}
	return out
}

// offer is what one store has of an artifact.
type offer struct {
	store  *store.Store
	target bool // it is the store to install into
	found  *store.Found
	err    error
}

// fromStores asks the stores and takes the best offer. pinned says that the lock
// has nothing against it.
func (in *installer) fromStores(ctx context.Context, ref artifact.Ref) (f fetched, pinned bool, err error) {
	var offers []offer
	for _, s := range in.sources {
		f, err := s.Resolve(ctx, ref, in.Host)
		if ctx.Err() != nil {
			return fetched{}, false, context.Cause(ctx)
		}
		offers = append(offers, offer{store: s, target: s == in.target, found: f, err: err})
	}
	pin, _ := in.lock.Find(ref.Full)
	best, err := choose(ref, offers, pin, in.Host)
	if err != nil {
		return fetched{}, false, err
	}
	it, err := best.found.Item(in.Host) // an untagged native program is stored with its tag
	if err != nil {
		return fetched{}, false, err
	}
	return fetched{item: it, stored: best.target && it.Platform == best.found.Platform}, in.isPinned(ref, it.SHA256), nil
}

// signed tells whether an artifact has the signature that is demanded, if any is.
func (in *installer) signed(ctx context.Context, it *store.Item) bool {
	_, err := in.Trust.Check(ctx, in.Trust.Artifacts, it.Attestations, provenance.Subject{Name: it.Ref.String(), SHA256: it.SHA256})
	return err == nil
}

// isPinned tells whether the lock has this hash for a reference, or none.
func (in *installer) isPinned(ref artifact.Ref, sha256 string) bool {
	pin, ok := in.lock.Find(ref.Full)
	if !ok || pin.Version != ref.Version {
		return true
	}
	want, ok := pin.SHA256.For(in.Host)
	return !ok || want == sha256
}

// choose takes, of what the stores offer, the bytes the lock pins, else the first
// sound ones. A damaged copy in one store does not stand in the way of a sound
// one in another: installing is its cure. With no sound offer the first failure
// that is not not-found decides, else E-REG-001.
func choose(ref artifact.Ref, offers []offer, pin lockfile.Entry, host string) (offer, error) {
	var first *offer
	missing := &store.NotFoundError{Ref: ref}
	var failed error
	for i, o := range offers {
		var nf *store.NotFoundError
		switch {
		case errors.As(o.err, &nf):
			missing.Places = append(missing.Places, nf.Places...)
		case o.err != nil:
			if failed == nil {
				failed = o.err
			}
		default:
			if want, ok := pin.SHA256.For(host); ok && pin.Version == ref.Version && want == o.found.SHA256 {
				return o, nil
			}
			if first == nil {
				first = &offers[i]
			}
		}
	}
	switch {
	case first != nil:
		return *first, nil
	case failed != nil:
		return offer{}, failed
	}
	return offer{}, missing.Diagnostic().Hint("publish it first with mur-lock publish, or install it by path")
}
