// Package workfs reads and writes files beneath directories that somebody else
// may be changing: work folders that commands write in, records, stores and the
// murmur home.
//
// A Root is a directory opened once. Everything beneath it is reached from that
// descriptor, one path component at a time, and no link is ever followed
// (SES-41 to SES-48). A file that is replaced is written under a temporary name
// beside its target, synced and renamed, so a reader sees the old bytes or the
// new ones and a killed process leaves the old ones. Package workfs never
// deletes something to make room for a write and never writes through a link.
//
// Errors that are not refusals wrap *fs.PathError with an absolute path, so
// errors.Is(err, fs.ErrNotExist) and the like work; Fault gives them a code.
package workfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Modes of new files and directories (SES-12, SES-48).
const (
	PublicFile  fs.FileMode = 0o644 // beneath the work folder and the runtime directory
	PrivateFile fs.FileMode = 0o600 // records and everything else in the murmur home
	PublicDir   fs.FileMode = 0o755
	PrivateDir  fs.FileMode = 0o700
)

// Options say how a Root makes and names things. The zero value makes private
// files, syncs them, and latches refusals of its own.
type Options struct {
	// FileMode is the mode of new files; 0 means PrivateFile. It is set with
	// fchmod, so a umask neither widens nor narrows it.
	FileMode fs.FileMode
	// DirMode is the mode of new directories; 0 means PrivateDir.
	DirMode fs.FileMode
	// Latch takes refusals; several roots of one session share one. Nil means
	// a latch of the root's own.
	Latch *Latch
	// Relative makes refusals name paths relative to the root, as for the work
	// folder; otherwise they are absolute (SES-45).
	Relative bool
	// Plain makes refusals ordinary errors, which wrap ErrRefused and latch
	// nothing: for directories that belong to no session.
	Plain bool
	// Ephemeral files need not survive a power failure: nothing is synced.
	Ephemeral bool
}

// Root is a directory held open. It is safe for concurrent use. The directory
// may be renamed or replaced under its old path without a Root noticing; that
// is the point.
type Root struct {
	dir  *os.File
	path string // the path it was opened by, for messages only
	opt  Options
}

// OpenRoot opens the existing directory path and holds it. Links in path itself
// are followed: the caller trusts the path up to and including its last
// component. The error wraps *fs.PathError.
func OpenRoot(path string, opt Options) (*Root, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	fd, err := retry(func() (int, error) {
		return unix.Open(abs, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: abs, Err: err}
	}
	return newRoot(fd, abs, opt), nil
}

func newRoot(fd int, path string, opt Options) *Root {
	if opt.FileMode == 0 {
		opt.FileMode = PrivateFile
	}
	if opt.DirMode == 0 {
		opt.DirMode = PrivateDir
	}
	if opt.Latch == nil {
		opt.Latch = &Latch{}
	}
	return &Root{dir: os.NewFile(uintptr(fd), path), path: path, opt: opt}
}

// Path returns the absolute path the root was opened by. It is for messages and
// for programs that only take paths; it may no longer lead here.
func (r *Root) Path() string { return r.path }

// Join returns the absolute path rel had when the root was opened, for messages
// and documents.
func (r *Root) Join(rel string) string { return filepath.Join(r.path, filepath.FromSlash(rel)) }

// File returns the held descriptor, which stays the root's: the caller neither
// closes it nor reads directory entries through it.
func (r *Root) File() *os.File { return r.dir }

// Latch returns the latch that takes this root's refusals.
func (r *Root) Latch() *Latch { return r.opt.Latch }

// Identity returns the device and inode numbers of the held directory (SES-22).
func (r *Root) Identity() (dev, ino uint64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(r.fd(), &st); err != nil {
		return 0, 0, &fs.PathError{Op: "stat", Path: r.path, Err: err}
	}
	return uint64(st.Dev), st.Ino, nil
}

// Close releases the descriptor. Files and sub-roots opened from it stay open.
func (r *Root) Close() error { return r.dir.Close() }

// Sub opens the existing directory rel beneath r as a root of its own, sharing
// r's options and latch.
func (r *Root) Sub(rel string) (*Root, error) {
	return r.sub(rel, false)
}

// MakeSub is Sub after MkdirAll.
func (r *Root) MakeSub(rel string) (*Root, error) {
	return r.sub(rel, true)
}

func (r *Root) sub(rel string, create bool) (*Root, error) {
	segs, err := split(rel)
	if err != nil {
		return nil, err
	}
	fd, err := r.walk(segs, create, r.opt.DirMode)
	if err != nil {
		return nil, err
	}
	return newRoot(fd, r.Join(rel), r.opt), nil
}

// OSRoot opens the held directory as an *os.Root, for interfaces that want one.
// It leads to the same directory even when the path no longer does. The caller
// closes it.
func (r *Root) OSRoot() (*os.Root, error) {
	dev, ino, err := r.Identity()
	if err != nil {
		return nil, err
	}
	// The magic link leads to the open directory itself; without /proc the path
	// does, as long as nobody moved it.
	var first error
	for _, p := range []string{fmt.Sprintf("/proc/self/fd/%d", r.fd()), r.path} {
		or, err := os.OpenRoot(p)
		if err != nil {
			first = keep(first, err)
			continue
		}
		fi, err := or.Stat(".")
		if err == nil {
			if d, i := identityOf(fi); d == dev && i == ino {
				return or, nil
			}
			err = &fs.PathError{Op: "open", Path: r.path, Err: fmt.Errorf("another directory stands there now")}
		}
		or.Close()
		first = keep(first, err)
	}
	return nil, first
}

func (r *Root) fd() int { return int(r.dir.Fd()) }

// split cuts a relative path at its slashes and refuses what is not a plain
// path beneath a directory, before any system call (SES-42).
func split(rel string) ([]string, error) {
	segs := strings.Split(rel, "/")
	for _, s := range segs {
		if s == "" || s == "." || s == ".." || strings.IndexByte(s, 0) >= 0 {
			return nil, &fs.PathError{Op: "open", Path: rel, Err: fmt.Errorf("not a plain relative path: %w", fs.ErrInvalid)}
		}
	}
	return segs, nil
}

func keep(first, err error) error {
	if first != nil {
		return first
	}
	return err
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
