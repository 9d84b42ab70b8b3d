package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/store/source"
)

var noPrefixes = []netip.Prefix{}

// maxAttestations bounds what is read about one artifact.
const (
	maxAttestations     = 32
	maxAttestationBytes = 1 << 20
)

// Pull gets what an address leads to: by its digest when it has one, else by its
// tag. Its artifactType must be one of types. limit bounds the sum of its layers
// in bytes. The error is a *source.AbsentError, E-REG-002 for bytes that are not
// those promised, E-IO-003 for something else than was wanted, and anything else
// when the registry did not answer.
func (c *Client) Pull(ctx context.Context, a Address, types []string, limit int64, progress source.Progress) (*layout.Content, error) {
	repo, err := c.repository(ctx, a)
	if err != nil {
		return nil, answer(a, err)
	}
	raw, err := c.manifest(ctx, repo, a)
	if err != nil {
		return nil, answer(a, err)
	}
	m, err := layout.ParseManifest(raw)
	if err == nil && !contains(types, m.ArtifactType) {
		err = fmt.Errorf("it is a %q, not a %s", m.ArtifactType, types[0])
	}
	if err != nil {
		return nil, diag.Errorf("E-IO-003", "%s is no artifact of mur: %w", a, err).
			About(diag.Subject{Kind: diag.Artifact, Name: a.String()}).Name("name@version", a.String()).Name("reason", err.Error())
	}
	content, err := layout.Assemble(raw, limit, func(i int, d layout.Descriptor) ([]byte, error) {
		what := d.Title()
		if what == "" {
			what = a.Name()
		}
		return c.blob(ctx, repo, d, what, limit, progress)
	})
	if errors.Is(err, errdef.ErrNotFound) {
		// The manifest is there and what it lists is not: that is no absence.
		err = fmt.Errorf("it has the manifest and not the layer %s", err)
	}
	return content, answer(a, err)
}

func contains(types []string, t string) bool {
	for _, x := range types {
		if x == t {
			return true
		}
	}
	return false
}

func (c *Client) manifest(ctx context.Context, repo *remote.Repository, a Address) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, source.MetadataTimeout)
	defer cancel()
	ref := a.Digest
	if ref == "" {
		ref = a.Tag
	}
	desc, rc, err := repo.Manifests().FetchReference(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	raw, err := io.ReadAll(io.LimitReader(rc, layout.MaxManifest+1))
	if err != nil {
		return nil, err
	}
	want := a.Digest
	if want == "" {
		want = desc.Digest.String()
	}
	if got := layout.Digest(raw); got != want {
		return nil, &layout.MismatchError{What: "the manifest", Expected: want, Actual: got, ExpectedSize: int64(len(raw)), ActualSize: int64(len(raw))}
	}
	return raw, nil
}

func descriptor(d layout.Descriptor) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: digest.Digest(d.Digest), Size: d.Size, ArtifactType: d.ArtifactType, Annotations: d.Annotations}
}

func (c *Client) blob(ctx context.Context, repo *remote.Repository, d layout.Descriptor, what string, limit int64, progress source.Progress) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	rc, err := repo.Blobs().Fetch(ctx, descriptor(d))
	if err != nil {
		return nil, c.sized(ctx, repo, d, what, err)
	}
	// A byte more than promised is enough to see that the promise is broken.
	data, err := source.ReadAll(ctx, rc, cancel, what, d.Size, min(d.Size+1, limit), source.IdleTimeout, progress)
	if errors.Is(err, source.ErrTooLarge) {
		return nil, &layout.MismatchError{What: what, Expected: d.Digest, ExpectedSize: d.Size, ActualSize: d.Size + 1}
	}
	return data, err
}

// sized tells a blob that a registry has in another size, which its client
// library reports as any error, from one that it does not give.
func (c *Client) sized(ctx context.Context, repo *remote.Repository, d layout.Descriptor, what string, err error) error {
	if errors.Is(err, errdef.ErrNotFound) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, source.MetadataTimeout)
	defer cancel()
	if has, rerr := repo.Blobs().Resolve(ctx, d.Digest); rerr == nil && has.Size != d.Size {
		return &layout.MismatchError{What: fmt.Sprintf("%q", what), Expected: d.Digest, ExpectedSize: d.Size, ActualSize: has.Size}
	}
	return err
}

// About gets the attestations a registry has of an artifact, each with its bytes;
// what is too large or of another form is left out. A registry that knows of none
// has none.
func (c *Client) About(ctx context.Context, a Address, subject layout.Descriptor) ([]*layout.Content, error) {
	repo, err := c.repository(ctx, a)
	if err != nil {
		return nil, answer(a, err)
	}
	ctx, cancel := context.WithTimeout(ctx, source.MetadataTimeout)
	defer cancel()
	var found []ocispec.Descriptor
	errEnough := errors.New("enough")
	err = repo.Referrers(ctx, descriptor(subject), AttestationType, func(page []ocispec.Descriptor) error {
		for _, d := range page {
			if len(found) == maxAttestations {
				return errEnough
			}
			if d.Size <= maxAttestationBytes && layout.IsDigest(d.Digest.String()) {
				found = append(found, d)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, answer(a, err)
	}
	var out []*layout.Content
	for _, d := range found {
		content, err := c.Pull(ctx, a.At(d.Digest.String()), []string{AttestationType}, maxAttestationBytes, nil)
		if err != nil {
			return nil, err
		}
		if s := content.Manifest.Subject; s != nil && s.Digest == subject.Digest {
			out = append(out, content)
		}
	}
	return out, nil
}

// Exists reports whether something has the address.
func (c *Client) Exists(ctx context.Context, a Address) (bool, error) {
	repo, err := c.repository(ctx, a)
	if err != nil {
		return false, answer(a, err)
	}
	ctx, cancel := context.WithTimeout(ctx, source.MetadataTimeout)
	defer cancel()
	ref := a.Digest
	if ref == "" {
		ref = a.Tag
	}
	_, err = repo.Resolve(ctx, ref)
	var absent *source.AbsentError
	switch err = answer(a, err); {
	case errors.As(err, &absent):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// Push brings an artifact to an address: its blobs, its manifest, and then the
// tag, so that nobody sees half of it. What lies under a tag is never replaced:
// E-REG-003. (A registry has no way to make that hold against a second pusher in
// the same moment.) Without a tag it is only reachable by digest.
func (c *Client) Push(ctx context.Context, a Address, content *layout.Content, progress source.Progress) error {
	if a.Tag != "" {
		there, err := c.Exists(ctx, Address{Registry: a.Registry, Repository: a.Repository, Tag: a.Tag})
		if err != nil {
			return unreachable(a, err)
		}
		if there {
			return diag.Errorf("E-REG-003", "%s is there already, and what is published is never replaced", a).
				Hint("publish it under another version").
				About(diag.Subject{Kind: diag.Artifact, Name: a.String()}).Name("name@version", a.String())
		}
	}
	return unreachable(a, answer(a, c.push(ctx, a, content, progress)))
}

func (c *Client) push(ctx context.Context, a Address, content *layout.Content, progress source.Progress) error {
	repo, err := c.repository(ctx, a)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for i, d := range append([]layout.Descriptor{content.Manifest.Config}, content.Manifest.Layers...) {
		if done[d.Digest] {
			continue
		}
		done[d.Digest] = true
		data, _ := content.Blob(d.Digest)
		what := d.Title()
		if i == 0 || what == "" {
			what = a.Name()
		}
		if err := c.pushBlob(ctx, repo, d, data, what, progress); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, source.MetadataTimeout)
	defer cancel()
	self := descriptor(content.Describe())
	if a.Tag == "" {
		return repo.Manifests().Push(ctx, self, bytes.NewReader(content.Raw))
	}
	return repo.Manifests().PushReference(ctx, self, bytes.NewReader(content.Raw), a.Tag)
}

func (c *Client) pushBlob(ctx context.Context, repo *remote.Repository, d layout.Descriptor, data []byte, what string, progress source.Progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	desc := descriptor(d)
	if there, err := repo.Blobs().Exists(ctx, desc); err == nil && there {
		return nil
	}
	r := &upload{data: bytes.NewReader(data), what: what, total: int64(len(data)), progress: progress}
	r.watch = time.AfterFunc(2*source.IdleTimeout, func() { cancel(fmt.Errorf("nothing was taken for %s", 2*source.IdleTimeout)) })
	defer r.watch.Stop()
	err := repo.Blobs().Push(ctx, desc, r)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return err
}

// upload tells progress of what is read from it, and puts off its watch.
type upload struct {
	data     *bytes.Reader
	what     string
	total    int64
	progress source.Progress
	watch    *time.Timer
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.data.Read(p)
	u.watch.Reset(2 * source.IdleTimeout)
	if u.progress != nil && n > 0 {
		u.progress(u.what, u.total-int64(u.data.Len()), u.total)
	}
	return n, err
}

// Seek lets the client library send the data again.
func (u *upload) Seek(offset int64, whence int) (int64, error) { return u.data.Seek(offset, whence) }

// unreachable gives the failure of a push the code of a source that did not
// answer.
func unreachable(a Address, err error) error {
	if err == nil || diag.CodeOf(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	return diag.Errorf("E-REG-006", "%s: the registry did not take it: %w", a, err).
		About(diag.Subject{Kind: diag.Artifact, Name: a.String()}).
		Name("artifact", a.String()).Name("answers", err.Error())
}
