// Package layout is one OCI artifact in memory: an image manifest with an
// artifactType and the empty config, as the OCI image specification 1.1 advises
// for things that are no images, and the blobs it names. It goes over the network
// (store/oci) or into one file, an OCI image layout in a tar (tar.go).
//
// A Content is always whole and verified: every blob its manifest names is there
// with the size and SHA-256 that the manifest says. Its bytes depend on what it
// was made of alone, so the same things have the same digest on every machine.
// Package layout knows nothing of what the layers mean and touches neither disk
// nor network.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Media types of the OCI image specification.
const (
	ManifestType = "application/vnd.oci.image.manifest.v1+json"
	IndexType    = "application/vnd.oci.image.index.v1+json"
	EmptyType    = "application/vnd.oci.empty.v1+json"
)

// Annotations of the OCI image specification that are used here.
const (
	TitleKey   = "org.opencontainers.image.title"
	VersionKey = "org.opencontainers.image.version"
)

// Limits of what is read, in bytes and in number.
const (
	MaxManifest = 4 << 20 // as registries have it
	MaxLayers   = 10_000
)

// Digest is "sha256:" and the hash of data in lower-case hex.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return Prefix + hex.EncodeToString(sum[:])
}

// Prefix begins every digest; no other hash is used.
const Prefix = "sha256:"

// IsDigest reports whether s is "sha256:" and 64 lower-case hex digits.
func IsDigest(s string) bool {
	h, ok := strings.CutPrefix(s, Prefix)
	return ok && len(h) == 64 && strings.Trim(h, "0123456789abcdef") == ""
}

// Descriptor says what bytes are: their type, hash and number.
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Data         []byte            `json:"data,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	ArtifactType string            `json:"artifactType,omitempty"`
}

// Title is the descriptor's title annotation, "" when it has none.
func (d Descriptor) Title() string { return d.Annotations[TitleKey] }

// Manifest is an image manifest.
type Manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        Descriptor        `json:"config"`
	Layers        []Descriptor      `json:"layers"`
	Subject       *Descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// emptyJSON is the content of the empty descriptor.
var emptyJSON = []byte("{}")

func emptyConfig() Descriptor {
	return Descriptor{MediaType: EmptyType, Digest: Digest(emptyJSON), Size: 2, Data: emptyJSON}
}

// Layer is content to be put into an artifact.
type Layer struct {
	MediaType string
	Title     string
	Data      []byte
}

// Content is one OCI artifact with all its bytes. It is not to be changed.
type Content struct {
	Manifest Manifest
	Raw      []byte // the manifest's bytes
	Digest   string // of Raw

	blobs map[string][]byte // by digest: the config's and the layers'
}

// New makes an artifact of layers. subject is what it is about, nil for none.
func New(artifactType string, layers []Layer, annotations map[string]string, subject *Descriptor) (*Content, error) {
	c := &Content{blobs: map[string][]byte{Digest(emptyJSON): emptyJSON}}
	c.Manifest = Manifest{
		SchemaVersion: 2, MediaType: ManifestType, ArtifactType: artifactType,
		Config: emptyConfig(), Layers: []Descriptor{}, Subject: subject, Annotations: annotations,
	}
	for _, l := range layers {
		d := Descriptor{MediaType: l.MediaType, Digest: Digest(l.Data), Size: int64(len(l.Data))}
		if l.Title != "" {
			d.Annotations = map[string]string{TitleKey: l.Title}
		}
		c.Manifest.Layers = append(c.Manifest.Layers, d)
		c.blobs[d.Digest] = l.Data
	}
	raw, err := json.Marshal(c.Manifest)
	if err != nil {
		return nil, err
	}
	if _, err := ParseManifest(raw); err != nil {
		return nil, err
	}
	c.Raw, c.Digest = raw, Digest(raw)
	return c, nil
}

// ParseManifest reads the bytes of a manifest and refuses what is no artifact of
// the form New makes: another schema or media type, no artifactType, a config
// that is not the empty one, no or too many layers, hashes other than SHA-256,
// sizes below zero. The error says what is wrong in words that follow the name
// of where the manifest came from.
func ParseManifest(raw []byte) (Manifest, error) {
	if len(raw) > MaxManifest {
		return Manifest{}, fmt.Errorf("its manifest is larger than %d bytes", MaxManifest)
	}
	var m Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return Manifest{}, fmt.Errorf("its manifest is not JSON of an image manifest: %w", err)
	}
	switch {
	case m.SchemaVersion != 2:
		return Manifest{}, fmt.Errorf("its manifest has schemaVersion %d, not 2", m.SchemaVersion)
	case m.MediaType != ManifestType:
		return Manifest{}, fmt.Errorf("its manifest has the media type %q, not %s", m.MediaType, ManifestType)
	case m.ArtifactType == "":
		return Manifest{}, errors.New("its manifest has no artifactType; is it an image?")
	case m.Config.MediaType != EmptyType || m.Config.Digest != Digest(emptyJSON) || m.Config.Size != 2:
		return Manifest{}, fmt.Errorf("its manifest has a config of type %q, not the empty one", m.Config.MediaType)
	case len(m.Layers) == 0:
		return Manifest{}, errors.New("its manifest has no layers")
	case len(m.Layers) > MaxLayers:
		return Manifest{}, fmt.Errorf("its manifest has %d layers, more than %d", len(m.Layers), MaxLayers)
	}
	for i, d := range m.Layers {
		if err := d.check(); err != nil {
			return Manifest{}, fmt.Errorf("layer %d of its manifest: %w", i, err)
		}
	}
	if m.Subject != nil {
		if err := m.Subject.check(); err != nil {
			return Manifest{}, fmt.Errorf("the subject of its manifest: %w", err)
		}
	}
	return m, nil
}

func (d Descriptor) check() error {
	switch {
	case !IsDigest(d.Digest):
		return fmt.Errorf("the digest %q is not %s and 64 lower-case hex digits", d.Digest, Prefix)
	case d.Size < 0:
		return fmt.Errorf("the size %d is below zero", d.Size)
	case d.MediaType == "":
		return errors.New("it has no media type")
	}
	return nil
}

// A MismatchError says that bytes are not those a descriptor promises.
type MismatchError struct {
	What             string // such as "layer 3 (x.mur.zip)"
	Expected, Actual string // digests
	ExpectedSize     int64
	ActualSize       int64
}

// Error names both hashes, and the sizes where these differ.
func (e *MismatchError) Error() string {
	if e.ActualSize != e.ExpectedSize {
		return fmt.Sprintf("%s has %d bytes and not %d", e.What, e.ActualSize, e.ExpectedSize)
	}
	return fmt.Sprintf("%s does not have the expected hash: expected %s, actual %s", e.What, e.Expected, e.Actual)
}

// Verify compares bytes with what a descriptor promises. The error is a
// *MismatchError.
func (d Descriptor) Verify(what string, data []byte) error {
	if actual := Digest(data); actual != d.Digest || int64(len(data)) != d.Size {
		return &MismatchError{What: what, Expected: d.Digest, Actual: actual, ExpectedSize: d.Size, ActualSize: int64(len(data))}
	}
	return nil
}

// Assemble makes a Content of a manifest's bytes and a function that gets the
// bytes of each layer, which are verified here whoever got them. limit bounds
// the sum of the layers in bytes; nothing is fetched when the manifest promises
// more. An error of fetch is returned as it is.
func Assemble(raw []byte, limit int64, fetch func(i int, d Descriptor) ([]byte, error)) (*Content, error) {
	m, err := ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	var sum int64
	for _, d := range m.Layers {
		if d.Size > limit-sum {
			return nil, fmt.Errorf("its layers have more than %d bytes together", limit)
		}
		sum += d.Size
	}
	c := &Content{Manifest: m, Raw: slices.Clone(raw), Digest: Digest(raw), blobs: map[string][]byte{Digest(emptyJSON): emptyJSON}}
	for i, d := range m.Layers {
		data, ok := c.blobs[d.Digest]
		if !ok {
			if data, err = fetch(i, d); err != nil {
				return nil, err
			}
		}
		if err := d.Verify(layerName(i, d), data); err != nil {
			return nil, err
		}
		c.blobs[d.Digest] = data
	}
	return c, nil
}

func layerName(i int, d Descriptor) string {
	if t := d.Title(); t != "" {
		return fmt.Sprintf("layer %d (%q)", i, t)
	}
	return fmt.Sprintf("layer %d", i)
}

// Layer returns the bytes of a layer.
func (c *Content) Layer(i int) []byte { return c.blobs[c.Manifest.Layers[i].Digest] }

// Blob returns the bytes of a digest that the manifest names, and whether it
// does.
func (c *Content) Blob(digest string) ([]byte, bool) {
	data, ok := c.blobs[digest]
	return data, ok
}

// Blobs returns the digests of config and layers, each once, sorted.
func (c *Content) Blobs() []string {
	var out []string
	for d := range c.blobs {
		out = append(out, d)
	}
	slices.Sort(out)
	return out
}

// Describe is the descriptor of the artifact itself.
func (c *Content) Describe() Descriptor {
	return Descriptor{MediaType: ManifestType, Digest: c.Digest, Size: int64(len(c.Raw)), ArtifactType: c.Manifest.ArtifactType}
}
