package stage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// checkArtifacts refuses artifacts with the name of a tool the runtime answers
// itself (steps 6 and 12), and then those that are in no store, which an
// explanation does not ask.
func (s *staging) checkArtifacts(ctx context.Context) error {
	for _, e := range s.entries() {
		if err := session.CheckToolName(e.Name.String(), e.ToolName()); err != nil {
			return err
		}
	}
	if err := s.checkPrograms(); err != nil || s.explain {
		return err
	}
	return s.checkPresence(ctx)
}

// checkNames checks the names that become one path segment: the record store
// while the record is kept, and --context (step 11).
func (s *staging) checkNames() error {
	if s.agent() {
		if err := s.capsule.CheckRecordStore(); err != nil {
			return err
		}
	}
	if s.opts.Context == "" {
		return nil
	}
	return manifest.CheckSegment("--context", s.opts.Context)
}

// ownGuest is a script capsule's component: a file of the project directory, or
// an entry of the capsule's package.
type ownGuest struct {
	path  string // links resolved; empty for one in a package
	entry string // name in the package
	file  session.StagedFile
	guest guest
}

// findComponent finds a script capsule's component: capsule.wasm, else the only
// *.wasm in the project directory (step 7, ART-21).
func (s *staging) findComponent() error {
	if s.agent() {
		return nil
	}
	if s.pkg != nil {
		return s.choosePackaged()
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return workfs.Fault(err, "cannot look for the capsule's component")
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() {
			files = append(files, e.Name())
		}
	}
	chosen, _, candidates := artifact.Components(files)
	if chosen == "" {
		err := diag.Errorf("E-RUN-004", "%s holds no component for the script capsule: no %s and no other *.wasm", s.dir, artifact.CapsuleName).
			Hint("build the capsule into %s, or give the manifest an inference block to make it an agent", filepath.Join(s.dir, artifact.CapsuleName))
		if len(candidates) > 0 {
			list := strings.Join(candidates, ", ")
			err = diag.Errorf("E-RUN-004", "%s holds several components and none is called %s: %s", s.dir, artifact.CapsuleName, list).
				Hint("call the one to run %s, or move the others away", artifact.CapsuleName).Name("candidates", list)
		}
		return err.In("check").About(diag.Subject{Kind: diag.Path, Name: s.dir}).Name("directory", s.dir)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(s.dir, chosen))
	if errors.Is(err, fs.ErrNotExist) {
		return diag.Errorf("E-RUN-004", "%s leads nowhere", filepath.Join(s.dir, chosen)).
			In("check").Name("directory", s.dir).Name("candidates", chosen)
	}
	if err != nil {
		return workfs.Fault(err, "cannot find the capsule's component")
	}
	s.component = &ownGuest{path: path}
	return nil
}
