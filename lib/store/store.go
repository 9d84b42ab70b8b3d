// Package store keeps artifacts in folders: the project store, the global store
// and directories a caller names (ART section 5), and keeps compiled forms
// (section 12).
//
// Resolve hands out bytes whose hash was just compared with the one recorded
// beside them; the caller compiles and lays out those bytes and reads nothing
// again (ART-71, ART-73). A write is all or nothing, also for a reader that looks
// in the middle of one and for a writer that is killed (ART-53). Nothing is read
// or written through a link. Package store asks no network.
package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Labels of the two usual stores (ART-47, ART-48).
const (
	Project = "project"
	Global  = "global"
)

// Store is a folder of artifacts. It need not exist: an absent store holds
// nothing, and the first write makes it. It is safe for concurrent use, by
// several processes too.
type Store struct {
	label  string
	dir    string
	limits artifact.Limits
	open   func(create bool) (*workfs.Root, error)
}

// Folder is the store in the directory dir (absolute), known as label.
func Folder(label, dir string, limits artifact.Limits) *Store {
	opt := workfs.Options{Plain: true, FileMode: workfs.PublicFile, DirMode: workfs.PublicDir}
	return &Store{label: label, dir: dir, limits: limits, open: func(create bool) (*workfs.Root, error) {
		if create {
			if err := os.MkdirAll(dir, workfs.PublicDir); err != nil {
				return nil, err
			}
		}
		return workfs.OpenRoot(dir, opt)
	}}
}

// OfProject is the project store of a project root (ART-47).
func OfProject(root string, limits artifact.Limits) *Store {
	return Folder(Project, filepath.Join(root, ".murmur", "artifacts"), limits)
}

// OfHome is the global store in the murmur home (ART-48). Its directories are
// private and must belong to this user.
func OfHome(home workfs.Home, limits artifact.Limits) *Store {
	return &Store{label: Global, dir: home.Join("artifacts"), limits: limits, open: func(create bool) (*workfs.Root, error) {
		if create {
			return home.Open("artifacts", workfs.Options{Plain: true})
		}
		return home.OpenExisting("artifacts", workfs.Options{Plain: true})
	}}
}

// FindProject returns the nearest directory at or above dir that holds a
// murmur.yaml, and whether there is one.
func FindProject(dir string) (root string, ok bool) {
	for {
		if fi, err := os.Stat(filepath.Join(dir, manifest.FileName)); err == nil && fi.Mode().IsRegular() {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// Label is what the store is called: project, global, or the caller's word.
func (s *Store) Label() string { return s.label }

// Dir is the store's directory.
func (s *Store) Dir() string { return s.dir }

// Place is the directory of one version, whether or not it is there.
func (s *Store) Place(ref artifact.Ref) string {
	return filepath.Join(s.dir, filepath.FromSlash(versionDir(ref)))
}

// Found is an artifact a store answered with.
type Found struct {
	Ref      artifact.Ref
	Store    string // the label of the store that answered
	Path     string // of the archive, for messages and records
	Platform string // tag of the file that answered, "" for the untagged one
	SHA256   string // of Bytes, and equal to the recorded one
	Bytes    []byte
	Archive  *artifact.Archive

	// Attestations are the DSSE envelopes stored beside it; nobody has verified
	// them (ART-215).
	Attestations [][]byte
}

// NotFoundError says that places were asked and none has the artifact.
type NotFoundError struct {
	Ref    artifact.Ref
	Places []PlaceAnswer
}

// PlaceAnswer is what one place said.
type PlaceAnswer struct{ Store, Dir, Reason string }

// Error is E-REG-001's message: the reference and one line for each place.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no store has %s", e.Ref)
	for _, p := range e.Places {
		fmt.Fprintf(&b, "\n%s (%s): %s", p.Store, p.Dir, p.Reason)
	}
	return b.String()
}

// Diagnostic is the error as E-REG-001.
func (e *NotFoundError) Diagnostic() *diag.Error {
	return diag.Errorf("E-REG-001", "%w", e).About(e.Ref.Subject()).Name("name@version", e.Ref.String())
}

// Resolve returns the artifact for a platform: the file tagged with it when that
// is there, else the untagged one (ART-55). The error is a *NotFoundError, or
// E-REG-002 when the bytes do not have the recorded hash, or E-IO-00x.
func (s *Store) Resolve(ctx context.Context, ref artifact.Ref, platform string) (*Found, error) {
	v, err := s.openVersion(ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.notFound(ref, "it has no such artifact")
	}
	if err != nil {
		return nil, s.fault(ref, err)
	}
	defer v.close()
	for _, tag := range []string{platform, ""} {
		f, err := v.read(ref, tag, s.limits)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, s.fault(ref, err)
		}
		f.Store = s.label
		return f, nil
	}
	if held := v.platforms(ref); len(held) > 0 {
		return nil, s.notFound(ref, fmt.Sprintf("it is there for %s alone, not for %s", strings.Join(held, ", "), platform))
	}
	return nil, s.notFound(ref, "it has no such artifact")
}

// Has reports whether Resolve would find the artifact, without reading the
// archive (ART-107).
func (s *Store) Has(ctx context.Context, ref artifact.Ref, platform string) (bool, error) {
	v, err := s.openVersion(ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, s.fault(ref, err)
	}
	defer v.close()
	return v.has(ref, platform) || v.has(ref, ""), nil
}

func (s *Store) notFound(ref artifact.Ref, reason string) error {
	return &NotFoundError{Ref: ref, Places: []PlaceAnswer{{s.label, s.dir, reason}}}
}

func (s *Store) fault(ref artifact.Ref, err error) error {
	if diag.CodeOf(err) != "" {
		return err
	}
	return workfs.Fault(err, fmt.Sprintf("cannot read %s in the %s store", ref, s.label))
}

// Chain is stores in the order they are asked (ART-56).
type Chain []*Store

// Resolve asks each store in turn. Not-found in one falls through, any other
// failure does not. When none has it the error is E-REG-001 with one line for
// each place.
func (c Chain) Resolve(ctx context.Context, ref artifact.Ref, platform string) (*Found, error) {
	all := &NotFoundError{Ref: ref}
	for _, s := range c {
		f, err := s.Resolve(ctx, ref, platform)
		var nf *NotFoundError
		if errors.As(err, &nf) {
			all.Places = append(all.Places, nf.Places...)
			continue
		}
		return f, err
	}
	return nil, all.Diagnostic()
}

// Has reports whether some store has the artifact.
func (c Chain) Has(ctx context.Context, ref artifact.Ref, platform string) (bool, error) {
	for _, s := range c {
		if ok, err := s.Has(ctx, ref, platform); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// version is the directory of one version, held with a shared lock while it is
// read.
type version struct {
	root    *workfs.Root
	lock    *workfs.Lock
	journal journal
}

func versionDir(ref artifact.Ref) string {
	return ref.Full.Scope + "/" + ref.Full.Name + "/" + ref.Version
}

func (s *Store) openVersion(ctx context.Context, ref artifact.Ref) (*version, error) {
	root, err := s.open(false)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Sub(versionDir(ref))
	if err != nil {
		return nil, err
	}
	v := &version{root: dir}
	v.lock, err = dir.LockShared(ctx, guardName)
	if err != nil && !withoutLock(err) {
		dir.Close()
		return nil, err
	}
	if v.journal, err = readJournal(dir); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// withoutLock tells the failures to lock that a reader lives with: a store that
// was copied here has no guard, one of somebody else may not be opened, and some
// file systems have no flock.
func withoutLock(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EROFS)
}

func (v *version) close() {
	if v.lock != nil {
		v.lock.Unlock()
	}
	v.root.Close()
}

// has reports whether archive and hash of a tag are there.
func (v *version) has(ref artifact.Ref, tag string) bool {
	stem := artifact.Stem(ref.Full.Name, ref.Version, tag)
	for _, suffix := range []string{artifact.Suffix, hashSuffix} {
		name, ok := v.journal.current(v.root, stem+suffix)
		if !ok {
			return false
		}
		if st, err := v.root.Stat(name); err != nil || !st.IsRegular() {
			return false
		}
	}
	return true
}

// platforms lists the tags the version is there for.
func (v *version) platforms(ref artifact.Ref) []string {
	var out []string
	for _, tag := range artifact.Platforms() {
		if v.has(ref, tag) {
			out = append(out, tag)
		}
	}
	return out
}

// read reads and verifies the pair of a tag. fs.ErrNotExist means that one of the
// two files is missing.
func (v *version) read(ref artifact.Ref, tag string, limits artifact.Limits) (*Found, error) {
	stem := artifact.Stem(ref.Full.Name, ref.Version, tag)
	recorded, err := v.readFile(stem+hashSuffix, 4096)
	if err != nil {
		return nil, err
	}
	want := strings.TrimSpace(string(recorded))
	data, err := v.readFile(stem+artifact.Suffix, limits.ArchiveBytes())
	if err != nil {
		return nil, err
	}
	f := &Found{Ref: ref, Path: v.root.Join(stem + artifact.Suffix), Platform: tag, Bytes: data, SHA256: artifact.Hash(data)}
	if want == "" {
		return nil, diag.Errorf("E-IO-003", "%s: the hash file %s is empty", ref, v.root.Join(stem+hashSuffix)).
			Hint("install it again: mur-lock install %s", ref).
			About(ref.Subject()).Name("name@version", ref.String()).Name("reason", "empty hash file")
	}
	if f.SHA256 != want {
		return nil, diag.Errorf("E-REG-002", "%s: the bytes of %s do not have the hash recorded beside them: expected %s, actual %s", ref, f.Path, diag.Quote(want), f.SHA256).
			Hint("install it again: mur-lock install %s", ref).
			About(ref.Subject()).Name("name@version", ref.String()).Name("record", v.root.Join(stem+hashSuffix)).
			Name("expected", want).Name("actual", f.SHA256)
	}
	if f.Attestations, err = v.attestations(stem); err != nil {
		return nil, err
	}
	if f.Archive, err = artifact.Open(data, limits); err != nil {
		return nil, artifact.Fault(ref.String(), err)
	}
	return f, nil
}

// attestations reads what is signed about a stem's archive, nothing where no such
// file is.
func (v *version) attestations(stem string) ([][]byte, error) {
	data, err := v.readFile(stem+SignatureSuffix, maxSignatures)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Envelopes(data), nil
}

// Envelopes splits the bytes of a file of attestations, one in each line.
func Envelopes(data []byte) [][]byte {
	var out [][]byte
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, bytes.Clone(line))
		}
	}
	return out
}

func (v *version) readFile(name string, limit int64) ([]byte, error) {
	actual, ok := v.journal.current(v.root, name)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: v.root.Join(name), Err: fs.ErrNotExist}
	}
	return v.root.ReadFile(actual, limit)
}
