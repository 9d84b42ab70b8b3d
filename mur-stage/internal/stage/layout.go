package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// writeTools writes each artifact's manifest, and each skill's text, beneath the
// runtime directory (step 35, TOL-1). Nothing is written in the work folder.
func (s *staging) writeTools() error {
	if len(s.artifacts)+len(s.policy.ShellAllow) == 0 {
		return nil
	}
	if err := s.held.runtime.Mkdir(session.ToolsDir); err != nil {
		return workfs.Fault(err, "cannot lay out the tools")
	}
	for _, a := range s.artifacts {
		dir := session.ToolsDir + "/" + a.entry.ToolName()
		if err := s.held.runtime.Mkdir(dir); err != nil {
			return workfs.Fault(err, "cannot lay out the tools")
		}
		if err := s.writeStaged(dir+"/"+session.ManifestName, a.manifestData); err != nil {
			return err
		}
		if a.skill != nil {
			if err := s.writeStaged(dir+"/"+session.SkillName, a.skill); err != nil {
				return err
			}
		}
		if a.native() {
			if err := s.writeMode(dir+"/"+a.entry.ToolName(), a.program, 0o755); err != nil {
				return err
			}
		}
	}
	return s.writePrograms()
}

// writeStaged writes a file of the runtime directory that the launch will trust.
func (s *staging) writeStaged(rel string, data []byte) error {
	return s.writeMode(rel, data, workfs.PublicFile)
}

func (s *staging) writeMode(rel string, data []byte, mode fs.FileMode) error {
	if err := s.held.runtime.WriteFileMode(rel, data, mode); err != nil {
		return workfs.Fault(err, "cannot lay out the runtime directory")
	}
	s.listed = append(s.listed, session.StagedFile{
		Path: s.held.runtime.Join(rel), SHA256: hashOf(data), Bytes: int64(len(data)), Mode: octal(mode),
	})
	return nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// writeRuntime writes MURMUR.md, the redacted copy of the manifest and the task
// (step 38). What is there for information alone only warns when it fails.
func (s *staging) writeRuntime() error {
	if err := s.copyManifest(); err != nil {
		return err
	}
	if s.agent() {
		if err := s.held.runtime.WriteFile(session.MurmurName, s.murmurText("")); err != nil {
			s.warnUnwritten(session.MurmurName, err)
		}
	}
	if s.opts.Task == nil {
		return nil
	}
	task, err := taskBytes(s.abs(*s.opts.Task), *s.opts.Task)
	if err != nil {
		return err
	}
	return workfs.Fault(s.held.runtime.WriteFile(session.TaskName, task), "cannot write the task")
}

// copyManifest writes the copy of the manifest that commands can read, without
// literal keys (SES-245). A capsule launched by name has none (MAN-3).
func (s *staging) copyManifest() error {
	if s.pkg != nil {
		return nil
	}
	name := filepath.Base(s.file)
	copied, err := manifest.Redact(s.manifestData)
	if err == nil && name != session.TaskName && name != session.MurmurName && name != session.ToolsDir {
		err = s.writeStaged(name, copied)
	}
	if err != nil {
		s.warnUnwritten(name, err)
	} else {
		s.manifestCopy = &name
	}
	return nil
}

func (s *staging) warnUnwritten(name string, err error) {
	s.warn(diag.Warningf("", "layout", "cannot write %s in the runtime directory: %v", name, err))
}

// taskBytes is the task of --task: the bytes of the file it names, else its own
// text (SES-139).
func taskBytes(path, value string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil || fi.IsDir() {
		return []byte(value), nil
	}
	data, err := os.ReadFile(path)
	return data, workfs.Fault(err, "cannot read the task")
}

// writeLock writes murmur.lock where there is none, one pin for each artifact
// that came from a store (step 39, ART-98).
func (s *staging) writeLock(ctx context.Context) error {
	if s.pkg != nil || s.lockFound || s.opts.NoLockWrite {
		return nil
	}
	fresh := false
	var order []names.Full
	for _, a := range s.artifacts {
		order = append(order, a.entry.Name)
	}
	err := lockfile.Update(ctx, s.lockPath(), func(now lockfile.Lock) (lockfile.Lock, error) {
		fresh = len(now.Entries) == 0
		for _, a := range s.artifacts {
			if a.source != "" {
				continue
			}
			pin := a.pin()
			// Another staging may have written the file since step 3.
			if c := now.Conflicts(pin); c != nil {
				return now, c.Diagnostic()
			}
			now, _ = now.Pin(pin, order)
		}
		s.lock = now
		return now, nil
	})
	s.held.lockWritten = err == nil && fresh
	return err
}

// undoLock removes the lock this staging wrote, unless somebody has changed it
// since (SES-74).
func (s *staging) undoLock() error {
	now, found, err := lockfile.Load(s.lockPath())
	if err != nil || !found || !slices.EqualFunc(now.Entries, s.lock.Entries, sameEntry) {
		return err
	}
	return os.Remove(s.lockPath())
}

func sameEntry(a, b lockfile.Entry) bool { return reflect.DeepEqual(a, b) }

// publish writes staged.json and prints the document (step 40). The lock of the
// session is held until that is done.
func (s *staging) publish() error {
	d, err := s.document()
	if err != nil {
		return err
	}
	data, err := d.Encode()
	if err != nil {
		return err
	}
	if err := s.held.session.WriteFile(session.DocumentName, data); err != nil {
		return workfs.Fault(err, "cannot write the staged session")
	}
	return s.in.Print(data)
}

// rootOf is a held directory.
type rootOf interface {
	Identity() (dev, ino uint64, err error)
	Path() string
}

// identityOf says which directory a held root is.
func identityOf(r rootOf, path string) (session.Directory, error) {
	dev, ino, err := r.Identity()
	if err != nil {
		return session.Directory{}, workfs.Fault(err, "cannot examine "+path)
	}
	return session.Directory{Path: path, Dev: dev, Ino: ino}, nil
}

func identityAt(path string) (session.Directory, error) {
	root, err := workfs.OpenRoot(path, workfs.Options{})
	if err != nil {
		return session.Directory{}, workfs.Fault(err, "cannot open "+path)
	}
	defer root.Close()
	return identityOf(root, path)
}

// fileOf describes a file the launch will trust.
func fileOf(path string) (session.StagedFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return session.StagedFile{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return session.StagedFile{}, err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	return session.StagedFile{Path: path, SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n, Mode: octal(fi.Mode())}, err
}

func octal(mode fs.FileMode) string { return fmt.Sprintf("%04o", mode.Perm()) }
