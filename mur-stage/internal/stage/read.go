package stage

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
)

// readManifest reads and parses the manifest (step 2).
func (s *staging) readManifest() error {
	data, err := s.manifestBytes()
	if err != nil {
		return err
	}
	c, warnings, err := manifest.Parse(s.file, data, manifest.Options{Strict: s.opts.Strict, Running: s.in.Version})
	s.warn(warnings...)
	if err != nil {
		return err
	}
	s.manifestData, s.capsule = data, c
	if w, ok := c.VersionWarning(s.in.Version); ok {
		s.warn(w)
	}
	return nil
}

// abs makes a path of the command line absolute.
func (s *staging) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.in.Dir, path)
}

// checkOptions checks what the command line asks for against the manifest. Words
// and forms were checked before; see package app.
func (s *staging) checkOptions() error {
	var err error
	if s.lifecycle, s.overrides, err = s.capsule.Lifecycle.Override(s.opts.TaskAcceptance, s.opts.AfterTask); err != nil {
		return err
	}
	if s.opts.SystemPrompt != nil && !s.agent() {
		return diag.Errorf("E-IO-003", "--system-prompt: %s has no inference block, so no model reads a prompt", s.file).
			In("check").Name("path", s.file).Name("reason", "no inference block")
	}
	return nil
}

// readLock reads murmur.lock beside the manifest (step 3); a capsule launched by
// name has none (ART-75), a bundle its own.
func (s *staging) readLock() error {
	if s.bundle != nil {
		s.lock, s.lockFound = s.bundle.Lock, true
		return nil
	}
	if s.pkg != nil {
		return nil
	}
	var err error
	s.lock, s.lockFound, err = lockfile.Load(s.lockPath())
	return err
}

func (s *staging) lockPath() string { return filepath.Join(s.dir, lockfile.FileName) }

// checkEnvironment refuses to be part of what this version can not be part of
// (step 5). A blank variable counts as absent; values are not shown.
func (s *staging) checkEnvironment() error {
	for _, v := range []struct {
		name string
		code diag.Code
		what string
	}{
		{"MURMUR_SPAWNER", "E-RUN-020", "it says that another session delegates to this one, which this version can not do"},
		{"MURMUR_FORMATION_ID", "E-RUN-044", "it says that this session belongs to a formation, which this version can not do"},
	} {
		if value, _ := lookupEnv(s.in.Environ, v.name); strings.TrimSpace(value) != "" {
			return diag.Errorf(v.code, "the variable %s is set: %s", v.name, v.what).
				Hint("unset %s", v.name).In("check").Name("variable", v.name).Name("reason", "not supported")
		}
	}
	return nil
}

func lookupEnv(environ []string, name string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// at words the place of a manifest key of an entry.
func at(e manifest.Entry, key string) string {
	return fmt.Sprintf("artifacts[%d].%s (%s)", e.Index, key, e.Name)
}
