package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// fetched is an artifact that was found, and what has to happen to it.
type fetched struct {
	item   *store.Item
	stored bool // the target holds these very bytes already
}

// fetch finds the artifact of a request. It writes nothing.
func (in *installer) fetch(ctx context.Context, req artifact.Request) (fetched, error) {
	switch req.Form {
	case artifact.ByPath:
		return in.fromPath(req.Path)
	case artifact.GitHubRelease:
		return fetched{}, diag.Errorf("E-IO-003", "github:%s/%s@%s needs a remote source, and this build installs from stores and paths alone", req.Owner, req.Repo, req.Tag).
			Hint("download the release's %s files and install them by path", artifact.Suffix).
			Name("path", "github:"+req.Owner+"/"+req.Repo+"@"+req.Tag).Name("reason", "no remote sources")
	case artifact.Newest:
		ref, err := newest(ctx, in.sources, req.Ref.Full, in.Host)
		if err != nil {
			return fetched{}, err
		}
		return in.fromStores(ctx, ref)
	}
	return in.fromStores(ctx, req.Ref)
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
	return fetched{item: it}, err
}

// offer is what one store has of an artifact.
type offer struct {
	store  *store.Store
	target bool // it is the store to install into
	found  *store.Found
	err    error
}

// fromStores asks the stores and takes the best offer.
func (in *installer) fromStores(ctx context.Context, ref artifact.Ref) (fetched, error) {
	var offers []offer
	for _, s := range in.sources {
		f, err := s.Resolve(ctx, ref, in.Host)
		if ctx.Err() != nil {
			return fetched{}, context.Cause(ctx)
		}
		offers = append(offers, offer{store: s, target: s == in.target, found: f, err: err})
	}
	pin, _ := in.lock.Find(ref.Full)
	best, err := choose(ref, offers, pin, in.Host)
	if err != nil {
		return fetched{}, err
	}
	platform := best.found.Platform
	if platform == "" {
		platform = in.Host // an untagged native program is stored with its tag
	}
	it, err := store.NewItem(best.found.Bytes, ref, platform, in.Limits, ref.String())
	if err != nil {
		return fetched{}, err
	}
	return fetched{item: it, stored: best.target && it.Platform == best.found.Platform}, nil
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
