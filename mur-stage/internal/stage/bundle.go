package stage

import (
	"context"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/layout"
)

// opened is a bundle that takes the place of a project directory: unpacked in the
// murmur home, its manifest and lock are those of the bundle's own bytes, and its
// store is the only one that is asked (SES-265).
type opened struct {
	*bundle.Bundle
	ref string // the address or digest it was asked for by, "" for a file
	*bundle.Unpacked
}

// openBundle reads and unpacks the bundle of --bundle. What is unpacked stays for
// the launch and for other sessions; it asks no network.
func (s *staging) openBundle(ctx context.Context) error {
	if s.opts.Bundle == "" {
		return nil
	}
	if err := s.readTrust(); err != nil {
		return err
	}
	o := bundle.Options{Limits: artifact.LimitsOf(s.environ), Host: artifact.Host(), Running: s.in.Version}
	shelf := bundle.ShelfOf(s.home)
	b := &opened{}
	var err error
	if strings.HasPrefix(s.opts.Bundle, "oci://") || layout.IsDigest(s.opts.Bundle) {
		b.ref = s.opts.Bundle
		b.Bundle, err = shelf.Find(b.ref, o)
	} else {
		b.Bundle, err = bundle.ReadFile(s.abs(s.opts.Bundle), o)
	}
	if err != nil {
		return err
	}
	if _, err := b.Check(ctx, *s.trust); err != nil {
		return err
	}
	if err := forHost(b.Bundle, o.Host); err != nil {
		return err
	}
	if b.Unpacked, err = shelf.Unpack(ctx, b.Bundle, o); err != nil {
		return err
	}
	s.bundle = b
	return nil
}

// forHost is E-RUN-003 for a bundle with a program of another platform (ART-212).
func forHost(b *bundle.Bundle, host string) error {
	for _, pin := range b.Lock.Entries {
		if _, ok := pin.SHA256.For(host); !ok {
			tags := strings.Join(pin.SHA256.Tags(), ", ")
			return diag.Errorf("E-RUN-003", "the bundle %s@%s holds %s for %s, not for this host (%s)", b.Name, b.Version, pin.Ref(), tags, host).
				Hint("bundle the capsule on a host of this platform: mur-lock bundle").
				About(diag.Subject{Kind: diag.LockEntry, Name: pin.Name.String()}).
				Name("entry", pin.Name.String()).Name("platforms", tags)
		}
	}
	return nil
}

// releaseBundle lets what was unpacked be removed. It is called when the document
// is published, which keeps it from then on, or will never be.
func (s *staging) releaseBundle() {
	if s.bundle != nil {
		s.bundle.Release()
	}
}

// readTrust reads whose signatures count here and what must have one. A second
// call changes nothing.
func (s *staging) readTrust() error {
	if s.trust != nil {
		return nil
	}
	if err := s.findHome(); err != nil {
		return err
	}
	// Its warnings are raised when the configuration is read for good.
	cfg, _, err := config.Load(s.home, s.in.Dir)
	if err != nil {
		return err
	}
	t, err := provenance.Open(cfg.Trust.Artifacts(), cfg.Trust.Bundles(), cfg.Trust.Keys)
	s.trust = &t
	return err
}

// checkSigned refuses an artifact of a store without the signature that is
// demanded. In a bundle the bundle's own stands for all (ART-217).
func (s *staging) checkSigned(ctx context.Context, found *store.Found) error {
	demanded := s.trust.Artifacts && s.bundle == nil
	_, err := s.trust.Check(ctx, demanded, found.Attestations, provenance.Subject{Name: found.Ref.String(), SHA256: found.SHA256})
	return err
}

// bundleMember names the bundle in the document, nil without one.
func (s *staging) bundleMember() *session.Bundle {
	if s.bundle == nil {
		return nil
	}
	return &session.Bundle{Digest: s.bundle.Digest, Ref: optional(s.bundle.ref)}
}
