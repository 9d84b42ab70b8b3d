package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

// VerifyFiles reads every file of d.Files and compares it with what was staged
// (SES-81). A file that is gone, is no regular file, has other bytes, or may be
// written by more users than when it was staged is E-STG-102. It stops at the
// first and when ctx ends.
func (d *Document) VerifyFiles(ctx context.Context) error {
	for _, f := range d.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.verify(); err != nil {
			return err
		}
	}
	return nil
}

func (f StagedFile) verify() error {
	mode, err := parseMode(f.Mode)
	if err != nil {
		return f.changed("its mode", f.Mode, err.Error())
	}
	in, err := os.OpenFile(f.Path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return f.changed("it", f.SHA256, "nothing: it is gone")
	}
	if err != nil {
		return f.changed("it", f.SHA256, "nothing that can be opened: "+err.Error())
	}
	defer in.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(in.Fd()), &st); err != nil {
		return f.changed("it", f.SHA256, "nothing that can be examined: "+err.Error())
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return f.changed("it", "a regular file", "something else")
	case st.Size != f.Bytes:
		return f.changed("its size", fmt.Sprintf("%d bytes", f.Bytes), fmt.Sprintf("%d bytes", st.Size))
	case uint32(st.Mode)&0o022&^mode != 0:
		return f.changed("its mode", f.Mode, fmt.Sprintf("%04o", st.Mode&0o7777))
	}
	h := sha256.New()
	// One byte more than staged would show a file that grows while it is read.
	if _, err := io.Copy(h, io.LimitReader(in, f.Bytes+1)); err != nil {
		return f.changed("it", f.SHA256, "nothing that can be read: "+err.Error())
	}
	if found := hex.EncodeToString(h.Sum(nil)); found != f.SHA256 {
		return f.changed("its hash", f.SHA256, found)
	}
	return nil
}

func (f StagedFile) changed(what, expected, found string) error {
	return changed(f.Path, what, expected, found)
}

func changed(path, what, expected, found string) *diag.Error {
	return diag.Errorf("E-STG-102", "%s is not what was staged: %s was %s and is %s", path, what, expected, found).
		Hint("stage the capsule again").
		About(diag.Subject{Kind: diag.Path, Name: path}).
		Name("path", path).Name("expected", expected).Name("found", found)
}

// Held are the directories of a session, each opened once. Everything the
// runtime reads or writes beneath them goes through these (SES-41). Refusals of
// all of them set one latch.
type Held struct {
	Work      *workfs.Root
	Session   *workfs.Root
	Runtime   *workfs.Root
	SealedEtc *workfs.Root
	Harness   *workfs.Root
	Records   *workfs.Root
}

// Hold opens the directories d names and compares device and inode with what was
// staged (SES-82). A directory that is gone or another one is E-STG-102. The
// caller closes what is returned.
func (d *Document) Hold(latch *workfs.Latch) (*Held, error) {
	h := &Held{}
	dirs := d.Directories
	private := workfs.Options{Latch: latch}
	public := workfs.Options{Latch: latch, FileMode: workfs.PublicFile, DirMode: workfs.PublicDir}
	work := public
	work.Relative = true
	for _, o := range []struct {
		into **workfs.Root
		dir  Directory
		opt  workfs.Options
	}{
		{&h.Work, Directory{dirs.Work.Path, dirs.Work.Dev, dirs.Work.Ino}, work},
		{&h.Session, dirs.Session, private},
		{&h.Runtime, dirs.Runtime, public},
		{&h.SealedEtc, dirs.SealedEtc, private},
		{&h.Harness, dirs.Harness, private},
		{&h.Records, dirs.Records, private},
	} {
		root, err := o.dir.open(o.opt)
		if err != nil {
			h.Close()
			return nil, err
		}
		*o.into = root
	}
	for _, o := range []Directory{dirs.WorkdirRoot, dirs.MurmurHome} {
		root, err := o.open(private)
		if err != nil {
			h.Close()
			return nil, err
		}
		root.Close()
	}
	return h, nil
}

func (d Directory) open(opt workfs.Options) (*workfs.Root, error) {
	root, err := workfs.OpenRoot(d.Path, opt)
	if err != nil {
		return nil, changed(d.Path, "it", "a directory", "nothing that can be opened: "+reason(err))
	}
	dev, ino, err := root.Identity()
	if err != nil {
		root.Close()
		return nil, workfs.Fault(err, "cannot examine a staged directory")
	}
	if dev != d.Dev || ino != d.Ino {
		root.Close()
		return nil, changed(d.Path, "its identity", identity(d.Dev, d.Ino), identity(dev, ino))
	}
	return root, nil
}

func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func identity(dev, ino uint64) string { return fmt.Sprintf("device %d inode %d", dev, ino) }

// Close releases the directories.
func (h *Held) Close() {
	for _, r := range []*workfs.Root{h.Work, h.Session, h.Runtime, h.SealedEtc, h.Harness, h.Records} {
		if r != nil {
			r.Close()
		}
	}
}

// Take takes the lock of the staged session without waiting, which makes the
// caller the one launch it gets (SES-102). A session that was launched already,
// is being launched or whose lock is held otherwise is E-STG-103; one whose
// directory is gone without a launch is E-STG-102. Neither changes anything.
func (d *Document) Take() (*workfs.Lock, error) {
	trace := filepath.Join(d.Directories.Records.Path, TraceName)
	if _, err := os.Lstat(trace); err == nil {
		return nil, taken(d.SessionID, "it was launched already: "+trace+" exists")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, workfs.Fault(err, "cannot tell whether the session was launched")
	}
	root, err := d.Directories.Session.open(workfs.Options{})
	if err != nil {
		return nil, err
	}
	defer root.Close()
	lock, err := root.TryLock(LockName)
	if errors.Is(err, workfs.ErrLocked) {
		return nil, taken(d.SessionID, "another process holds "+root.Join(LockName))
	}
	if err != nil {
		return nil, workfs.Fault(err, "cannot lock the session")
	}
	// The launch before may have ended between the look and the lock.
	if _, err := os.Lstat(trace); err == nil {
		lock.Unlock()
		return nil, taken(d.SessionID, "it was launched already: "+trace+" exists")
	}
	return lock, nil
}

func taken(id, reason string) error {
	return diag.Errorf("E-STG-103", "session %s can not be launched: %s", id, reason).
		Hint("a session is launched once: stage the capsule again").
		About(diag.Subject{Kind: diag.Session, Name: id}).Name("session", id).Name("holder", reason)
}

// Remove removes the session directory of id with everything in it, following no
// link (SES-30). The caller holds the session's lock and releases it afterwards.
// A directory that is not there is success.
func Remove(home workfs.Home, id string) error {
	sessions, err := home.OpenExisting(SessionsDir, workfs.Options{Ephemeral: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sessions.Close()
	return workfs.Fault(sessions.RemoveAll(id), "cannot remove the session directory")
}
