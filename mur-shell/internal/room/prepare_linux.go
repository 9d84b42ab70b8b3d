//go:build linux && cgo

package room

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/landlock"
	"github.com/mur-capsules/mur/lib/confine/seccomp"
	"github.com/mur-capsules/mur/lib/confine/worker"
	"github.com/mur-capsules/mur/lib/diag"
)

// prepare opens everything the plan names and builds what workers confine
// themselves with.
func (r *Room) prepare() (err error) {
	cfg := r.cfg
	if cfg.Plan.Filter {
		arch, err := seccomp.Host()
		if err != nil {
			return err
		}
		r.filter, err = seccomp.Build(arch, seccomp.Options{
			UnixSockets: cfg.Plan.UnixSockets, NoexecMemfd: seccomp.KnowsNoexecMemfd(), TruncateMediated: cfg.Plan.Landlock >= 3,
		})
		if err != nil {
			return fmt.Errorf("build the system call filter: %w", err)
		}
	}
	if r.switches() && (cfg.Plan.PrivateMounts || cfg.Plan.ComposedRoot) {
		if r.idmap, err = worker.IDMap(cfg.Plan.RunAs.UID, cfg.Plan.RunAs.GID); err != nil && cfg.Plan.RunAs.Access == "idmap" {
			return err
		}
	}
	if err := r.openTrees(); err != nil {
		return err
	}
	r.openRules()
	if cfg.Plan.ComposedRoot {
		if err := r.writeIdentity(); err != nil {
			return err
		}
	}
	return nil
}

// open opens a canonical path for a rule: no link is followed on the way, so
// that a folder exchanged for a link grants nothing.
func open(path string, flags int) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(unix.O_PATH | unix.O_CLOEXEC | flags), Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if errors.Is(err, unix.ENOSYS) {
		fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW|flags, 0)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openTrees opens the folders commands work in; without one of them there is no
// session (CON-61).
func (r *Room) openTrees() error {
	p := r.cfg.Plan
	f := p.Folders
	add := func(t worker.Tree) error {
		dir, err := open(t.Path, unix.O_DIRECTORY)
		if err != nil {
			return diag.Errorf("E-IO-003", "a folder of the session can not be opened: %w", err).About(diag.Subject{Kind: diag.Path, Name: t.Path}).
				Name("path", t.Path).Name("reason", err.Error())
		}
		r.files = append(r.files, dir)
		t.Dir = dir
		r.trees = append(r.trees, t)
		return nil
	}
	mapped := r.idmap != nil
	if p.ComposedRoot || !p.PrivateMounts {
		// In a composed root the way there is made for the purpose.
		if err := r.give(mapped); err != nil {
			return err
		}
		return add(worker.Tree{Path: f.Work})
	}
	if err := r.give(mapped); err != nil {
		return err
	}
	trees := []worker.Tree{
		{Path: f.Work, Noexec: p.Noexec, Mapped: mapped && p.RunAs.Access == "idmap"},
		{Path: f.Tmp, Noexec: p.Noexec, Mapped: mapped, OverTmp: p.OverTmp},
		{Path: f.Home, Noexec: p.Noexec, Mapped: mapped},
	}
	if r.switches() {
		// Native tools lie in the runtime directory, and are started from there.
		for _, d := range append([]string{f.Runtime}, f.ReadOnly...) {
			if _, err := os.Stat(d); d != "" && err == nil {
				trees = append(trees, worker.Tree{Path: d, Noexec: d != f.Runtime, ReadOnly: true, Mapped: mapped})
			}
		}
	}
	for _, t := range trees {
		if err := add(t); err != nil {
			return err
		}
	}
	return nil
}

// give hands tmp and home to whom commands run as, where no id map shows them so.
func (r *Room) give(mapped bool) error {
	if !r.switches() || mapped {
		return nil
	}
	for _, d := range []string{r.cfg.Plan.Folders.Tmp, r.cfg.Plan.Folders.Home} {
		if err := os.Lchown(d, r.cfg.Plan.RunAs.UID, r.cfg.Plan.RunAs.GID); err != nil {
			return fmt.Errorf("give a session folder to uid %d: %w", r.cfg.Plan.RunAs.UID, err)
		}
	}
	return nil
}

// openRules opens what Landlock rules are about. A grant that can not be opened
// is dropped: access shrinks (CON-61).
func (r *Room) openRules() {
	p := r.cfg.Plan
	if p.Landlock == 0 {
		return
	}
	for _, rule := range p.Rules {
		f, err := open(rule.Path, 0)
		if errors.Is(err, os.ErrNotExist) && rule.Tree == confine.RuntimeDir {
			continue // a part of the records that this session has not
		}
		if err != nil {
			r.cfg.Note(fmt.Sprintf("grant dropped: %v (%s)", err, rule.Reason))
			continue
		}
		st, err := f.Stat()
		if err != nil {
			f.Close()
			continue
		}
		r.files = append(r.files, f)
		r.rules = append(r.rules, landlock.Rule{FD: int(f.Fd()), Rights: landlock.Rights(rule.Tree, p.Landlock, st.IsDir(), r.cfg.Policy.WorkdirExec)})
	}
	for _, rule := range p.Inside {
		st, err := os.Stat(rule.Path)
		isDir := err == nil && st.IsDir()
		r.inside = append(r.inside, worker.InsideRule{Path: rule.Path, Rights: landlock.Rights(rule.Tree, p.Landlock, isDir, false)})
	}
}
