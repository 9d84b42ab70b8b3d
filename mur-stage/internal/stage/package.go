package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
)

// capsulePackage is an installed capsule that is staged by its name: the place of
// a project directory is taken by the archive (MAN-3, SES-19).
type capsulePackage struct {
	found *store.Found
	file  session.StagedFile
}

// openPackage finds and verifies the capsule of --capsule (SES-55, SES-243).
func (s *staging) openPackage(ctx context.Context) error {
	ref := s.opts.Capsule
	if ref == nil {
		return nil
	}
	s.dir = s.in.Dir
	if err := s.findHome(); err != nil {
		return err
	}
	found, err := s.stores().Resolve(ctx, *ref, artifact.Host())
	if err != nil {
		return err
	}
	if want := s.opts.CapsuleSHA256; want != "" && want != found.SHA256 {
		return diag.Errorf("E-REG-002", "%s: the stored bytes do not have the hash of --capsule-sha256: expected %s, actual %s", ref, want, found.SHA256).
			In("resolve").About(ref.Subject()).Name("name@version", ref.String()).Name("record", "--capsule-sha256").
			Name("expected", want).Name("actual", found.SHA256)
	}
	if err := s.readTrust(); err != nil {
		return err
	}
	if err := s.checkSigned(ctx, found); err != nil {
		return err
	}
	fi, err := os.Lstat(found.Path)
	if err != nil {
		return workfs.Fault(err, "cannot examine the archive of "+ref.String())
	}
	s.pkg = &capsulePackage{found, session.StagedFile{
		Path: found.Path, SHA256: found.SHA256, Bytes: int64(len(found.Bytes)), Mode: octal(fi.Mode()),
	}}
	return nil
}

// manifestBytes reads the manifest's bytes, from the package or the project, and
// sets the path that messages name.
func (s *staging) manifestBytes() ([]byte, error) {
	if s.pkg != nil {
		s.file = s.pkg.found.Path + "/" + manifest.FileName
		data, err := s.pkg.found.Archive.Manifest()
		return data, artifact.Fault(s.opts.Capsule.String(), err)
	}
	if s.bundle != nil {
		s.dir = s.bundle.Dir
		s.file = filepath.Join(s.dir, manifest.FileName)
		return s.bundle.ManifestText, nil
	}
	s.file = s.abs(s.opts.Manifest)
	if s.opts.Manifest == "" {
		s.file = filepath.Join(s.in.Dir, manifest.FileName)
	}
	s.dir = filepath.Dir(s.file)
	data, err := workfs.ReadFile(s.file, manifest.MaxBytes)
	switch {
	case errors.Is(err, workfs.ErrTooLarge):
		return nil, diag.Errorf("E-MAN-002", "%s is larger than %d bytes", s.file, manifest.MaxBytes).
			In("parse").About(diag.Subject{Kind: diag.Path, Name: s.file}).Name("file", s.file)
	case errors.Is(err, fs.ErrNotExist):
		return nil, diag.Errorf("E-IO-001", "no manifest at %s: %w", s.file, fs.ErrNotExist).
			Hint("run mur-stage in the capsule's directory, or name the manifest with --manifest").
			In("parse").About(diag.Subject{Kind: diag.Path, Name: s.file}).Name("path", s.file)
	}
	return data, workfs.Fault(err, "cannot read the manifest")
}

// companion reads a file the manifest names, of at most limit bytes: beneath the
// manifest's directory, in the package, or at an absolute path. The path it was
// read from is for messages and records. A missing file is fs.ErrNotExist.
func (s *staging) companion(name string, limit int64) (data []byte, from string, err error) {
	if s.pkg == nil || filepath.IsAbs(name) {
		from = name
		if !filepath.IsAbs(name) {
			from = filepath.Join(s.dir, name)
		}
		data, err = workfs.ReadFile(from, limit)
		return data, from, err
	}
	entry := path.Clean(filepath.ToSlash(name))
	from = s.pkg.found.Path + "/" + entry
	if !s.pkg.found.Archive.Has(entry) {
		return nil, from, &fs.PathError{Op: "open", Path: from, Err: fs.ErrNotExist}
	}
	data, err = s.pkg.found.Archive.Read(entry)
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: %w", from, workfs.ErrTooLarge)
	}
	return data, from, err
}

// skillName finds the skill text a local source names: the source itself, or the
// first skill.md, in any case, of the directory it is (MAN-57). It is empty when
// the directory has none; fs.ErrNotExist when there is nothing at all.
func (s *staging) skillName(source string) (string, error) {
	if s.pkg != nil && !filepath.IsAbs(source) {
		dir := path.Clean(filepath.ToSlash(source))
		if s.pkg.found.Archive.Has(dir) {
			return dir, nil
		}
		there := false
		for _, name := range s.pkg.found.Archive.Names() {
			if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
				there = true
				if strings.ToLower(rest) == "skill.md" {
					return name, nil
				}
			}
		}
		if !there {
			return "", fs.ErrNotExist
		}
		return "", nil
	}
	at := source
	if !filepath.IsAbs(source) {
		at = filepath.Join(s.dir, source)
	}
	fi, err := os.Stat(at)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() {
		return source, nil
	}
	entries, err := os.ReadDir(at) // sorted
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.ToLower(e.Name()) == "skill.md" && !e.IsDir() {
			return filepath.Join(source, e.Name()), nil
		}
	}
	return "", nil
}

// choosePackaged finds the script capsule's component in the package (step 7).
func (s *staging) choosePackaged() error {
	entry, err := artifact.ChooseComponent(s.opts.Capsule.String(), s.pkg.found.Archive.Names())
	s.component = &ownGuest{entry: entry, file: s.pkg.file}
	return err
}

// compilePackaged is compileComponent for a package.
func (s *staging) compilePackaged(ctx context.Context) error {
	what := s.opts.Capsule.String()
	if g, ok := s.noted(s.pkg.file.SHA256, wasmhost.Capsule); ok {
		s.component.guest = g
		return nil
	}
	wasm, err := s.pkg.found.Archive.Read(s.component.entry)
	if err != nil {
		return artifact.Fault(what, err)
	}
	s.component.guest, err = s.prepare(ctx, what, s.component.entry, wasm, s.pkg.file.SHA256, wasmhost.Capsule)
	return err
}

// named is a path of the manifest as messages name it.
func (s *staging) named(name string) string {
	switch {
	case filepath.IsAbs(name):
		return name
	case s.pkg != nil:
		return s.pkg.found.Path + "/" + name
	}
	return filepath.Join(s.dir, name)
}
