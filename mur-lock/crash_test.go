package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/bundle"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// userHome is where the go command finds its caches.
var userHome = os.Getenv("HOME")

// world is a project, a murmur home and archives in one directory.
type world struct {
	t    *testing.T
	bin  string
	dir  string
	home workfs.Home
}

// crashable builds mur-lock so that it kills itself before the change of the file
// system numbered MUR_CRASH_AT (lib/workfs, tag murcrash).
func crashable(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command to build mur-lock with the tag murcrash")
	}
	if userHome == "" && os.Getenv("GOMODCACHE") == "" && os.Getenv("GOPATH") == "" {
		t.Skip("needs HOME or GOMODCACHE, by which the go command finds its modules")
	}
	bin := filepath.Join(t.TempDir(), "mur-lock")
	cmd := exec.Command("go", "build", "-tags", "murcrash", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "HOME="+userHome)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

func newWorld(t *testing.T, bin string) *world {
	w := &world{t: t, bin: bin, dir: t.TempDir()}
	var err error
	if w.home, err = workfs.FindHome(w.environ()); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"a", "b", "b2"} {
		w.write(v+"/murmur.yaml", fmt.Sprintf("name: %s\nversion: 1.0.0\nruntime: skill\n", v[:1]))
		w.write(v+"/skill.md", "the text of "+v)
	}
	w.write("home/keep", "")
	w.write("project/murmur.yaml", "name: p\nversion: 0.1.0\nartifacts:\n"+
		"  - {name: local/a, version: 1.0.0, runtime: skill}\n  - {name: local/b, version: 1.0.0, runtime: skill}\n")
	return w
}

// copy is another world with the same files.
func (w *world) copy() *world {
	w.t.Helper()
	c := &world{t: w.t, bin: w.bin, dir: w.t.TempDir()}
	err := os.CopyFS(c.dir, os.DirFS(w.dir))
	if err == nil {
		c.home, err = workfs.FindHome(c.environ())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) write(rel, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, rel)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) environ() []string { return []string{"HOME=" + w.dir + "/home"} }

func (w *world) command(at int, args ...string) *exec.Cmd {
	cmd := exec.Command(w.bin, args...)
	cmd.Dir = w.dir + "/project"
	cmd.Env = append(w.environ(), "MUR_CRASH_AT="+strconv.Itoa(at))
	return cmd
}

// run runs mur-lock to its end.
func (w *world) run(args ...string) {
	w.t.Helper()
	if out, err := w.command(-1, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("mur-lock %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// crash runs mur-lock until it kills itself before change number at, and reports
// whether it did.
func (w *world) crash(at int, args ...string) bool {
	w.t.Helper()
	out, err := w.command(at, args...).CombinedOutput()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		w.t.Fatalf("mur-lock %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return true
}

// holds returns the skill's text of what a store holds under local/<name>@1.0.0,
// "" for nothing. Whatever it holds must be whole.
func (w *world) holds(s *store.Store, name string) string {
	w.t.Helper()
	ref, _ := artifact.ParseRef("local/" + name + "@1.0.0")
	f, err := s.Resolve(context.Background(), ref, artifact.Host())
	var nf *store.NotFoundError
	if errors.As(err, &nf) {
		return ""
	}
	if err != nil {
		w.t.Fatalf("half-written: %v", err)
	}
	_, text, err := f.Archive.Skill(ref.String())
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func (w *world) global() *store.Store { return store.OfHome(w.home, artifact.LimitsOf(nil)) }

func (w *world) project() *store.Store {
	return store.OfProject(w.dir+"/project", artifact.LimitsOf(nil))
}

// lock reads the project's lock, which must be whole.
func (w *world) lock() lockfile.Lock {
	w.t.Helper()
	l, _, err := lockfile.Load(w.dir + "/project/murmur.lock")
	if err != nil {
		w.t.Fatalf("half-written: %v", err)
	}
	return l
}

// clean fails when a finished run left temporaries, backups or journals.
func (w *world) clean() {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.HasSuffix(name, ".tmp") || strings.HasPrefix(name, ".old.") || name == ".write.json" {
			w.t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

func oneOf(t *testing.T, what, got string, want ...string) {
	t.Helper()
	for _, s := range want {
		if got == s {
			return
		}
	}
	t.Fatalf("%s is %q, want one of %q", what, got, want)
}

// ART-25, ART-53, ART-54, ART-90, ART-91, ART-106, ART-200, ART-220: a kill before every single
// change of the file system leaves nothing half-written that is ever used, and
// the same command then succeeds and leaves nothing behind.
func TestKilledAtEveryStep(t *testing.T) {
	bin := crashable(t)
	for name, c := range map[string]struct {
		prepare func(w *world)
		args    []string
		after   func(w *world) // what must hold right after the kill
		again   []string       // run to its end afterwards, args by default
		done    func(w *world)
	}{
		"pack over an older archive": {
			prepare: func(w *world) { w.write("project/out.mur.zip", "old") },
			args:    []string{"pack", "../a", "-o", "out.mur.zip"},
			after: func(w *world) {
				data, err := os.ReadFile(w.dir + "/project/out.mur.zip")
				if err != nil {
					w.t.Fatal(err)
				}
				if string(data) != "old" {
					if _, err := artifact.Open(data, artifact.LimitsOf(nil)); err != nil {
						w.t.Fatalf("half-written: %v", err)
					}
				}
			},
			done: func(w *world) { w.run("install", "-g", "./out.mur.zip") },
		},
		"publish": {
			prepare: func(w *world) { w.run("pack", "../a", "-o", "../a.mur.zip") },
			args:    []string{"publish", "../a.mur.zip"},
			after: func(w *world) {
				if oneOf(w.t, "local/a", w.holds(w.global(), "a"), "", "the text of a"); w.holds(w.global(), "a") == "" {
					w.run("publish", "../a.mur.zip")
				}
			},
			again: []string{"install", "local/a@1.0.0"},
			done:  func(w *world) { oneOf(w.t, "local/a", w.holds(w.global(), "a"), "the text of a") },
		},
		"install what the manifest declares": {
			prepare: func(w *world) {
				w.run("pack", "../a", "-o", "../a.mur.zip")
				w.run("pack", "../b", "-o", "../b.mur.zip")
				w.run("install", "-g", "../a.mur.zip", "../b.mur.zip")
			},
			args: []string{"install"},
			after: func(w *world) {
				for _, e := range w.lock().Entries {
					if w.holds(w.project(), e.Name.Name) == "" {
						w.t.Fatalf("%s is pinned and not installed", e.Name)
					}
				}
			},
			done: func(w *world) {
				if l := w.lock(); len(l.Entries) != 2 {
					w.t.Fatalf("%d pins", len(l.Entries))
				}
				w.run("verify")
			},
		},
		"install over other bytes": {
			prepare: func(w *world) {
				w.run("pack", "../b", "-o", "../b.mur.zip")
				w.run("pack", "../b2", "-o", "../b2.mur.zip")
				w.run("install", "-g", "../b.mur.zip")
			},
			args: []string{"install", "-g", "../b2.mur.zip"},
			after: func(w *world) {
				oneOf(w.t, "local/b", w.holds(w.global(), "b"), "the text of b", "the text of b2")
			},
			done: func(w *world) { oneOf(w.t, "local/b", w.holds(w.global(), "b"), "the text of b2") },
		},
		"prune": {
			prepare: func(w *world) {
				w.run("pack", "../b", "-o", "../b.mur.zip")
				w.write("project/murmur.yaml", "name: p\nversion: 0.1.0\n")
				w.run("install", "../b.mur.zip")
			},
			args: []string{"prune"},
			after: func(w *world) {
				oneOf(w.t, "local/b", w.holds(w.project(), "b"), "", "the text of b")
			},
			done: func(w *world) {
				oneOf(w.t, "local/b", w.holds(w.project(), "b"), "")
				w.run("install", "../b.mur.zip")
				oneOf(w.t, "local/b", w.holds(w.project(), "b"), "the text of b")
			},
		},
		"prune --bundles": {
			prepare: func(w *world) { w.keepBundle() },
			args:    []string{"prune", "--bundles", "--all"},
			after: func(w *world) {
				// Whole or not at all, the file and what was unpacked.
				if _, err := bundle.ShelfOf(w.home).Find(kept, bundleOptions); err != nil && diag.CodeOf(err) != "E-REG-001" {
					w.t.Fatal(err)
				}
				dirs, err := filepath.Glob(w.home.Join("bundles/*"))
				if err != nil {
					w.t.Fatal(err)
				}
				for _, dir := range dirs {
					if fi, err := os.Stat(dir); err != nil || !fi.IsDir() || filepath.Ext(dir) != "" || filepath.Base(dir) == "refs" {
						continue
					}
					for _, f := range []string{manifest.FileName, lockfile.FileName, "capsule.wasm", ".murmur/artifacts/local/a/1.0.0/a-1.0.0.mur.zip"} {
						if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
							w.t.Fatalf("half-removed: %v", err)
						}
					}
				}
			},
			done: func(w *world) {
				if left, _, err := bundle.ShelfOf(w.home).Unused(true); err != nil || left != nil {
					w.t.Fatalf("left: %v, %v", left, err)
				}
				w.keepBundle()
			},
		},
		"pin --update": {
			prepare: func(w *world) {
				w.run("pack", "../b", "-o", "../b.mur.zip")
				w.run("pack", "../b2", "-o", "../b2.mur.zip")
				w.run("install", "-g", "../b.mur.zip")
				w.run("pin", "local/b@1.0.0")
				w.run("install", "-g", "../b2.mur.zip")
			},
			args: []string{"pin", "--update", "local/b@1.0.0"},
			after: func(w *world) {
				if l := w.lock(); len(l.Entries) != 1 {
					w.t.Fatalf("%d pins", len(l.Entries))
				}
			},
			done: func(w *world) {
				b2, _ := os.ReadFile(w.dir + "/b2.mur.zip")
				if got := w.lock().Entries[0].SHA256.Any; got != artifact.Hash(b2) {
					w.t.Fatalf("pinned %s", got)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepared := newWorld(t, bin)
			c.prepare(prepared)
			steps := 0
			for at := 1; ; at++ {
				w := prepared.copy()
				if !w.crash(at, c.args...) {
					break
				}
				steps++
				c.after(w)
				if c.again == nil {
					w.run(c.args...)
				} else {
					w.run(c.again...)
				}
				c.done(w)
				w.clean()
				if t.Failed() {
					t.Fatalf("killed before change %d", at)
				}
			}
			if steps < 3 {
				t.Errorf("only %d steps: the build does not kill itself", steps)
			}
			t.Logf("%d steps", steps)
		})
	}
}

// ART-91, ART-182: eight installs at once on an empty store.
func TestEightInstallsAtOnce(t *testing.T) {
	w := newWorld(t, crashable(t))
	w.run("pack", "../a", "-o", "../a.mur.zip")
	w.run("pack", "../b", "-o", "../b.mur.zip")
	w.run("install", "-g", "../a.mur.zip", "../b.mur.zip")
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if out, err := w.command(-1, "install").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}()
	}
	wg.Wait()
	w.run("verify")
	w.clean()
	if l := w.lock(); len(l.Entries) != 2 {
		t.Errorf("%d pins", len(l.Entries))
	}
	want, _ := os.ReadFile(w.dir + "/a.mur.zip")
	got, _ := os.ReadFile(w.dir + "/project/.murmur/artifacts/local/a/1.0.0/a-1.0.0.mur.zip")
	if !bytes.Equal(got, want) {
		t.Error("the stored archive is not the published one")
	}
}
