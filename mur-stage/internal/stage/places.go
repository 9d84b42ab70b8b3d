package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// places are where a session will lie. Knowing them creates nothing.
type places struct {
	home    workfs.Home
	config  config.Config
	workdir string // of --workdir, absolute, links resolved; else empty
	root    string // the workdir root (SES-20)
	mirror  string // of the records, relative to the home
	envFile *session.EnvFile
	environ []string // with what the .env file adds
}

// findHome finds the murmur home, after what the project's .env adds to the
// environment. A second call changes nothing.
func (s *staging) findHome() error {
	if s.home != (workfs.Home{}) {
		return nil
	}
	if err := s.loadEnvFile(); err != nil {
		return err
	}
	home, err := workfs.FindHome(s.in.Environ)
	if err != nil {
		return err
	}
	// What confinement gets of it is canonical (CON-49); whether the home itself is
	// a link is asked when it is opened.
	above, name := filepath.Split(home.Path())
	if real := filepath.Join(realPath(filepath.Clean(above)), name); real != home.Path() {
		home, err = workfs.FindHome([]string{"MURMUR_HOME=" + real})
	}
	s.home = home
	return err
}

// findPlaces reads the configuration and says where the session's folders will
// be. Whether a --workdir folder is there is step 32's.
func (s *staging) findPlaces() error {
	var err error
	var warnings []diag.Warning
	if s.config, warnings, err = config.Load(s.home, s.in.Dir); err != nil {
		return err
	}
	s.warn(warnings...)
	if s.opts.Workdir != "" {
		s.workdir = realPath(s.abs(s.opts.Workdir))
		s.root = s.workdir
	} else if s.bundle != nil {
		s.root = realPath(filepath.Join(s.in.Dir, "workdir"))
	} else {
		s.root = realPath(filepath.Join(s.dir, "workdir"))
	}
	s.mirror, err = session.Mirror(s.root)
	return err
}

// loadEnvFile reads the project's .env for what this staging looks up itself.
// Only its path and hash go into the document (SES-59).
func (s *staging) loadEnvFile() error {
	s.environ = s.in.Environ
	if s.opts.NoEnvFile {
		return nil
	}
	path, data, err := config.FindEnvFile(s.in.Dir)
	if err != nil || path == "" {
		return err
	}
	lines, err := config.ParseEnv(path, data)
	if err != nil {
		return err
	}
	s.environ = config.MergeEnv(s.in.Environ, lines)
	s.envFile = &session.EnvFile{Path: path, SHA256: hashOf(data)}
	return nil
}

// workFolder is the work folder of a session; before one has an id, a stand-in
// beside it.
func (s *staging) workFolder(id string) string {
	if s.workdir != "" {
		return s.workdir
	}
	if id == "" {
		id = "<session>"
	}
	return filepath.Join(s.root, id)
}

// records is the records directory of a session.
func (s *staging) records(id string) string { return s.home.Join(s.mirror + "/" + id) }

// openPlaces opens the folder of --workdir and looks at the murmur home
// (step 32). It creates nothing.
func (s *staging) openPlaces() error {
	if s.workdir != "" {
		if err := s.openWorkdir(); err != nil {
			return err
		}
	}
	root, err := s.home.OpenExisting(".", s.held.private())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // step 34 makes it
	}
	if err != nil {
		return err
	}
	return root.Close()
}

func (s *staging) openWorkdir() error {
	asked := s.abs(s.opts.Workdir)
	missing := func(reason string) error {
		return diag.Errorf("E-RUN-104", "the work folder %s %s", asked, reason).
			Hint("make the folder first, or leave --workdir away to get a fresh one").
			In("layout").About(diag.Subject{Kind: diag.Path, Name: asked}).Name("path", asked)
	}
	fi, err := os.Stat(s.workdir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing("does not exist")
	case err != nil:
		return workfs.Fault(err, "cannot use the work folder")
	case !fi.IsDir():
		return missing("is not a directory")
	}
	opt := s.held.public()
	opt.Relative = true
	if s.held.work, err = workfs.OpenRoot(s.workdir, opt); err != nil {
		return workfs.Fault(err, "cannot open the work folder")
	}
	if s.opts.WorkdirIdentity == nil {
		return nil
	}
	want := *s.opts.WorkdirIdentity
	dev, ino, err := s.held.work.Identity()
	if err != nil {
		return workfs.Fault(err, "cannot examine the work folder")
	}
	if found := (session.Identity{Dev: dev, Ino: ino}); found != want {
		return diag.Errorf("E-RUN-101", "the work folder %s is not the one that is required: device %d inode %d was expected and device %d inode %d is there",
			asked, want.Dev, want.Ino, dev, ino).
			In("layout").About(diag.Subject{Kind: diag.Path, Name: asked}).
			Name("folder", asked).Name("expected", want.String()).Name("found", found.String())
	}
	return nil
}
