package stale

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// SES-28, DIA-209: what is stale is found without a change and removed; what is
// held, fresh or running is neither.
func TestFindAndRemove(t *testing.T) {
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + filepath.Join(t.TempDir(), "home")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no home: %v", err)
	}
	now := time.Now()
	type made struct {
		id    string
		dir   *workfs.Root
		stale bool
	}
	var all []made
	for _, tc := range []struct {
		age                    time.Duration
		launched, killed, held bool
		stale                  bool
	}{
		{age: 25 * time.Hour, stale: true},
		{age: 23 * time.Hour},
		{age: time.Minute, launched: true, stale: true},
		{age: 25 * time.Hour, killed: true, stale: true},
		{age: time.Minute, killed: true},
		{age: 48 * time.Hour, launched: true, held: true},
	} {
		id := ids.New(ids.Session)
		dir, err := home.Open(session.SessionsDir+"/"+id, workfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		records := t.TempDir()
		if tc.launched {
			if err := os.WriteFile(filepath.Join(records, session.TraceName), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		doc, err := json.Marshal(map[string]any{"directories": map[string]any{"records": map[string]any{"path": records}}})
		if err != nil {
			t.Fatal(err)
		}
		if !tc.killed {
			if err := dir.WriteFile(session.DocumentName, doc); err != nil {
				t.Fatal(err)
			}
		}
		if err := dir.WriteFile(session.LockName, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir.Join(session.LockName), now.Add(-tc.age), now.Add(-tc.age)); err != nil {
			t.Fatal(err)
		}
		if tc.held {
			lock, err := dir.TryLock(session.LockName)
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Unlock()
		}
		all = append(all, made{id, dir, tc.stale})
	}
	sessions, err := Open(home)
	if err != nil {
		t.Fatal(err)
	}
	defer sessions.Close()
	if found, err := IDs(sessions); err != nil || len(found) != len(all) || found[0] != all[0].id {
		t.Errorf("ids: %v, %v", found, err)
	}
	for i, m := range all {
		if why := Find(sessions, m.id, now); (why != "") != m.stale {
			t.Errorf("%d: found %q", i, why)
		}
		if _, err := os.Lstat(m.dir.Path()); err != nil {
			t.Errorf("%d: finding removed it", i)
		}
		removed, err := Remove(sessions, m.id, now)
		if removed != m.stale || err != nil {
			t.Errorf("%d: removed %v, %v", i, removed, err)
		}
		if _, err := os.Lstat(m.dir.Path()); (err != nil) != m.stale {
			t.Errorf("%d: %v", i, err)
		}
	}
}
