// Package room carries a confine.Plan out: it keeps a session's network
// namespace and proxy, starts confined workers and runs commands in them. It
// decides nothing about what is granted; it is what makes a plan true, and when
// a step of it can not be made no command starts (CON-129, CON-165).
//
// Paths of a plan are opened once, when the room is, and never resolved again.
// Closing a room ends every process in it.
package room

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/landlock"
	"github.com/mur-capsules/mur/lib/confine/seccomp"
	"github.com/mur-capsules/mur/lib/confine/worker"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// Config is what a room is made from.
type Config struct {
	// ID names the room's processes and groups: one path segment.
	ID      string
	Plan    confine.Plan
	Reading confine.Reading
	Policy  policy.Policy
	Binds   []confine.Bind // of a composed root, beside what the policy names
	// Staged are folders that must still be the ones that were staged (CON-49).
	Staged []Identity
	// State and Etc are directories of the session for a composed root's skeletons
	// and its synthetic files; neither is in a tree commands are granted.
	State, Etc string
	// Scope is the session's cgroup, or nil. OwnScope: should this process die, the
	// scope is to go with it.
	Scope    *cgroup.Scope
	OwnScope bool
	// Network was started before, or is nil where the plan has none. Open takes it
	// over and closes it on error.
	Network *Network
	// Note takes one line for the session's log, from any goroutine.
	Note func(line string)
}

// Identity is a folder as it was staged.
type Identity struct {
	Path     string
	Dev, Ino uint64
}

// Room is open. It is safe for concurrent use.
type Room struct {
	cfg    Config
	rules  []landlock.Rule
	inside []worker.InsideRule
	filter []bpf.Instruction
	trees  []worker.Tree
	files  []*os.File // what rules and trees hold
	idmap  *os.File

	mu      sync.Mutex
	idle    []*member // the last one was used last
	busy    int
	serial  int
	closed  bool
	overlap uint64 // counts starts, to tell whether a command was alone
	timer   *time.Timer
}

// Open opens everything the plan names and prepares what workers share. No
// worker is started before the first command.
func Open(ctx context.Context, cfg Config) (_ *Room, err error) {
	r := &Room{cfg: cfg}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	if err := r.compare(); err != nil {
		return nil, err
	}
	if cfg.Scope != nil && cfg.OwnScope && cfg.Network != nil {
		if err := cfg.Network.holder.Bequeath(slices.Collect(maps.Values(cfg.Scope.Dirs()))); err != nil {
			return nil, fmt.Errorf("leave the scope to the holder: %w", err)
		}
	}
	if cfg.Plan.Filter {
		arch, err := seccomp.Host()
		if err != nil {
			return nil, err
		}
		r.filter, err = seccomp.Build(arch, seccomp.Options{
			UnixSockets: cfg.Plan.UnixSockets, NoexecMemfd: seccomp.KnowsNoexecMemfd(), TruncateMediated: cfg.Plan.Landlock >= 3,
		})
		if err != nil {
			return nil, fmt.Errorf("build the system call filter: %w", err)
		}
	}
	if r.switches() && (cfg.Plan.PrivateMounts || cfg.Plan.ComposedRoot) {
		if r.idmap, err = worker.IDMap(cfg.Plan.RunAs.UID, cfg.Plan.RunAs.GID); err != nil && cfg.Plan.RunAs.Access == "idmap" {
			return nil, err
		}
	}
	if err := r.openTrees(); err != nil {
		return nil, err
	}
	r.openRules()
	if cfg.Plan.ComposedRoot {
		if err := r.writeIdentity(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// switches reports whether this program is root and its commands are not
// (CON-278).
func (r *Room) switches() bool {
	return r.cfg.Reading.UID == 0 && r.cfg.Plan.RunAs.Access != "self" && r.cfg.Plan.RunAs.UID != 0
}

// compare refuses folders that are not the staged ones (E-STG-102).
func (r *Room) compare() error {
	for _, s := range r.cfg.Staged {
		var st unix.Stat_t
		err := unix.Stat(s.Path, &st)
		if err == nil && uint64(st.Dev) == s.Dev && st.Ino == s.Ino {
			continue
		}
		found := fmt.Sprintf("device %d inode %d", st.Dev, st.Ino)
		if err != nil {
			found = err.Error()
		}
		return diag.Errorf("E-STG-102", "%s is not the folder that was staged: it was device %d inode %d and is %s", s.Path, s.Dev, s.Ino, found).
			In("launch").About(diag.Subject{Kind: diag.Path, Name: s.Path}).
			Name("path", s.Path).Name("expected", fmt.Sprintf("device %d inode %d", s.Dev, s.Ino)).Name("found", found).
			Hint("stage the capsule again")
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

// Refusals are the connections that were refused so far.
func (r *Room) Refusals() []Refusal {
	if r.cfg.Network == nil {
		return nil
	}
	return r.cfg.Network.Refusals()
}

// Close ends every process of the room and waits for them.
func (r *Room) Close() error {
	r.mu.Lock()
	r.closed = true
	idle := r.idle
	r.idle = nil
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	var errs []error
	for _, m := range idle {
		errs = append(errs, m.stop())
	}
	if r.cfg.Network != nil {
		r.cfg.Network.Close()
	}
	for _, f := range r.files {
		_ = f.Close()
	}
	if r.idmap != nil {
		_ = r.idmap.Close()
	}
	return errors.Join(errs...)
}
