package terms

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/grants"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// Host is what settling asks of the machine; a test brings its own.
type Host struct {
	Probe func() confine.Reading
	// ProbeRest is Probe without a try at the network namespace, where that is made
	// for good at the same time.
	ProbeRest func() confine.Reading
	Grants    grants.Host
}

// Terms are what a command runs on.
type Terms struct {
	ID       string
	Reading  confine.Reading
	Decision confine.Decision
	Policy   policy.Policy
	Plan     confine.Plan
	Report   confine.ScopeReport
	Binds    []confine.Bind
	Staged   []room.Identity
	Warnings []diag.Warning
	// Runtime are the session's own variables (SHL section 5).
	Runtime map[string]string
	Network *room.Network // already running; nil where the plan has none

	records  *workfs.Root // of a run without a session: removed by Close
	home     workfs.Home
	scope    *cgroup.Scope
	ownScope bool         // it was made here
	given    bool         // whether there is one has been said
	lock     *workfs.Lock // of records: held while the run lives
	keep     bool
	state    string // of composed roots
	etc      string // of their synthetic files
	notes    *Notes
}

// Records is the directory whose logs a run may write, absolute.
func (t *Terms) Records() string { return t.Runtime["MURMUR_RECORDS_DIR"] }

// Keep makes Close leave the records: they hold a log.
func (t *Terms) Keep() { t.keep = true }

// Notes take lines for a session's log until somebody reads them.
type Notes struct {
	ch chan string
}

// NewNotes holds up to 256 lines; further ones are dropped.
func NewNotes() *Notes { return &Notes{ch: make(chan string, 256)} }

// Add takes a line, from any goroutine.
func (n *Notes) Add(line string) {
	select {
	case n.ch <- line:
	default:
	}
}

// Drain returns what was added since the last call.
func (n *Notes) Drain() []string {
	var out []string
	for {
		select {
		case l := <-n.ch:
			out = append(out, l)
		default:
			return out
		}
	}
}

// Notes are the lines for the log so far, each once.
func (t *Terms) Notes() []string { return t.notes.Drain() }

// Room opens the room the terms describe, with a cgroup scope where the session
// needs one (CON-177 to CON-179).
func (t *Terms) Room(ctx context.Context) (*room.Room, error) {
	if err := t.makeScope(); err != nil {
		return nil, err
	}
	cfg := room.Config{
		ID: t.ID, Plan: t.Plan, Reading: t.Reading, Policy: t.Policy, Binds: t.Binds, Staged: t.Staged,
		Scope: t.scope, Network: t.Network, Note: t.notes.Add,
		State: t.state, Etc: t.etc,
	}
	if t.Plan.ComposedRoot {
		for _, d := range []string{cfg.State, cfg.Etc} {
			if err := os.Mkdir(d, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
				return nil, room.RootError(err)
			}
		}
	}
	t.Network = nil // the room's now
	return room.Open(ctx, cfg)
}

// Close ends what the terms still hold and removes what a run without a session
// made, unless it was kept. The room is closed before.
func (t *Terms) Close() error {
	var errs []error
	if t.Network != nil {
		t.Network.Close()
	}
	if t.ownScope {
		errs = append(errs, t.scope.Clear())
	}
	if t.records == nil {
		return errors.Join(errs...)
	}
	name := filepath.Base(t.records.Path())
	t.records.Close()
	parent, err := t.home.OpenExisting(standaloneDir, workfs.Options{Ephemeral: true, Plain: true})
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	defer parent.Close()
	errs = append(errs, tidy(parent, name, t.keep))
	if t.lock != nil {
		errs = append(errs, t.lock.Unlock())
	}
	return errors.Join(errs...)
}

// tidy removes a run's folders, or all but its logs.
func tidy(parent *workfs.Root, name string, keep bool) error {
	if !keep {
		return parent.RemoveAll(name)
	}
	var errs []error
	for _, d := range []string{lockName, "tmp", "home", "sealed-etc", "sealed-root"} {
		if err := parent.RemoveAll(filepath.Join(name, d)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// lockName is what a living run holds in its folder.
const lockName = ".lock"

// sweep removes what runs left that were killed: those whose lock nobody holds.
// Their logs stay.
func (t *Terms) sweep(own string) {
	parent, err := t.home.OpenExisting(standaloneDir, workfs.Options{Ephemeral: true, Plain: true})
	if err != nil {
		return
	}
	defer parent.Close()
	entries, err := parent.List(".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Name == own || !e.IsDir() {
			continue
		}
		if _, err := parent.Stat(filepath.Join(e.Name, lockName)); err != nil {
			continue // kept for its log, or being made just now
		}
		lock, err := parent.TryLock(filepath.Join(e.Name, lockName))
		if err != nil {
			continue
		}
		logs, _ := parent.List(filepath.Join(e.Name, "logs"))
		_ = tidy(parent, e.Name, len(logs) > 0)
		_ = lock.Unlock()
	}
}

// within tells whether path is dir or lies beneath it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Allows reports whether an entry is in the allow list, compared exactly (SHL-35).
func (t *Terms) Allows(entry string) bool { return slices.Contains(t.Policy.ShellAllow, entry) }
