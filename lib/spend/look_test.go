package spend

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// SES-271: looking makes nothing, counts what is there and finds what is unusable.
func TestUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if n, err := Used(home(t, dir), now); n != 0 || err != nil {
		t.Errorf("of no home: %d, %v", n, err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it made the home")
	}
	l := opened(t, dir, Account{Session: "ses_a"}, func() time.Time { return now })
	m := NewMeter(nil, l, quiet(t))
	a, err := m.Admit(context.Background(), 30, 70)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Used(home(t, dir), now); n != 100 || err != nil {
		t.Errorf("with an open admission: %d, %v", n, err)
	}
	a.Settle(30, 5)
	if n, err := Used(home(t, dir), now); n != 35 || err != nil {
		t.Errorf("settled: %d, %v", n, err)
	}
	if n, err := Used(home(t, dir), now.AddDate(0, 0, 1)); n != 0 || err != nil {
		t.Errorf("of another day: %d, %v", n, err)
	}
	if err := os.Remove(filepath.Join(dir, Dir, ".lock")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, Dir, ".lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Used(home(t, dir), now); err == nil {
		t.Error("a lock that is a directory is no fault")
	}
}
