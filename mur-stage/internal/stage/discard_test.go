package stage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// SES-28, SES-29
func TestSweepStale(t *testing.T) {
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + filepath.Join(t.TempDir(), "home")})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	make := func(age time.Duration, launched bool) string {
		id := ids.New(ids.Session)
		dir, err := home.Open(session.SessionsDir+"/"+id, workfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		records := t.TempDir()
		if launched {
			if err := os.WriteFile(filepath.Join(records, session.TraceName), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		doc, err := json.Marshal(map[string]any{"directories": map[string]any{"records": map[string]any{"path": records}}})
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{session.LockName: nil, session.DocumentName: doc} {
			if err := dir.WriteFile(name, data); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(dir.Join(session.LockName), now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		return id
	}
	old := make(25*time.Hour, false)
	fresh := make(23*time.Hour, false)
	launched := make(time.Minute, true)
	held := make(48*time.Hour, true)
	odd := "not-a-session"
	if r, err := home.Open(session.SessionsDir+"/"+odd, workfs.Options{}); err != nil {
		t.Fatal(err)
	} else {
		r.Close()
	}
	newest := make(48*time.Hour, true)

	dir, err := home.OpenExisting(session.SessionsDir+"/"+held, workfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	lock, err := dir.TryLock(session.LockName)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()

	s := &staging{in: Input{Now: func() time.Time { return now }}, places: places{home: home}}
	if err := s.sweepStale(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		id    string
		stays bool
	}{
		"older than a day": {old, false}, "fresh": {fresh, true}, "launched": {launched, false},
		"held": {held, true}, "no session": {odd, true}, "newest": {newest, true},
	} {
		if _, err := os.Lstat(home.Join(session.SessionsDir + "/" + tc.id)); (err == nil) != tc.stays {
			t.Errorf("%s: %v, stays %v", name, err, tc.stays)
		}
	}
}
