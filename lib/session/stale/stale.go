// Package stale knows which session directories nobody needs any more: what
// killed stagings and launches left beneath sessions/ in the murmur home (SES-28).
//
// It promises that a directory is removed only while its lock is held, and only
// when its session was launched, or has lain for a day. mur-stage removes some
// with each staging; mur-doctor reports them, and removes them when asked.
package stale

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// After is how long a session may lie staged and unlaunched.
const After = 24 * time.Hour

// Places are the folders a staged document names beside its own.
type Places struct {
	Work, Records string
	Created       bool // staging made the work folder
}

// PlacesOf reads where the folders of the session in dir lie. A staging that was
// killed left no document, and then nobody knows.
func PlacesOf(dir *workfs.Root) (Places, bool) {
	data, err := dir.ReadFile(session.DocumentName, session.MaxBytes)
	if err != nil {
		return Places{}, false
	}
	var d struct {
		Directories session.Directories `json:"directories"`
	}
	if json.Unmarshal(data, &d) != nil || d.Directories.Records.Path == "" {
		return Places{}, false
	}
	return Places{d.Directories.Work.Path, d.Directories.Records.Path, d.Directories.Work.Created}, true
}

// Open opens the directory of the sessions of a home; fs.ErrNotExist when there
// is none.
func Open(home workfs.Home) (*workfs.Root, error) {
	return home.OpenExisting(session.SessionsDir, workfs.Options{Ephemeral: true, Plain: true})
}

// IDs lists the sessions that have a directory, oldest first: ids sort by
// creation (SES-2).
func IDs(sessions *workfs.Root) ([]string, error) {
	entries, err := sessions.List(".")
	var out []string
	for _, e := range entries {
		if e.IsDir() && ids.Check(ids.Session, e.Name) == nil {
			out = append(out, e.Name)
		}
	}
	return out, err
}

// Find tells why the session id is stale, or "" when it is not, or somebody
// holds its lock. It changes nothing.
func Find(sessions *workfs.Root, id string, now time.Time) (why string) {
	dir, err := sessions.Sub(id)
	if err != nil {
		return ""
	}
	defer dir.Close()
	if why = judge(dir, now); why == "" || held(dir) {
		return ""
	}
	return why
}

// Remove removes the directory of the session id if it is stale, and reports
// whether it did.
func Remove(sessions *workfs.Root, id string, now time.Time) (removed bool, err error) {
	dir, err := sessions.Sub(id)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	// The time is looked at before the lock is taken, which may make the file.
	if judge(dir, now) == "" {
		return false, nil
	}
	lock, err := dir.TryLock(session.LockName)
	if errors.Is(err, workfs.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	if err := sessions.RemoveAll(id); err != nil {
		return false, err
	}
	return true, nil
}

// judge says why the session in dir is stale, its lock aside.
func judge(dir *workfs.Root, now time.Time) string {
	if places, known := PlacesOf(dir); known {
		if _, err := os.Lstat(filepath.Join(places.Records, session.TraceName)); err == nil {
			return "it was launched and its launch is gone"
		}
	}
	made := int64(0)
	if st, err := dir.Stat(session.LockName); err == nil {
		made = st.ModTime
	} else if st, err := dir.Stat("."); err == nil {
		made = st.ModTime
	}
	if now.Sub(time.Unix(0, made)) >= After {
		return "it was staged more than 24 hours ago and never launched"
	}
	return ""
}

// held tells whether somebody holds the session's lock.
func held(dir *workfs.Root) bool {
	lock, err := dir.TryLockExisting(session.LockName)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	lock.Unlock()
	return false
}
