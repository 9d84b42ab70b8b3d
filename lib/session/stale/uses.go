package stale

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Use is what a session reads of what others keep.
type Use struct {
	Session string
	Bundle  string   // the digest of the bundle that was staged, "" without one
	Files   []string // absolute
}

// Uses lists what the sessions of a home read or may yet read: those that run, and
// those that can still be launched, however old. A session whose launch is gone
// reads nothing any more. One that is being staged has no document: whoever
// removes what stagings read must keep them out by a lock of its own. An error
// says that a document can not be read; then nobody knows what is in use.
func Uses(home workfs.Home) ([]Use, error) {
	sessions, err := Open(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer sessions.Close()
	found, err := IDs(sessions)
	if err != nil {
		return nil, workfs.Fault(err, "cannot list the sessions")
	}
	var out []Use
	for _, id := range found {
		u, err := useOf(sessions, id)
		if err != nil {
			return nil, workfs.Fault(err, "cannot tell what session "+id+" uses")
		}
		if u != nil {
			out = append(out, *u)
		}
	}
	return out, nil
}

// useOf reads the document of one session, nil when it uses nothing.
func useOf(sessions *workfs.Root, id string) (*Use, error) {
	dir, err := sessions.Sub(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it ended meanwhile
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	data, err := dir.ReadFile(session.DocumentName, session.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var d struct {
		Bundle *struct {
			Digest string `json:"digest"`
		} `json:"bundle"`
		Directories session.Directories  `json:"directories"`
		Files       []session.StagedFile `json:"files"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", dir.Join(session.DocumentName), err)
	}
	// In this order: a launch makes its trace while it holds the lock, so one whose
	// trace is there and whose lock is free has ended, and none begins again. The
	// lock of a session that can still be launched is not touched.
	if _, err := os.Lstat(filepath.Join(d.Directories.Records.Path, session.TraceName)); err == nil && !held(dir) {
		return nil, nil
	}
	u := &Use{Session: id}
	if d.Bundle != nil {
		u.Bundle = d.Bundle.Digest
	}
	for _, f := range d.Files {
		u.Files = append(u.Files, f.Path)
	}
	return u, nil
}
