package workfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"golang.org/x/sys/unix"
)

// Home is the place of the murmur home. Having one creates nothing (SES-14).
type Home struct {
	path   string
	parent string // must exist already: HOME, when the home lies there
}

// FindHome decides where the murmur home is: MURMUR_HOME when it is set, not
// empty and absolute, else .murmur under HOME (SES-13, ART-49). environ holds
// KEY=VALUE strings; of doubled names the last counts. It looks at no file. The
// error is E-IO-003.
func FindHome(environ []string) (Home, error) {
	if v := lookup(environ, "MURMUR_HOME"); v != "" {
		if !filepath.IsAbs(v) {
			return Home{}, diag.Errorf("E-IO-003", "MURMUR_HOME is %q, which is not an absolute path", v).
				Hint("set MURMUR_HOME to an absolute path, or unset it to use ~/.murmur").
				Name("path", v).Name("reason", "not absolute")
		}
		return Home{path: filepath.Clean(v)}, nil
	}
	h := lookup(environ, "HOME")
	if !filepath.IsAbs(h) {
		what := "is not set"
		if h != "" {
			what = fmt.Sprintf("is %q, which is not an absolute path", h)
		}
		return Home{}, diag.Errorf("E-IO-003", "no murmur home: MURMUR_HOME is not set and HOME %s", what).
			Hint("set MURMUR_HOME or HOME to an absolute path").
			Name("path", h).Name("reason", "no usable MURMUR_HOME or HOME")
	}
	return Home{path: filepath.Join(h, ".murmur"), parent: filepath.Clean(h)}, nil
}

// lookup returns the value of key in KEY=VALUE strings, "" when it is not there.
func lookup(environ []string, key string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], key+"="); ok {
			return v
		}
	}
	return ""
}

// Path returns the absolute path of the home.
func (h Home) Path() string { return h.path }

// Join returns the absolute path of rel beneath the home.
func (h Home) Join(rel string) string { return filepath.Join(h.path, filepath.FromSlash(rel)) }

// Open opens the directory rel beneath the home ("." is the home itself) and
// makes what is missing. The home and each directory down to rel must be a
// directory of this user, not a link, and gets mode 0700 again on each use
// (SES-12). Links above the home are followed. New files and directories are
// private. The error has a code, E-IO-003 for a component that is refused.
func (h Home) Open(rel string, opt Options) (*Root, error) { return h.open(rel, opt, true) }

// OpenExisting is Open for readers: it makes nothing and changes no mode. A
// missing directory is E-IO-001 and wraps fs.ErrNotExist.
func (h Home) OpenExisting(rel string, opt Options) (*Root, error) { return h.open(rel, opt, false) }

func (h Home) open(rel string, opt Options, create bool) (*Root, error) {
	r, err := h.openDirs(rel, opt, create)
	if err != nil {
		return nil, Fault(err, "cannot use the murmur home")
	}
	return r, nil
}

func (h Home) openDirs(rel string, opt Options, create bool) (*Root, error) {
	segs := []string{filepath.Base(h.path)}
	if rel != "." {
		more, err := split(rel)
		if err != nil {
			return nil, err
		}
		segs = append(segs, more...)
	}
	above := filepath.Dir(h.path)
	if create && h.parent == "" {
		if err := os.MkdirAll(above, PrivateDir); err != nil {
			return nil, err
		}
	}
	// A latch of its own: a link in the home is no refusal of a session.
	top, err := OpenRoot(above, Options{})
	if err != nil && h.parent != "" {
		return nil, diag.Errorf("E-IO-003", "no murmur home: HOME can not be used: %w", err).
			Hint("set MURMUR_HOME or HOME to a directory of your own").
			Name("path", above).Name("reason", "no usable MURMUR_HOME or HOME")
	}
	if err != nil {
		return nil, err
	}
	fd, err := top.walk(nil, false, 0)
	top.Close()
	if err != nil {
		return nil, err
	}
	at := above
	for _, seg := range segs {
		at = filepath.Join(at, seg)
		next, err := enterOwned(fd, seg, at, create)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		fd = next
	}
	opt.FileMode, opt.DirMode = cmpMode(opt.FileMode, PrivateFile), PrivateDir
	return newRoot(fd, at, opt), nil
}

func cmpMode(m, def fs.FileMode) fs.FileMode {
	if m == 0 {
		return def
	}
	return m
}

// enterOwned opens one directory of the home and asserts its owner and mode.
func enterOwned(parent int, seg, full string, create bool) (int, error) {
	open := func() (int, error) {
		return retry(func() (int, error) { return unix.Openat(parent, seg, openDir, 0) })
	}
	fd, err := open()
	if err == unix.ENOENT && create {
		step("mkdir", full)
		if err := unix.Mkdirat(parent, seg, uint32(PrivateDir)); err != nil && err != unix.EEXIST {
			return -1, &fs.PathError{Op: "mkdir", Path: full, Err: err}
		}
		if err := chmodDir(parent, seg, PrivateDir); err != nil {
			return -1, &fs.PathError{Op: "chmod", Path: full, Err: err}
		}
		fd, err = open()
	}
	if err != nil {
		var st unix.Stat_t
		if serr := unix.Fstatat(parent, seg, &st, unix.AT_SYMLINK_NOFOLLOW); serr == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			what := special(uint32(st.Mode))
			if what == "" {
				what = "a file"
			}
			return -1, refusedHome(full, "it is "+what+", not a directory")
		}
		return -1, &fs.PathError{Op: "open", Path: full, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, &fs.PathError{Op: "stat", Path: full, Err: err}
	}
	if int(st.Uid) != os.Geteuid() {
		unix.Close(fd)
		return -1, refusedHome(full, fmt.Sprintf("it belongs to user %d, not to user %d who runs this", st.Uid, os.Geteuid()))
	}
	if create && uint32(st.Mode)&0o7777 != uint32(PrivateDir) {
		if err := unix.Fchmod(fd, uint32(PrivateDir)); err != nil {
			unix.Close(fd)
			return -1, &fs.PathError{Op: "chmod", Path: full, Err: err}
		}
	}
	return fd, nil
}

func refusedHome(path, reason string) error {
	return diag.Errorf("E-IO-003", "cannot use the murmur home: %s: %s", path, reason).
		Hint("move it away, or set MURMUR_HOME to a directory of your own").
		About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path).Name("reason", reason)
}
