package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// held are the session's directories, each opened once, and what this staging
// has made of them.
type held struct {
	latch   workfs.Latch
	work    *workfs.Root
	home    *workfs.Root
	session *workfs.Root
	runtime *workfs.Root
	etc     *workfs.Root
	harness *workfs.Root
	records *workfs.Root
	lock    *workfs.Lock

	madeWork, madeSession, madeRecords bool
	lockWritten                        bool
}

// close releases the directories and, last, the session's lock.
func (h *held) close() {
	for _, r := range []*workfs.Root{h.work, h.home, h.session, h.runtime, h.etc, h.harness, h.records} {
		if r != nil {
			r.Close()
		}
	}
	if h.lock != nil {
		h.lock.Unlock()
	}
}

// mintSession gives the session its id (step 25). Nothing on disk has it yet.
func (s *staging) mintSession() error {
	s.id = ids.New(ids.Session)
	return s.makeReport() // its temporary folder has a name now
}

// makeFolders makes the session's folders and holds them (step 34).
func (s *staging) makeFolders() error {
	for _, make := range []func() error{s.makeWork, s.makeSession, s.makeRecords, s.makeStores} {
		if err := make(); err != nil {
			return err
		}
	}
	return nil
}

// makeWork makes a fresh work folder where no --workdir was given (SES-18).
func (s *staging) makeWork() error {
	if s.workdir != "" {
		return nil
	}
	if err := os.MkdirAll(s.root, workfs.PublicDir); err != nil {
		return workfs.Fault(err, "cannot make the folder of work folders")
	}
	root, err := workfs.OpenRoot(s.root, s.held.public())
	if err != nil {
		return workfs.Fault(err, "cannot open the folder of work folders")
	}
	defer root.Close()
	if err := root.Mkdir(s.id); err != nil {
		return workfs.Fault(err, "cannot make the work folder")
	}
	s.held.madeWork = true
	opt := s.held.public()
	opt.Relative = true
	s.held.work, err = workfs.OpenRoot(s.workFolder(s.id), opt)
	return workfs.Fault(err, "cannot open the work folder")
}

// makeSession makes the session directory, locked from its first moment
// (SES-24, SES-27).
func (s *staging) makeSession() error {
	h := &s.held
	var err error
	if h.home, err = s.home.Open(".", h.private()); err != nil {
		return err
	}
	sessions, err := s.home.Open(session.SessionsDir, h.private())
	if err != nil {
		return err
	}
	defer sessions.Close()
	if err := sessions.Mkdir(s.id); err != nil {
		return workfs.Fault(err, "cannot make the session directory")
	}
	h.madeSession = true
	if h.session, err = sessions.Sub(s.id); err != nil {
		return workfs.Fault(err, "cannot open the session directory")
	}
	if h.lock, err = h.session.TryLock(session.LockName); err != nil {
		return workfs.Fault(err, "cannot lock the session directory")
	}
	for _, d := range []struct {
		name string
		into **workfs.Root
	}{{session.RuntimeDir, &h.runtime}, {session.SealedEtcDir, &h.etc}, {session.HarnessDir, &h.harness}} {
		if err := h.session.Mkdir(d.name); err != nil {
			return workfs.Fault(err, "cannot make the session directory")
		}
		opt := h.private()
		if d.name == session.RuntimeDir {
			opt = h.public()
		}
		if *d.into, err = workfs.OpenRoot(h.session.Join(d.name), opt); err != nil {
			return workfs.Fault(err, "cannot open the session directory")
		}
	}
	return nil
}

// makeRecords makes the records directory (SES-31).
func (s *staging) makeRecords() error {
	h := &s.held
	parent, err := s.home.Open(s.mirror, h.private())
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := parent.Mkdir(s.id); err != nil {
		return workfs.Fault(err, "cannot make the records directory")
	}
	h.madeRecords = true
	if h.records, err = parent.Sub(s.id); err != nil {
		return workfs.Fault(err, "cannot open the records directory")
	}
	for _, name := range []string{session.LogsDir, session.TempDir, session.HomeDir} {
		if err := h.records.Mkdir(name); err != nil {
			return workfs.Fault(err, "cannot make the records directory")
		}
	}
	return nil
}

// makeStores makes the state stores that entries are granted (MAN-78).
func (s *staging) makeStores() error {
	for i, e := range s.entries() {
		g := &s.grants[i]
		if g.store == "" || g.grant == nil {
			continue
		}
		root, err := s.home.Open(stateDir(g.store), s.held.private())
		if err != nil {
			path := s.home.Join(stateDir(g.store))
			return diag.Errorf("E-CAP-009", "the state store %s of %s can not be had: %w", diag.Quote(g.store), e.Name, err).
				In("layout").About(diag.Subject{Kind: diag.Path, Name: path}).
				Name("store", g.store).Name("path", path).Name("reason", err.Error())
		}
		g.grant.StateDir = ptr(root.Path())
		root.Close()
	}
	return nil
}

// undo removes what this staging made, in the order of SES-73, and the lock it
// wrote; state stores and compiled forms stay. What can not be removed is warned
// about.
func (s *staging) undo() {
	h := &s.held
	unremoved := func(path string, err error) {
		w := diag.Warningf("", "layout", "cannot remove %s, which the refused staging made: %v", path, err)
		w.Subject = &diag.Subject{Kind: diag.Path, Name: path}
		s.warn(w)
	}
	remove := func(made bool, parent string, open func() (*workfs.Root, error)) {
		if !made {
			return
		}
		root, err := open()
		if err == nil {
			err = root.RemoveAll(s.id)
			root.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unremoved(filepath.Join(parent, s.id), err)
		}
	}
	remove(h.madeSession, s.home.Join(session.SessionsDir), func() (*workfs.Root, error) {
		return s.home.OpenExisting(session.SessionsDir, workfs.Options{Ephemeral: true})
	})
	remove(h.madeRecords, s.home.Join(s.mirror), func() (*workfs.Root, error) {
		return s.home.OpenExisting(s.mirror, workfs.Options{Ephemeral: true})
	})
	remove(h.madeWork, s.root, func() (*workfs.Root, error) {
		return workfs.OpenRoot(s.root, workfs.Options{Ephemeral: true})
	})
	if h.lockWritten {
		if err := s.undoLock(); err != nil {
			unremoved(s.lockPath(), err)
		}
	}
}
