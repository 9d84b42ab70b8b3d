// Package running keeps the running records: one small file per live session in
// the murmur home that says where it can be reached (SES section 13).
//
// A record is a hint, never a proof: a killed session leaves its record behind
// and the kernel gives its pid to somebody else. Judge decides in layers whether
// the session still lives. Package running never signals a process, and only a
// record proven stale is removed by List (SES-216).
package running

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Dir is the directory of the records beneath the murmur home.
const Dir = "running"

// maxBytes bounds a record that is read.
const maxBytes = 1 << 20

// Record is one session's running record (SES-211). Members that do not apply
// are left out of the file.
type Record struct {
	SessionID        string            `json:"session_id"`
	URL              *string           `json:"url"` // nil for a script capsule
	PID              int               `json:"pid"`
	ProcessStart     string            `json:"process_start"` // opaque; empty when unreadable
	CapsuleName      string            `json:"capsule_name"`
	CapsuleVersion   string            `json:"capsule_version"`
	Workdir          string            `json:"workdir"` // the work folder
	RecordsDir       string            `json:"records_dir"`
	OutlivesLauncher bool              `json:"outlives_launcher"`
	StartedAt        time.Time         `json:"started_at"`
	DoorToken        string            `json:"door_token,omitempty"`
	Credentials      map[string]string `json:"credentials,omitempty"`
	Unconfined       bool              `json:"unconfined,omitempty"`
	SpawnedBy        string            `json:"spawned_by,omitempty"`
	DelegationID     string            `json:"delegation_id,omitempty"`
}

// Write writes the record of a session that has begun, mode 0600, all or
// nothing. mur-launch calls it; the process in it is the caller's own or one it
// vouches for.
func Write(home workfs.Home, rec Record) error {
	if err := ids.Check(ids.Session, rec.SessionID); err != nil {
		return err
	}
	dir, err := home.Open(Dir, workfs.Options{})
	if err != nil {
		return err
	}
	defer dir.Close()
	rec.StartedAt = rec.StartedAt.UTC()
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return fmt.Errorf("write the running record: %w", err)
	}
	temp := fmt.Sprintf("%s.json.writing-%d", rec.SessionID, os.Getpid())
	f, err := dir.CreateNew(temp)
	if err == nil {
		_, err = f.Write(append(data, '\n'))
		err = errors.Join(err, f.Sync(), f.Close())
		if err == nil {
			err = dir.Rename(temp, rec.SessionID+".json")
		}
		if err != nil {
			dir.Remove(temp)
		}
	}
	return workfs.Fault(err, "cannot write the running record")
}

// Remove removes the record of a session; a missing one is success.
func Remove(home workfs.Home, session string) error {
	dir, err := home.OpenExisting(Dir, workfs.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Remove(session + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return workfs.Fault(err, "cannot remove the running record")
	}
	return nil
}

// List returns the records, newest session first (SES-218). A file that does not
// parse names no process and is removed (SES-217), but for one that lacks only
// records_dir, which an older version wrote: it is left out and left alone.
func List(home workfs.Home) ([]Record, error) {
	var records []Record
	err := each(home, func(dir *workfs.Root, name string, rec Record, v verdict) {
		switch v {
		case whole:
			records = append(records, rec)
		case broken:
			dir.Remove(name) // somebody else may have been faster
		}
	}, func(string) {})
	if err != nil {
		return nil, err
	}
	sortRecords(records)
	return records, nil
}

func sortRecords(records []Record) {
	slices.SortFunc(records, func(a, b Record) int { return strings.Compare(b.SessionID, a.SessionID) })
}

// each calls visit for every file that should be a record, and other with the
// names of the other files.
func each(home workfs.Home, visit func(dir *workfs.Root, name string, rec Record, v verdict), other func(name string)) error {
	dir, err := home.OpenExisting(Dir, workfs.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.List(".")
	if err != nil {
		return workfs.Fault(err, "cannot list running sessions")
	}
	for _, e := range entries {
		if !e.IsRegular() {
			continue
		}
		if !strings.HasSuffix(e.Name, ".json") {
			other(e.Name)
			continue
		}
		data, err := dir.ReadFile(e.Name, maxBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil && !errors.Is(err, workfs.ErrTooLarge) {
			return workfs.Fault(err, "cannot read a running record")
		}
		rec, v := parse(data, strings.TrimSuffix(e.Name, ".json"))
		visit(dir, e.Name, rec, v)
	}
	return nil
}

type verdict int

const (
	whole verdict = iota
	older
	broken
)

func parse(data []byte, id string) (Record, verdict) {
	var rec Record
	if json.Unmarshal(data, &rec) != nil || rec.SessionID != id || ids.Check(ids.Session, id) != nil || rec.PID <= 0 {
		return Record{}, broken
	}
	if rec.RecordsDir == "" {
		return Record{}, older
	}
	return rec, whole
}
