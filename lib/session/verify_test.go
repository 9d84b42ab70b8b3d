package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

// SES-81
func TestVerifyFiles(t *testing.T) {
	content := []byte("the bytes that were staged")
	sum := sha256.Sum256(content)
	write := func(p string) error { return os.WriteFile(p, content, 0o644) }
	for name, tc := range map[string]struct {
		change func(p string) error
		says   string
	}{
		"same":  {func(string) error { return nil }, ""},
		"gone":  {os.Remove, "nothing: it is gone"},
		"grown": {func(p string) error { return os.WriteFile(p, append(content, '!'), 0o644) }, "its size was 26 bytes and is 27 bytes"},
		"other byte": {func(p string) error {
			return os.WriteFile(p, append([]byte("T"), content[1:]...), 0o644)
		}, "its hash was"},
		"link": {func(p string) error {
			return errors.Join(os.Rename(p, p+".real"), os.Symlink(p+".real", p))
		}, "nothing that can be opened"},
		"directory":       {func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) }, "a regular file and is something else"},
		"fifo":            {func(p string) error { return errors.Join(os.Remove(p), unix.Mkfifo(p, 0o644)) }, "a regular file and is something else"},
		"group may write": {func(p string) error { return os.Chmod(p, 0o664) }, "its mode was 0644 and is 0664"},
		"narrower mode":   {func(p string) error { return os.Chmod(p, 0o600) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "f")
			if err := errors.Join(write(p), tc.change(p)); err != nil {
				t.Fatal(err)
			}
			d := &Document{Files: []StagedFile{{p, hex.EncodeToString(sum[:]), int64(len(content)), "0644"}}}
			err := d.VerifyFiles(context.Background())
			if tc.says == "" && err != nil {
				t.Error(err)
			}
			if tc.says != "" && (diag.CodeOf(err) != "E-STG-102" || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), p)) {
				t.Errorf("%s %v\nwant E-STG-102 with %q", diag.CodeOf(err), err, tc.says)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := sample().VerifyFiles(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// laidOut makes the directories of a sample session and fills in their
// identities.
func laidOut(t *testing.T) (*Document, workfs.Home) {
	t.Helper()
	home, d, base := testHome(t), sample(), t.TempDir()
	root := filepath.Join(base, "workdir")
	ses := home.Join(SessionsDir + "/" + d.SessionID)
	mirror, err := Mirror(root)
	if err != nil {
		t.Fatal(err)
	}
	at := func(p string) Directory {
		if err := os.MkdirAll(p, 0o700); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil {
			t.Fatal(err)
		}
		return Directory{p, uint64(st.Dev), st.Ino}
	}
	work := at(filepath.Join(root, d.SessionID))
	d.Directories = Directories{
		Work:    WorkDirectory{work.Path, work.Dev, work.Ino, true},
		Session: at(ses), Runtime: at(ses + "/runtime"), SealedEtc: at(ses + "/sealed-etc"), Harness: at(ses + "/harness"),
		Records: at(home.Join(mirror + "/" + d.SessionID)), WorkdirRoot: at(root), MurmurHome: at(home.Path()),
	}
	return d, home
}

// SES-41, SES-82
func TestHold(t *testing.T) {
	d, _ := laidOut(t)
	h, err := d.Hold(&workfs.Latch{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Runtime.WriteFile("task.md", []byte("x")); err != nil {
		t.Fatal(err)
	}
	h.Close()
	fi, err := os.Stat(filepath.Join(d.Directories.Runtime.Path, "task.md"))
	if err != nil || fi.Mode() != 0o644 {
		t.Errorf("%v, %v", fi, err)
	}
	for name, dir := range map[string]string{
		"work": d.Directories.Work.Path, "runtime": d.Directories.Runtime.Path,
		"sealed_etc": d.Directories.SealedEtc.Path, "harness": d.Directories.Harness.Path, "records": d.Directories.Records.Path,
	} {
		// The old directory stays, so that its inode is not given out again.
		if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		_, err := d.Hold(&workfs.Latch{})
		if diag.CodeOf(err) != "E-STG-102" || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "inode") {
			t.Errorf("%s replaced: %v", name, err)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Hold(&workfs.Latch{}); diag.CodeOf(err) != "E-STG-102" {
			t.Errorf("%s gone: %v", name, err)
		}
		if err := os.Rename(dir+".old", dir); err != nil {
			t.Fatal(err)
		}
	}
	if h, err := d.Hold(&workfs.Latch{}); err != nil {
		t.Error(err)
	} else {
		h.Close()
	}
}

// SES-27, SES-102
func TestTake(t *testing.T) {
	d, home := laidOut(t)
	lock, err := d.Take()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Take(); diag.CodeOf(err) != "E-STG-103" || !strings.Contains(err.Error(), d.SessionID) {
		t.Errorf("taken twice: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(d.Directories.Records.Path, TraceName)
	if err := os.WriteFile(trace, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Take(); diag.CodeOf(err) != "E-STG-103" || !strings.Contains(err.Error(), "launched already") {
		t.Errorf("after a launch: %v", err)
	}
	// SES-30
	if err := Remove(home, d.SessionID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(d.Directories.Session.Path); !os.IsNotExist(err) {
		t.Errorf("the session directory is there: %v", err)
	}
	if _, err := d.Take(); diag.CodeOf(err) != "E-STG-103" {
		t.Errorf("after its end: %v", err)
	}
	if err := os.Remove(trace); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Take(); diag.CodeOf(err) != "E-STG-102" {
		t.Errorf("discarded: %v", err)
	}
	if err := Remove(home, d.SessionID); err != nil {
		t.Errorf("removing twice: %v", err)
	}
}
