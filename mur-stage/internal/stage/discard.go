package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/session/stale"
	"github.com/mur-capsules/mur/lib/workfs"
)

// maxSweep is how many old sessions one staging looks at.
const maxSweep = 16

// Discard removes a session that was staged and not launched: its directory, the
// work folder staging made if it is empty, and its records if they hold no file
// (SES-29). A session that is being staged or launched is E-STG-103, one that is
// not staged E-TRC-002.
func Discard(in Input, id string) error {
	if err := ids.Check(ids.Session, id); err != nil {
		return diag.Usagef("--discard: %v", err)
	}
	home, err := workfs.FindHome(in.Environ)
	if err != nil {
		return err
	}
	unknown := diag.Errorf("E-TRC-002", "no session %s is staged", id).
		About(diag.Subject{Kind: diag.Session, Name: id}).Name("selector", id)
	sessions, err := home.OpenExisting(session.SessionsDir, workfs.Options{Ephemeral: true})
	if errors.Is(err, fs.ErrNotExist) {
		return unknown
	}
	if err != nil {
		return err
	}
	defer sessions.Close()
	dir, err := sessions.Sub(id)
	if errors.Is(err, fs.ErrNotExist) {
		return unknown
	}
	if err != nil {
		return workfs.Fault(err, "cannot open the session directory")
	}
	defer dir.Close()
	lock, err := dir.TryLock(session.LockName)
	if errors.Is(err, workfs.ErrLocked) {
		return diag.Errorf("E-STG-103", "session %s can not be discarded: another process holds %s", id, dir.Join(session.LockName)).
			About(diag.Subject{Kind: diag.Session, Name: id}).Name("session", id).Name("holder", dir.Join(session.LockName))
	}
	if err != nil {
		return workfs.Fault(err, "cannot lock the session directory")
	}
	defer lock.Unlock()
	places, known := stale.PlacesOf(dir)
	if err := sessions.RemoveAll(id); err != nil {
		return workfs.Fault(err, "cannot remove the session directory")
	}
	if !known {
		return nil
	}
	if places.Created {
		if err := os.Remove(places.Work); err != nil && !errors.Is(err, fs.ErrNotExist) && !notEmpty(err) {
			return workfs.Fault(err, "cannot remove the work folder")
		}
	}
	return removeEmptyRecords(home, places.Records, id)
}

func notEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)
}

// removeEmptyRecords removes a records directory that holds no file.
func removeEmptyRecords(home workfs.Home, records, id string) error {
	rel, err := filepath.Rel(home.Path(), filepath.Dir(records))
	if err != nil || filepath.Base(records) != id {
		return nil // a document of another home
	}
	parent, err := home.OpenExisting(rel, workfs.Options{Ephemeral: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	if holds, err := holdsFile(parent, id); err != nil || holds {
		return workfs.Fault(err, "cannot look into the records directory")
	}
	return workfs.Fault(parent.RemoveAll(id), "cannot remove the records directory")
}

func holdsFile(root *workfs.Root, dir string) (bool, error) {
	entries, err := root.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return true, nil
		}
		if holds, err := holdsFile(root, dir+"/"+e.Name); holds || err != nil {
			return holds, err
		}
	}
	return false, nil
}

// sweepStale prunes compiled forms and removes what killed stagings and launches
// left beneath sessions/ (ART-130, SES-28): directories whose lock can be taken and that were launched, or are
// older than a day. What fails is left for the next staging.
func (s *staging) sweepStale() error {
	s.compiledForms().Prune(s.in.Now())
	sessions, err := stale.Open(s.home)
	if err != nil {
		return nil
	}
	defer sessions.Close()
	found, _ := stale.IDs(sessions)
	for i := 0; i < len(found)-1 && i < maxSweep; i++ {
		_, _ = stale.Remove(sessions, found[i], s.in.Now())
	}
	return nil
}
