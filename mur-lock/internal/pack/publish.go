package pack

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/oci"
	"github.com/mur-capsules/mur/lib/store/source"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// PublishOptions of a publish.
type PublishOptions struct {
	Archive  string // absolute; "" for the project's own
	Scope    string
	Platform string // "" for the host's, when the payload is native

	// Registry is where to publish to: nil for the global store.
	Registry *Registry
}

// Registry is a place in a registry to publish to.
type Registry struct {
	Client   *oci.Client
	Base     oci.Base
	Progress source.Progress
}

// Publish stores an archive in the global store or a registry, without ever
// overwriting (ART-54, ART-181).
func Publish(ctx context.Context, p *project.Places, o PublishOptions) (report.Row, error) {
	if err := project.CheckScope(o.Scope); err != nil {
		return report.Row{}, err
	}
	path := o.Archive
	if path == "" {
		var err error
		if path, err = ownArchive(p); err != nil {
			return report.Row{}, err
		}
	}
	data, err := readArchive(path, p.Limits)
	if err != nil {
		return report.Row{}, err
	}
	platform := o.Platform
	if platform == "" {
		platform = p.Host
	}
	it, err := store.NewItem(data, artifact.Ref{Full: names.Full{Scope: o.Scope}}, platform, p.Limits, path)
	if err != nil {
		return report.Row{}, err
	}
	if err := project.CheckNativePlatform(it); err != nil {
		return report.Row{}, err
	}
	if it.Attestations, err = project.Beside(path); err != nil {
		return report.Row{}, err
	}
	if o.Registry != nil {
		if err := it.Archive.Examine(ctx); err != nil {
			return report.Row{}, artifact.Fault(path, err)
		}
		return o.Registry.push(ctx, it)
	}
	stored, err := p.Global.Put(ctx, it, false)
	row := report.Row{
		Name: it.Ref.Full.String(), Version: it.Ref.Version, SHA256: it.SHA256,
		Outcome: report.Published, Store: p.Global.Label(), Path: stored, Platform: it.Platform,
	}
	if err != nil {
		return row, err
	}
	row.Text = fmt.Sprintf("published %s%s in the global store (sha256 %s)", it.Ref, project.ForPlatform(it.Platform), it.SHA256)
	return row, nil
}

// push brings an item to the registry. Its scope is the registry's place (ART-64).
func (r *Registry) push(ctx context.Context, it *store.Item) (report.Row, error) {
	it.Ref.Full.Scope = r.Base.Scope()
	row := report.Row{
		Name: it.Ref.Full.String(), Version: it.Ref.Version, SHA256: it.SHA256,
		Outcome: report.Published, Platform: it.Platform,
	}
	to := r.Base.Of(it.Ref.Full.Name)
	var err error
	if to.Tag, err = oci.Tag(it.Ref.Version, it.Platform); err != nil {
		return row, err
	}
	content, err := oci.Artifact(it.Ref, it.Platform, it.Bytes)
	if err != nil {
		return row, err
	}
	if err := r.Client.Push(ctx, to, content, r.Progress); err != nil {
		return row, err
	}
	row.Source = to.At(content.Digest).String()
	for _, envelope := range it.Attestations {
		about, err := oci.Attestation(envelope, content.Describe())
		if err != nil {
			return row, err
		}
		if err := r.Client.Push(ctx, to.Bare(), about, nil); err != nil {
			return row, fmt.Errorf("%s is published, and what is signed about it is not: %w", row.Source, err)
		}
	}
	row.Text = fmt.Sprintf("published %s%s as %s (sha256 %s)", it.Ref, project.ForPlatform(it.Platform), row.Source, it.SHA256)
	return row, nil
}

// ownArchive is the archive the project's pack writes.
func ownArchive(p *project.Places) (string, error) {
	if err := p.Need(); err != nil {
		return "", err
	}
	text, err := p.ManifestBytes()
	if err != nil {
		return "", err
	}
	m, _, err := manifest.ParseArtifact(p.ManifestPath(), text, manifest.ArtifactOptions{})
	if err != nil {
		return "", err
	}
	return filepath.Join(p.Root, artifact.FileName(m.Name, m.Version, "")), nil
}
