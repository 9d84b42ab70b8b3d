package running

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/workfs"
)

const (
	older1 = "ses_0193f6a1b2c37d4e8f90a1b2c3d4e5f6"
	newer2 = "ses_0193f6a1b2c47d4e8f90a1b2c3d4e5f6"
	third3 = "ses_0193f6a1b2c57d4e8f90a1b2c3d4e5f6"
)

func home(t *testing.T) workfs.Home {
	t.Helper()
	h, err := workfs.FindHome([]string{"MURMUR_HOME=" + t.TempDir() + "/murmur"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func record(id string) Record {
	return Record{
		SessionID: id, PID: os.Getpid(), ProcessStart: ProcessStart(os.Getpid()), CapsuleName: "demo", CapsuleVersion: "1.0.0",
		Workdir: "/p", RecordsDir: "/r", StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)),
	}
}

// SES-210, SES-211, SES-212, SES-250
func TestWriteKeepsTheShape(t *testing.T) {
	h := home(t)
	if err := Write(h, record(older1)); err != nil {
		t.Fatal(err)
	}
	path := h.Join("running/" + older1 + ".json")
	fi, err := os.Stat(path)
	if err != nil || fi.Mode() != 0o600 {
		t.Fatalf("%v, %v", fi, err)
	}
	if fi, err := os.Stat(filepath.Dir(path)); err != nil || fi.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", fi, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"session_id": older1, "url": nil, "pid": float64(os.Getpid()), "capsule_name": "demo", "capsule_version": "1.0.0",
		"workdir": "/p", "records_dir": "/r", "outlives_launcher": false, "started_at": "2026-01-02T02:04:05Z",
	} {
		if v, ok := got[key]; !ok || v != want {
			t.Errorf("%s is %v, want %v", key, v, want)
		}
	}
	for _, key := range []string{"door_token", "credentials", "unconfined", "spawned_by", "delegation_id"} {
		if _, there := got[key]; there {
			t.Errorf("%s does not apply and is there", key)
		}
	}
	if !strings.Contains(string(data), "\n  \"session_id\"") {
		t.Error("not pretty-printed")
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := errors.Join(Remove(h, older1), Remove(h, older1)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Error("not removed")
	}
}

// SES-217, SES-218
func TestList(t *testing.T) {
	h := home(t)
	if got, err := List(h); err != nil || len(got) != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, id := range []string{older1, third3, newer2} {
		if err := Write(h, record(id)); err != nil {
			t.Fatal(err)
		}
	}
	older := record("ses_0193f6a1b2c67d4e8f90a1b2c3d4e5f6")
	older.RecordsDir = ""
	data, _ := json.Marshal(older)
	files := map[string]struct {
		data  string
		stays bool
	}{
		"ses_0193f6a1b2c77d4e8f90a1b2c3d4e5f6.json":             {"not JSON", false},
		"ses_0193f6a1b2c87d4e8f90a1b2c3d4e5f6.json":             {`{"session_id":"` + older1 + `","pid":1,"records_dir":"/r"}`, false},
		older.SessionID + ".json":                               {string(data), true},
		third3 + ".control":                                     {"ctl1.x", true},
		"ses_0193f6a1b2c97d4e8f90a1b2c3d4e5f6.json.writing-123": {"{", true},
	}
	for name, f := range files {
		if err := os.WriteFile(h.Join("running/"+name), []byte(f.data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Looking removes nothing. DIA-209
	seen, err := Look(h, Host{Exists: func(pid int) bool { return pid != 123 }})
	if err != nil || len(seen.Records) != 3 || len(seen.Broken) != 2 || len(seen.Dead) != 1 {
		t.Errorf("looking: %+v, %v", seen, err)
	}
	if seen, _ := Look(h, Host{Exists: func(int) bool { return true }}); len(seen.Dead) != 0 {
		t.Errorf("a living writer's file is dead: %+v", seen)
	}
	got, err := List(h)
	if err != nil || len(got) != 3 || got[0].SessionID != third3 || got[1].SessionID != newer2 || got[2].SessionID != older1 {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, f := range files {
		if _, err := os.Lstat(h.Join("running/" + name)); (err == nil) != f.stays {
			t.Errorf("%s: %v, stays %v", name, err, f.stays)
		}
	}
}

// SES-214, SES-215
func TestJudge(t *testing.T) {
	url := "localhost:1"
	door := record(newer2)
	door.URL = &url
	guarded := door
	guarded.DoorToken = "t"
	script := record(older1)
	tests := []struct {
		name    string
		rec     Record
		exists  bool
		start   string
		card    string
		cardErr error
		want    State
	}{
		{"no process", script, false, "", "", nil, Gone},
		{"another process", script, true, "other", "", nil, Gone},
		{"script", script, true, script.ProcessStart, "", nil, Live},
		{"unreadable start", script, true, "", "", nil, Unverified},
		{"door answers", door, true, door.ProcessStart, newer2, nil, Live},
		{"door is silent", door, true, door.ProcessStart, "", errors.New("refused"), Unreachable},
		{"another session's door", door, true, door.ProcessStart, third3, nil, Unreachable},
		{"public door without id", door, true, door.ProcessStart, "", nil, Unreachable},
		{"guarded door", guarded, true, door.ProcessStart, "", nil, Live},
	}
	for _, tc := range tests {
		got := Judge(context.Background(), tc.rec, Host{
			Exists: func(int) bool { return tc.exists },
			Start:  func(int) string { return tc.start },
			Card:   func(context.Context, string) (string, error) { return tc.card, tc.cardErr },
		})
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// SES-214 on this machine: the process itself, a process that has ended, a door.
func TestJudgeHere(t *testing.T) {
	if ProcessStart(os.Getpid()) == "" {
		t.Skip("no /proc/<pid>/stat here")
	}
	if got := Judge(context.Background(), record(older1), Here()); got != Live {
		t.Errorf("this process is %s", got)
	}
	stranger := record(older1)
	stranger.ProcessStart = "1"
	if got := Judge(context.Background(), stranger, Here()); got != Gone {
		t.Errorf("a process that took the pid is %s", got)
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skipf("no program true here: %v", err)
	}
	ended := record(older1)
	ended.PID = cmd.Process.Pid
	if got := Judge(context.Background(), ended, Here()); got != Gone {
		t.Errorf("an ended process is %s", got)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/agent-card.json" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(`{"name":"demo","capabilities":{"extensions":[{"uri":"urn:murmur:a2a-ext:capsule:1","params":{"sessionId":"` + newer2 + `"}}]}}`))
	}))
	defer srv.Close()
	door := record(newer2)
	addr := strings.TrimPrefix(srv.URL, "http://")
	door.URL = &addr
	if got := Judge(context.Background(), door, Here()); got != Live {
		t.Errorf("an answering door is %s", got)
	}
	srv.Close()
	if got := Judge(context.Background(), door, Here()); got != Unreachable {
		t.Errorf("a closed door is %s", got)
	}
}
