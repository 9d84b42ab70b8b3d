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
	"os"
	"sync"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/landlock"
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
	// Scope is the session's cgroup, or nil.
	Scope *cgroup.Scope
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
	if err := r.prepare(); err != nil {
		return nil, err
	}
	return r, nil
}

// switches reports whether this program is root and its commands are not
// (CON-278).
func (r *Room) switches() bool {
	return r.cfg.Reading.UID == 0 && r.cfg.Plan.RunAs.Access != "self" && r.cfg.Plan.RunAs.UID != 0
}

// ids are those commands run as.
func (r *Room) ids() (uid, gid int) {
	if r.switches() {
		return r.cfg.Plan.RunAs.UID, r.cfg.Plan.RunAs.GID
	}
	return os.Getuid(), os.Getgid()
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

// RootError says that a composed root could not be built although the host can
// (E-RUN-014): it ends the session (CON-165).
func RootError(err error) error {
	return diag.Errorf("E-RUN-014", "the sealed root could not be built: %w; a weaker class is never taken instead", err).
		In("session").Name("step", err.Error()).About(diag.Subject{Kind: diag.Host, Name: "sealed root"})
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
