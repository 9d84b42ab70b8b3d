// Package source finds and opens the traces that addresses name (SES-10,
// TRC-136, TRC-137). It reads only; the one thing it ever writes is an unnamed
// temporary file that holds a pipe's content while a command reads it twice.
package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Stdin is the address of standard input.
const Stdin = "-"

// Finder resolves addresses. Exactly one of Records and Workdir may be set.
type Finder struct {
	Env     cli.Env
	Records string // the directory that holds ses_ directories, "" for none
	Workdir string // the workdir root whose mirror holds them, "" for the default
}

// Trace is a trace that an address named; it is not opened yet.
type Trace struct {
	SessionID  string // of the address; "" for a literal path and standard input
	RecordsDir string // absolute; "" for standard input and a file not called trace.jsonl
	Path       string // absolute; "-" for standard input
	stdin      io.Reader
}

// Find resolves one address. The error is E-TRC-002 when no session has it, and
// E-IO-001 for a path that leads nowhere.
func (f *Finder) Find(address string) (Trace, error) {
	if address == Stdin {
		return Trace{Path: Stdin, stdin: f.Env.Stdin}, nil
	}
	addr, err := session.ParseAddress(address)
	if err != nil {
		return Trace{}, err
	}
	if path, ok := addr.Path(); ok {
		return f.literal(path)
	}
	dir, all, err := f.sessions()
	if err != nil {
		return Trace{}, err
	}
	dirs := map[string]string{}
	for _, r := range all {
		dirs[r.ID] = r.Dir
	}
	id, err := addr.Find(slices.Collect(maps.Keys(dirs)))
	if err != nil {
		var d *diag.Error
		if errors.As(err, &d) {
			d.Hint("searched: %s", dir).Name("directory", dir)
		}
		return Trace{}, err
	}
	return inRecords(id, dirs[id]), nil
}

// FindAll resolves every address; without one, the default addresses.
func (f *Finder) FindAll(addresses []string, def ...string) ([]Trace, error) {
	if len(addresses) == 0 {
		addresses = def
	}
	var out []Trace
	var errs []error
	for _, a := range addresses {
		t, err := f.Find(a)
		out, errs = append(out, t), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// All returns the traces of every session of the search directory, newest
// first. Directories without a trace.jsonl are left out.
func (f *Finder) All() (dir string, all []Trace, err error) {
	dir, found, err := f.sessions()
	if err != nil {
		return dir, nil, err
	}
	for _, r := range found {
		t := inRecords(r.ID, r.Dir)
		if _, err := os.Lstat(t.Path); err == nil {
			all = append(all, t)
		}
	}
	return dir, all, nil
}

// sessions returns the directory searched for sessions and those in it, newest
// first; those of folders beneath a workdir root count. A directory that does not
// exist holds none, unless it was named with Records.
func (f *Finder) sessions() (dir string, found []session.Record, err error) {
	if f.Records != "" {
		dir = f.abs(f.Records)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return dir, nil, workfs.Fault(err, "cannot list sessions")
		}
		for i := len(entries) - 1; i >= 0; i-- { // ReadDir sorts by name
			if e := entries[i]; e.IsDir() && ids.Check(ids.Session, e.Name()) == nil {
				found = append(found, session.Record{ID: e.Name(), Dir: filepath.Join(dir, e.Name())})
			}
		}
		return dir, found, nil
	}
	home, err := workfs.FindHome(f.Env.Environ)
	if err != nil {
		return "", nil, err
	}
	root, err := f.workdirRoot()
	if err != nil {
		return "", nil, err
	}
	mirror, err := session.Mirror(root)
	if err != nil {
		return "", nil, err
	}
	found, err = session.Recorded(home, root)
	return home.Join(mirror), found, err
}

// workdirRoot is the directory sessions are filed under: the one named, else
// ./workdir when it exists, else the current directory; links resolved, as
// staging does (SES-20).
func (f *Finder) workdirRoot() (string, error) {
	root := f.abs(f.Workdir)
	if f.Workdir == "" {
		root = filepath.Join(f.Env.Dir, "workdir")
		if fi, err := os.Stat(root); err != nil || !fi.IsDir() {
			root = f.Env.Dir
		}
	}
	resolved, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) && f.Workdir != "" {
		return filepath.Clean(root), nil // its sessions may still be on record
	}
	if err != nil {
		return "", workfs.Fault(err, "cannot use the workdir root")
	}
	return resolved, nil
}

func (f *Finder) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.Env.Dir, path)
}

func (f *Finder) literal(path string) (Trace, error) {
	path = f.abs(path)
	fi, err := os.Stat(path)
	if err != nil {
		return Trace{}, openFault(path, err)
	}
	if fi.IsDir() {
		return inRecords("", path), nil
	}
	t := Trace{Path: path}
	if filepath.Base(path) == trace.FileName {
		t.RecordsDir = filepath.Dir(path)
	}
	return t, nil
}

func inRecords(id, dir string) Trace {
	return Trace{SessionID: id, RecordsDir: dir, Path: filepath.Join(dir, trace.FileName)}
}

// Name is how messages and rows call the trace.
func (t Trace) Name() string {
	if t.SessionID != "" {
		return t.SessionID
	}
	return t.Path
}

// Open opens the trace for reading once, from the beginning.
func (t Trace) Open() (io.ReadCloser, error) {
	if t.Path == Stdin {
		return io.NopCloser(t.stdin), nil
	}
	f, err := os.Open(t.Path)
	if err != nil {
		return nil, openFault(t.Path, err)
	}
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		f.Close()
		return nil, openFault(t.Path, errors.New("it is a directory"))
	}
	return f, nil
}

// OpenAt opens the trace for reading at any offset; a pipe is copied to an
// unnamed temporary file first.
func (t Trace) OpenAt() (*os.File, error) {
	r, err := t.Open()
	if err != nil {
		return nil, err
	}
	if f, ok := r.(*os.File); ok {
		if fi, err := f.Stat(); err == nil && fi.Mode().IsRegular() {
			return f, nil
		}
	}
	defer r.Close()
	f, err := os.CreateTemp("", "mur-trace-")
	if err != nil {
		return nil, workfs.Fault(err, "cannot keep the content of "+t.Path)
	}
	_ = os.Remove(f.Name())
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return nil, workfs.Fault(err, "cannot read "+t.Path)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, workfs.Fault(err, "cannot read "+t.Path)
	}
	return f, nil
}

// openFault is E-IO-001 for a trace that is not there, else E-IO-003 (TRC-94).
func openFault(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	code, hint := diag.Code("E-IO-003"), ""
	if errors.Is(err, fs.ErrNotExist) {
		code, hint = "E-IO-001", "name a trace.jsonl, a records directory, or a session by its id or @1"
	}
	d := diag.Errorf(code, "the trace %s can not be opened: %w", path, err).
		About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path)
	if hint != "" {
		d.Hint("%s", hint)
	}
	return d
}

// Unreadable is E-TRC-001: the trace t says too little for the command. line is
// 0 when it is about no single one.
func Unreadable(t Trace, line int64, format string, args ...any) *diag.Error {
	what := fmt.Sprintf(format, args...)
	at := t.Path
	if line > 0 {
		at = fmt.Sprintf("%s:%d", t.Path, line)
	}
	return diag.Errorf("E-TRC-001", "%s: %s", strings.TrimSuffix(at, ":"), what).
		About(diag.Subject{Kind: diag.TraceLine, Name: t.Name(), File: t.Path, Line: int(line)}).
		Name("file", t.Path).Name("line", line).Name("reason", what)
}
