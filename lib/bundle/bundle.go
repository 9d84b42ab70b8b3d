// Package bundle makes one OCI artifact of a whole capsule: its manifest, its
// lock, the files of its own that the manifest names, and every artifact it takes
// from a store (ART-206 to ART-212). What the manifest says about code, policy
// and the agent is in it and pinned; what belongs to a host is not: no
// configuration, no environment, no credential.
//
// A Bundle that was opened has been checked against itself: its lock pins exactly
// what its manifest declares, each archive has the pinned hash and is what it is
// pinned as, and no file is in it that the manifest does not name. So its digest
// stands for everything a session made of it will run. Package bundle asks no
// network and runs nothing.
package bundle

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/layout"
)

// The types of a bundle and of its layers.
const (
	Type         = "application/vnd.mur.bundle.v1"
	manifestType = "application/vnd.mur.manifest.v1+yaml"
	lockType     = "application/vnd.mur.lock.v3+yaml"
	fileType     = "application/vnd.mur.file.v1"
	archiveType  = "application/vnd.mur.archive.v1+zip"
)

// Suffix ends the name of a bundle's file.
const Suffix = ".bundle.tar"

// maxPath bounds the path of a file in a bundle, in bytes.
const maxPath = 512

// File is a file of the capsule's own directory.
type File struct {
	Path string // relative, with /
	Data []byte
}

// Parts are what a bundle is made of.
type Parts struct {
	Manifest []byte
	Lock     lockfile.Lock // exactly what the manifest takes from stores, in its order
	Files    []File        // in any order
	Items    []*store.Item // in the lock's order
}

// Options say how a bundle is read.
type Options struct {
	Limits  artifact.Limits
	Host    string // platform tag
	Running string // version of the running program
}

// Bundle is a whole capsule. It is not to be changed.
type Bundle struct {
	Name, Version string
	Digest        string // sha256:<hex> of its OCI manifest
	ManifestText  []byte
	LockText      []byte
	Capsule       *manifest.Capsule
	Lock          lockfile.Lock
	Files         []File
	Items         []*store.Item
	Content       *layout.Content
	About         []*layout.Content // attestations that came with it, not verified
}

// Make makes a bundle. The same parts give the same digest. The error is Open's.
func Make(p Parts, o Options) (*Bundle, error) {
	lock, err := p.Lock.Marshal()
	if err != nil {
		return nil, err
	}
	m, _, err := manifest.Parse(manifest.FileName, p.Manifest, manifest.Options{Running: o.Running})
	if err != nil {
		return nil, err
	}
	layers := []layout.Layer{
		{MediaType: manifestType, Title: manifest.FileName, Data: p.Manifest},
		{MediaType: lockType, Title: lockfile.FileName, Data: lock},
	}
	for _, f := range sorted(p.Files) {
		layers = append(layers, layout.Layer{MediaType: fileType, Title: f.Path, Data: f.Data})
	}
	for _, it := range p.Items {
		layers = append(layers, layout.Layer{MediaType: archiveType, Title: itemPath(it), Data: it.Bytes})
	}
	content, err := layout.New(Type, layers, map[string]string{layout.TitleKey: m.Name, layout.VersionKey: m.Version}, nil)
	if err != nil {
		return nil, err
	}
	return Open(content, nil, "the bundle of "+m.Name, o)
}

// itemPath is the title of an archive's layer: its path in a store (ART-50).
func itemPath(it *store.Item) string {
	return it.Ref.Full.String() + "/" + it.Ref.Version + "/" + artifact.FileName(it.Ref.Full.Name, it.Ref.Version, it.Platform)
}

// Open reads a bundle and checks it against itself. what names it in messages.
// The error is E-REG-101 naming what is wrong, or that of manifest, lock or
// archive.
func Open(content *layout.Content, about []*layout.Content, what string, o Options) (*Bundle, error) {
	b := &Bundle{Digest: content.Digest, Content: content, About: about}
	fault := func(format string, args ...any) error {
		reason := fmt.Errorf(format, args...)
		named := what
		if !strings.Contains(what, content.Digest) {
			named += " (" + content.Digest + ")"
		}
		return diag.Errorf("E-REG-101", "%s can not be used: %w", named, reason).
			About(diag.Subject{Kind: diag.Artifact, Name: what}).
			Name("bundle", what).Name("digest", content.Digest).Name("reason", reason.Error())
	}
	if content.Manifest.ArtifactType != Type {
		return nil, fault("it is a %s, not a %s", diag.Quote(content.Manifest.ArtifactType), Type)
	}
	layers := content.Manifest.Layers
	if len(layers) < 2 || layers[0].MediaType != manifestType || layers[1].MediaType != lockType ||
		layers[0].Title() != manifest.FileName || layers[1].Title() != lockfile.FileName {
		return nil, fault("its first layers are not %s and %s", manifest.FileName, lockfile.FileName)
	}
	b.ManifestText, b.LockText = content.Layer(0), content.Layer(1)
	var err error
	if b.Capsule, _, err = manifest.Parse(what+": "+manifest.FileName, b.ManifestText, manifest.Options{Running: o.Running}); err != nil {
		return nil, err
	}
	if b.Lock, err = lockfile.Parse(what+": "+lockfile.FileName, b.LockText); err != nil {
		return nil, err
	}
	b.Name, b.Version = b.Capsule.Name, b.Capsule.Version
	if a := content.Manifest.Annotations; a[layout.TitleKey] != b.Name || a[layout.VersionKey] != b.Version {
		return nil, fault("its annotations say %s %s, its manifest %s %s", diag.Quote(a[layout.TitleKey]), diag.Quote(a[layout.VersionKey]), b.Name, b.Version)
	}
	var archives []int
	for i, d := range layers[2:] {
		switch {
		case d.MediaType == fileType && archives == nil:
			b.Files = append(b.Files, File{d.Title(), content.Layer(i + 2)})
		case d.MediaType == archiveType:
			archives = append(archives, i+2)
		default:
			return nil, fault("its layer %d has the type %s, which is not expected there", i+2, diag.Quote(d.MediaType))
		}
	}
	if err := checkFiles(b.Capsule, b.Files); err != nil {
		return nil, fault("%w", err)
	}
	if err := b.open(archives, what, o); err != nil {
		if diag.CodeOf(err) == "" {
			err = fault("%w", err)
		}
		return nil, err
	}
	return b, nil
}

// open reads the archives: one for each artifact the manifest takes from a store,
// in its order, as the lock pins it.
func (b *Bundle) open(archives []int, what string, o Options) error {
	var declared []manifest.Entry
	for _, e := range b.Capsule.Artifacts {
		if e.Source == "" {
			declared = append(declared, e)
		}
	}
	if len(b.Lock.Entries) != len(declared) || len(archives) != len(declared) {
		return fmt.Errorf("its manifest takes %d artifacts from stores, its lock pins %d and it holds %d", len(declared), len(b.Lock.Entries), len(archives))
	}
	for i, e := range declared {
		ref := artifact.Ref{Full: e.Name, Version: e.Version}
		pin := b.Lock.Entries[i]
		d := b.Content.Manifest.Layers[archives[i]]
		switch {
		case pin.Name != e.Name || pin.Version != e.Version:
			return fmt.Errorf("its lock pins %s where its manifest declares %s", pin.Ref(), ref)
		case pin.Origin.IsRuntime():
			return fmt.Errorf("its lock says that a session pulled %s", ref)
		case len(pin.SHA256.Platforms) > 1:
			return fmt.Errorf("its lock pins %s for several platforms", ref)
		}
		platform, hash := "", pin.SHA256.Any
		for _, tag := range pin.SHA256.Tags() {
			platform, hash = tag, pin.SHA256.Platforms[tag]
		}
		if layout.Prefix+hash != d.Digest {
			return fmt.Errorf("its lock pins %s with the hash %s, and it holds %s", ref, hash, d.Digest)
		}
		it, err := store.NewItem(b.Content.Layer(archives[i]), ref, platform, o.Limits, what+": "+ref.String())
		if err != nil {
			return err
		}
		if (it.Manifest.Kind == manifest.Native) != (platform != "") {
			return fmt.Errorf("its lock pins %s as something else than it is (%s)", ref, it.Manifest.Kind)
		}
		if d.Title() != itemPath(it) {
			return fmt.Errorf("it calls the archive of %s %s", ref, diag.Quote(d.Title()))
		}
		b.Items = append(b.Items, it)
	}
	return nil
}

// Wanted are the paths a capsule's manifest names beneath its directory, as
// written: prompt files and the sources of skills.
func Wanted(c *manifest.Capsule) []string {
	var out []string
	add := func(p string) {
		if p != "" {
			out = append(out, p)
		}
	}
	for _, e := range c.Artifacts {
		add(e.Source)
	}
	if c.Inference != nil {
		add(c.Inference.SystemPromptFile)
		add(c.Inference.Compaction.SystemPromptFile)
	}
	return out
}

// CheckPath says why a path can not be that of a file in a bundle, or nil.
func CheckPath(p string) error {
	switch {
	case p == "" || !utf8.ValidString(p) || len(p) > maxPath:
		return fmt.Errorf("%s is no path of 1 to %d bytes of UTF-8", diag.Quote(p), maxPath)
	case strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "." || p == ".." || strings.HasPrefix(p, "../"):
		return fmt.Errorf("%s is not a plain path beneath the capsule's directory", diag.Quote(p))
	case strings.ContainsFunc(p, unicode.IsControl) || strings.ContainsAny(p, `\:`):
		return fmt.Errorf("%s holds a control character, a backslash or a colon", diag.Quote(p))
	}
	first, _, _ := strings.Cut(p, "/")
	if f := strings.ToLower(first); f == manifest.FileName || f == lockfile.FileName || f == ".murmur" {
		return fmt.Errorf("%s is a name of the bundle's own", diag.Quote(p))
	}
	return nil
}

// checkFiles wants every file to be one the manifest names, and every one it
// names to be there: the prompt files and sources, and a script capsule's
// component.
func checkFiles(c *manifest.Capsule, files []File) error {
	seen := map[string]bool{}
	var root []string
	for _, f := range files {
		if err := CheckPath(f.Path); err != nil {
			return err
		}
		folded := strings.ToLower(f.Path)
		if seen[folded] {
			return fmt.Errorf("it holds %s twice, but for case", diag.Quote(f.Path))
		}
		seen[folded] = true
		if !strings.Contains(f.Path, "/") {
			root = append(root, f.Path)
		}
	}
	for p := range seen {
		for up := path.Dir(p); up != "."; up = path.Dir(up) {
			if seen[up] {
				return fmt.Errorf("it holds %s as a file and as a directory", diag.Quote(up))
			}
		}
	}
	allowed := map[string]bool{}
	if !c.Agent() {
		chosen, hidden, candidates := artifact.Components(root)
		if chosen == "" || len(hidden) > 0 {
			return fmt.Errorf("it must hold one component for its script capsule and holds %d", len(hidden)+len(candidates))
		}
		allowed[chosen] = true
	}
	for _, e := range c.Artifacts {
		if e.Source == "" {
			continue
		}
		if e.Role != policy.Skill {
			return fmt.Errorf("it takes %s from a path, and only a skill can be", e.Name)
		}
		found, err := sourceFile(files, path.Clean(e.Source))
		if err != nil {
			return fmt.Errorf("the source of %s: %w", e.Name, err)
		}
		allowed[found] = true
	}
	if c.Inference != nil {
		for _, p := range []string{c.Inference.SystemPromptFile, c.Inference.Compaction.SystemPromptFile} {
			if p == "" {
				continue
			}
			if p = path.Clean(p); !has(files, p) {
				return fmt.Errorf("it lacks %s, which its manifest names", diag.Quote(p))
			}
			allowed[p] = true
		}
	}
	for _, f := range files {
		if !allowed[f.Path] {
			return fmt.Errorf("it holds %s, which its manifest does not name", diag.Quote(f.Path))
		}
	}
	return nil
}

// sourceFile is the file a skill's source leads to: itself, or the skill.md in it.
func sourceFile(files []File, source string) (string, error) {
	if has(files, source) {
		return source, nil
	}
	found := ""
	for _, f := range files {
		dir, base := path.Split(f.Path)
		if strings.EqualFold(base, "skill.md") && path.Clean(dir) == source {
			if found != "" {
				return "", errors.New("there are two skill texts")
			}
			found = f.Path
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s is not in it", diag.Quote(source))
	}
	return found, nil
}

func has(files []File, p string) bool {
	for _, f := range files {
		if f.Path == p {
			return true
		}
	}
	return false
}
