package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/forms"
	"github.com/mur-capsules/mur/lib/session/running"
	"github.com/mur-capsules/mur/lib/session/stale"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// formBudget bounds what is read of the compiled forms.
const formBudget = 256 << 20

// gatherLeftovers looks for what killed programs left in the murmur home and in
// the project (DIA-209). What can be put right without touching anything a user
// wrote has a fix (DIA-210).
func gatherLeftovers(ctx context.Context, env cli.Env, home workfs.Home, projectDir string) []Check {
	var rows []Check
	rows = append(rows, modes(home)...)
	rows = append(rows, staleSessions(home, env.Now())...)
	rows = append(rows, runningRecords(ctx, home)...)
	rows = append(rows, compiledForms(home)...)
	rows = append(rows, bundles(home)...)
	limits := artifact.LimitsOf(env.Environ)
	stores := store.Chain{store.OfHome(home, limits)}
	if projectDir != "" {
		stores = append(stores, store.OfProject(projectDir, limits))
	}
	for _, s := range stores {
		rows = append(rows, tornEntries(ctx, s)...)
	}
	return append(rows, temporaries(home, projectDir)...)
}

// privateDirs are the directories of SES-12 that nobody else may enter.
var privateDirs = []string{".", "artifacts", "bundles", "compiled", "keys", "sessions", "records", "running", "conversations", "state", "spend", "formations"}

// modes is a row for each directory of the murmur home that others can enter.
func modes(home workfs.Home) []Check {
	var rows []Check
	for _, name := range privateDirs {
		path := home.Join(name)
		fi, err := os.Lstat(path)
		if err != nil || !fi.IsDir() || fi.Mode().Perm()&0o077 == 0 {
			continue
		}
		rows = append(rows, Check{
			Name: "mode", Subject: path, Status: Warning, Message: fmt.Sprintf("others can reach what the murmur home holds: mode %04o", fi.Mode().Perm()),
			Remedy: "chmod 700 " + path, fix: chmod(path, unix.S_IFDIR, 0o700),
		})
	}
	return rows
}

// chmod gives a directory or file of this user a mode; a link is not followed.
func chmod(path string, kind uint32, mode uint32) func() (string, error) {
	return func() (string, error) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", &fs.PathError{Op: "open", Path: path, Err: err}
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return "", &fs.PathError{Op: "stat", Path: path, Err: err}
		}
		if uint32(st.Mode)&unix.S_IFMT != kind || int(st.Uid) != os.Geteuid() {
			return "", fmt.Errorf("%s is not this user's own", path)
		}
		if err := unix.Fchmod(fd, mode); err != nil {
			return "", &fs.PathError{Op: "chmod", Path: path, Err: err}
		}
		return fmt.Sprintf("mode set to %04o", mode), nil
	}
}

func staleSessions(home workfs.Home, now time.Time) []Check {
	sessions, err := stale.Open(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Check{fault("session", Failed, err)}
	}
	defer sessions.Close()
	found, err := stale.IDs(sessions)
	if err != nil {
		return []Check{fault("session", Warning, workfs.Fault(err, "cannot list the sessions"))}
	}
	var rows []Check
	for _, id := range found {
		why := stale.Find(sessions, id, now)
		if why == "" {
			continue
		}
		rows = append(rows, Check{
			Name: "session", Subject: id, Status: Warning, Message: "its directory is left: " + why, Remedy: "mur-doctor --fix removes it; its records stay",
			fix: func() (string, error) {
				sessions, err := stale.Open(home)
				if err != nil {
					return "", err
				}
				defer sessions.Close()
				removed, err := stale.Remove(sessions, id, now)
				if err == nil && !removed {
					return "somebody uses it again", nil
				}
				return "removed " + sessions.Join(id), err
			},
		})
	}
	return append(rows, ok("session", fmt.Sprintf("%d sessions have a directory, %d of them stale", len(found), len(rows))))
}

// runningRecords judges the records by process alone: no door is asked.
func runningRecords(ctx context.Context, home workfs.Home) []Check {
	host := running.Here()
	host.Card = func(context.Context, string) (string, error) { return "", errors.New("not asked") }
	found, err := running.Look(home, host)
	if err != nil {
		c := fault("running-record", Failed, err)
		c.Code = "E-RUN-028"
		return []Check{c}
	}
	var rows []Check
	live := 0
	for _, rec := range found.Records {
		if running.Judge(ctx, rec, host) != running.Gone {
			live++
			continue
		}
		rows = append(rows, Check{
			Name: "running-record", Subject: rec.SessionID, Status: Warning, Message: fmt.Sprintf("process %d of %s is gone and its record is left", rec.PID, rec.CapsuleName),
			Remedy: "mur-doctor --fix removes the record",
			fix: func() (string, error) {
				if running.Judge(ctx, rec, host) != running.Gone {
					return "it runs again", nil
				}
				return "removed the record", running.Remove(home, rec.SessionID)
			},
		})
	}
	for _, name := range append(found.Broken, found.Dead...) {
		rows = append(rows, Check{
			Name: "running-record", Subject: name, Status: Warning, Message: "is no record of a session", Remedy: "mur-doctor --fix removes it",
			fix: func() (string, error) {
				return "removed " + home.Join(running.Dir+"/"+name), running.RemoveDead(home, name)
			},
		})
	}
	if live > 0 || rows != nil {
		rows = append(rows, ok("running-record", fmt.Sprintf("%d sessions run", live)))
	}
	return rows
}

func compiledForms(home workfs.Home) []Check {
	kept := store.OpenCompiled(home, "")
	list, err := kept.Forms(formBudget)
	if err != nil {
		return []Check{fault("compiled-form", Warning, err)}
	}
	var rows []Check
	var other, sound int
	var size int64
	for _, f := range list {
		switch {
		case f.Broken != "":
			rows = append(rows, Check{
				Name: "compiled-form", Subject: f.Name, Status: Warning, Message: "would never be loaded: " + f.Broken, Remedy: "mur-doctor --fix removes it; it is compiled again when it is needed",
				fix: func() (string, error) { return "removed the form", kept.Drop(f.Name) },
			})
		case !served(f.Fingerprint):
			other++
			size += f.Bytes
		default:
			sound++
		}
	}
	if len(list) > 0 {
		rows = append(rows, ok("compiled-form", fmt.Sprintf("%d forms for the engines of this build; %d of other builds with %d bytes, which go when unused for %d days", sound, other, size, int(store.FormLifetime.Hours()/24))))
	}
	return rows
}

// served tells whether an engine of this build loads forms of a fingerprint.
func served(fingerprint string) bool {
	for _, f := range forms.Built() {
		if !f.Missing && f.Info.Fingerprint == fingerprint {
			return true
		}
	}
	return false
}

// bundles says how much mur-lock prune --bundles would free.
func bundles(home workfs.Home) []Check {
	found, _, err := bundle.ShelfOf(home).Unused(false)
	if err != nil {
		return []Check{fault("bundle", Warning, err)}
	}
	if len(found) == 0 {
		return nil
	}
	var size int64
	for _, l := range found {
		size += l.Bytes
	}
	return []Check{ok("bundle", fmt.Sprintf("%d bytes of bundles that no session uses can be freed: mur-lock prune --bundles", size))}
}

func tornEntries(ctx context.Context, s *store.Store) []Check {
	torn, err := s.Torn(ctx)
	if err != nil {
		return []Check{fault("store-entry", Warning, err)}
	}
	var rows []Check
	for _, t := range torn {
		c := Check{
			Name: "store-entry", Subject: t.Ref.String(), Status: Warning, Message: fmt.Sprintf("in the %s store: %s", s.Label(), t.Reason),
			Remedy: "install it again: mur-lock install " + t.Ref.String(),
		}
		if t.Recoverable {
			c.Remedy = "mur-doctor --fix, or the next write of it, puts it right"
			c.fix = func() (string, error) {
				ctx, stop := context.WithTimeout(ctx, versionTime)
				defer stop()
				return "recovered " + t.Dir, s.Recover(ctx, t.Ref)
			}
		}
		rows = append(rows, c)
	}
	return rows
}

// temporaries are unfinished files of killed writers outside of the stores and of
// sessions' own directories.
func temporaries(home workfs.Home, projectDir string) []Check {
	var rows []Check
	look := func(root *workfs.Root, err error) {
		if err != nil {
			return // a directory that is not there, or another check's matter
		}
		defer root.Close()
		dead, _ := root.DeadTemporaries(".")
		for _, name := range dead {
			dir := root.Path()
			rows = append(rows, Check{
				Name: "temporary", Subject: root.Join(name), Status: Warning, Message: "a killed writer left it", Remedy: "mur-doctor --fix removes it",
				fix: func() (string, error) {
					root, err := workfs.OpenRoot(dir, workfs.Options{Plain: true})
					if err != nil {
						return "", err
					}
					defer root.Close()
					root.RemoveTemporary(name)
					if _, err := root.Stat(name); err == nil {
						return "", fmt.Errorf("%s could not be removed", root.Join(name))
					}
					return "removed it", nil
				},
			})
		}
	}
	for _, name := range []string{".", "bundles", "bundles/refs", "compiled", "keys", "spend"} {
		look(home.OpenExisting(name, workfs.Options{Plain: true}))
	}
	if projectDir != "" {
		look(workfs.OpenRoot(projectDir, workfs.Options{Plain: true}))
		look(workfs.OpenRoot(filepath.Join(projectDir, ".murmur"), workfs.Options{Plain: true}))
	}
	return rows
}
