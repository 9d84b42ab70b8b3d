package oci

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/store/source"
)

// The types of what mur keeps in registries.
const (
	ArtifactType    = "application/vnd.mur.artifact.v1"
	ArchiveType     = "application/vnd.mur.archive.v1+zip"
	AttestationType = "application/vnd.in-toto+dsse"
)

// Artifact makes the OCI artifact of an archive. The same archive gives the same
// digest.
func Artifact(ref artifact.Ref, platform string, archive []byte) (*layout.Content, error) {
	annotations := map[string]string{
		layout.TitleKey:   ref.Full.Name,
		layout.VersionKey: ref.Version,
	}
	if platform != "" {
		annotations[platformKey] = platform
	}
	return layout.New(ArtifactType, []layout.Layer{{
		MediaType: ArchiveType, Title: artifact.FileName(ref.Full.Name, ref.Version, platform), Data: archive,
	}}, annotations, nil)
}

const platformKey = "dev.mur.platform"

// Attestation makes the OCI artifact of a DSSE envelope about another.
func Attestation(envelope []byte, subject layout.Descriptor) (*layout.Content, error) {
	subject.Data, subject.Annotations = nil, nil
	return layout.New(AttestationType, []layout.Layer{{MediaType: AttestationType, Data: envelope}}, nil, &subject)
}

// Lookup finds what an address leads to: by digest or tag, and without either
// the newest version. It returns the address with the tag that was taken. The
// artifactType is one of types.
func (c *Client) Lookup(ctx context.Context, a Address, types []string, platform string, limit int64, progress source.Progress) (Address, *layout.Content, error) {
	if a.Tag != "" || a.Digest != "" {
		content, err := c.Pull(ctx, a, types, limit, progress)
		return a, content, err
	}
	v, err := c.newest(ctx, a, platform)
	if err == nil && v == "" {
		err = &source.AbsentError{Reason: "it has no version of " + a.String()}
	}
	if err != nil {
		return a, nil, err
	}
	return c.version(ctx, a, types, v, platform, limit, progress)
}

// version fetches one version: what any platform can use, else the platform's
// own.
func (c *Client) version(ctx context.Context, a Address, types []string, version, platform string, limit int64, progress source.Progress) (Address, *layout.Content, error) {
	for _, p := range []string{"", platform} {
		var err error
		if a.Tag, err = Tag(version, p); err != nil {
			return a, nil, err
		}
		content, err := c.Pull(ctx, a, types, limit, progress)
		var absent *source.AbsentError
		if errors.As(err, &absent) {
			continue
		}
		return a, content, err
	}
	a.Tag, _ = Tag(version, "")
	return a, nil, &source.AbsentError{Reason: fmt.Sprintf("it has no %s, and none for %s", a, platform)}
}

// Got reads an artifact that was looked up, and what is signed about it when
// attested is set.
func (c *Client) Got(ctx context.Context, a Address, content *layout.Content, attested bool) (source.Got, error) {
	layers := content.Manifest.Layers
	if len(layers) != 1 || layers[0].MediaType != ArchiveType {
		return source.Got{}, diag.Errorf("E-IO-003", "%s is no artifact of mur: one layer of type %s is expected", a, ArchiveType).
			About(diag.Subject{Kind: diag.Artifact, Name: a.String()}).Name("name@version", a.String()).Name("reason", "other layers")
	}
	got := source.Got{
		Scope: a.Scope(), Version: content.Manifest.Annotations[layout.VersionKey],
		Bytes: content.Layer(0), SHA256: strings.TrimPrefix(layers[0].Digest, layout.Prefix),
		Platform: content.Manifest.Annotations[platformKey], From: a.At(content.Digest).String(),
	}
	if attested {
		about, err := c.About(ctx, a, content.Describe())
		if err != nil {
			return source.Got{}, err
		}
		for _, x := range about {
			got.Attestations = append(got.Attestations, x.Layer(0))
		}
	}
	return got, nil
}

// newest is the newest version among the tags of a repository that the platform
// can use; other tags are none of mur's or name moving things.
func (c *Client) newest(ctx context.Context, a Address, platform string) (string, error) {
	repo, err := c.repository(ctx, a)
	if err != nil {
		return "", answer(a, err)
	}
	ctx, cancel := context.WithTimeout(ctx, source.MetadataTimeout)
	defer cancel()
	best, seen := "", 0
	err = repo.Tags(ctx, "", func(tags []string) error {
		if seen += len(tags); seen > maxTags {
			return fmt.Errorf("it has more than %d tags", maxTags)
		}
		for _, t := range tags {
			if v, ok := versionOf(t, platform); ok && (best == "" || store.CompareVersions(v, best) > 0) {
				best = v
			}
		}
		return nil
	})
	return best, answer(a, err)
}

const maxTags = 100_000

// versionOf is the version a tag stands for on a platform.
func versionOf(tag, platform string) (string, bool) {
	for _, p := range artifact.Platforms() {
		if rest, ok := strings.CutSuffix(tag, "-"+p); ok {
			if p != platform {
				return "", false
			}
			tag = rest
		}
	}
	v := strings.ReplaceAll(tag, "_", "+")
	return v, v != "" && names.CheckVersion(v) == nil
}

// Source is a place in a registry as a source (ART-59).
type Source struct {
	Name     string // as configured
	Base     Base
	Client   *Client
	Limits   artifact.Limits
	Attested bool // attestations are asked for too
}

// Label is the source's name.
func (s *Source) Label() string { return s.Name }

// Address is where it is.
func (s *Source) Address() string { return s.Base.String() }

// Scope is the scope of all it has.
func (s *Source) Scope() string { return s.Base.Scope() }

// Newest implements source.Source.
func (s *Source) Newest(ctx context.Context, name names.Full, platform string) (string, error) {
	return s.Client.newest(ctx, s.Base.Of(name.Name), platform)
}

// Fetch implements source.Source.
func (s *Source) Fetch(ctx context.Context, want source.Want, progress source.Progress) (source.Got, error) {
	a, content, err := s.Client.version(ctx, s.Base.Of(want.Name.Name), []string{ArtifactType}, want.Version, want.Platform, s.Limits.ArchiveBytes(), progress)
	if err != nil {
		return source.Got{}, err
	}
	return s.Client.Got(ctx, a, content, s.Attested)
}
