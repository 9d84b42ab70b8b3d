package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/murtest/sample"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// The Go tool finds its caches in the user's own home, wherever a test points
// HOME.
var userHome = os.Getenv("HOME")

// TestProcesses runs mur-stage as processes of their own, built so that it can
// kill itself before any change it makes to the file system.
func TestProcesses(t *testing.T) {
	program := filepath.Join(t.TempDir(), "mur-stage")
	cmd := exec.Command("go", "build", "-tags", "murcrash", "-o", program, "github.com/mur-capsules/mur/mur-stage")
	cmd.Env = append(os.Environ(), "HOME="+userHome)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build mur-stage: %v\n%s", err, out)
	}
	t.Run("killed", func(t *testing.T) { killed(t, program) })
	t.Run("at once", func(t *testing.T) { atOnce(t, program) })
}

// project is a script capsule with a tool in its project store.
type project struct{ dir, home, program string }

func newProject(t *testing.T, program string) project {
	t.Helper()
	p := project{dir: t.TempDir(), home: filepath.Join(t.TempDir(), "home"), program: program}
	tool := t.TempDir()
	for path, data := range map[string]string{
		filepath.Join(p.dir, "capsule.wasm"):   string(sample.CoreGuest),
		filepath.Join(p.dir, "murmur.yaml"):    "name: demo\nversion: \"1\"\nartifacts:\n  - {name: ana/count, version: 1.0.0, capabilities: {state: {}}}\n",
		filepath.Join(tool, "count.wasm"):      string(sample.CoreGuest),
		filepath.Join(tool, manifest.FileName): "name: count\nversion: 1.0.0\nruntime: tool\nrequires_files: [count.wasm]\n",
	} {
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := sample.Publish(p.dir, "ana", tool); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p project) stage(env ...string) (stdout []byte, stderr string, err error) {
	cmd := exec.Command(p.program)
	cmd.Dir = p.dir
	cmd.Env = append([]string{"HOME=" + filepath.Dir(p.home), "MURMUR_HOME=" + p.home}, env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.Bytes(), errOut.String(), err
}

// sound checks a document against the disk.
func sound(data []byte) error {
	d, err := session.Decode(data, "the document", nil)
	if err != nil {
		return err
	}
	held, err := d.Hold(&workfs.Latch{})
	if err != nil {
		return err
	}
	held.Close()
	lock, err := d.Take()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	for _, c := range []*session.Compiled{d.Capsule.Compiled, d.Artifacts[0].Compiled} {
		if c == nil {
			return errors.New("no compiled form")
		}
		form, err := os.ReadFile(c.Path)
		if err != nil {
			return err
		}
		if artifact.Hash(form) != c.SHA256 {
			return fmt.Errorf("%s has not the hash in the document", c.Path)
		}
	}
	return d.VerifyFiles(context.Background())
}

// A staging that is killed before any of its changes hands out no document and
// stands in nobody's way: every session directory it leaves has a whole document
// or none, the lock is whole or absent, and the next staging succeeds. SES-27,
// SES-40, SES-65, SES-74, ART-90, ART-129
func killed(t *testing.T, program string) {
	probe := newProject(t, program)
	log := filepath.Join(t.TempDir(), "log")
	if out, stderr, err := probe.stage("MUR_CRASH_LOG=" + log); err != nil || sound(out) != nil {
		t.Fatalf("%v %v\n%s", err, sound(out), stderr)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	points := strings.Count(string(data), "\n")
	if points < 20 {
		t.Fatalf("only %d changes:\n%s", points, data)
	}
	every := 1
	if testing.Short() {
		every = 7
	}
	for n := 1; n <= points; n += every {
		p := newProject(t, program)
		before := listing(t, filepath.Join(p.dir, ".murmur"))
		out, stderr, err := p.stage(fmt.Sprintf("MUR_CRASH_AT=%d", n))
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("point %d: not killed: %v\n%s", n, err, stderr)
		}
		if len(out) > 0 {
			t.Errorf("point %d: a document was printed", n)
		}
		docs, err := filepath.Glob(filepath.Join(p.home, "sessions", "*", "staged.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			data, err := os.ReadFile(doc)
			if err == nil {
				err = sound(data)
			}
			if err != nil {
				t.Errorf("point %d: %v", n, err)
			}
		}
		if _, _, err := lockfile.Load(filepath.Join(p.dir, lockfile.FileName)); err != nil {
			t.Errorf("point %d: %v", n, err)
		}
		if out, stderr, err = p.stage(); err == nil {
			err = sound(out)
		}
		if err != nil {
			t.Errorf("point %d: the next staging: %v\n%s", n, err, stderr)
		}
		if after := listing(t, filepath.Join(p.dir, ".murmur")); after != before {
			t.Errorf("point %d: the store changed", n)
		}
	}
}

// listing describes every file beneath dir.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %s\n", path, artifact.Hash(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Stagings of one manifest at the same moment, with nothing compiled yet and no
// lock, all succeed and get sessions of their own. ART-91, ART-129, SES-2
func atOnce(t *testing.T, program string) {
	p := newProject(t, program)
	const n = 8
	outs, errs := make([][]byte, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var stderr string
			if outs[i], stderr, errs[i] = p.stage(); errs[i] != nil {
				errs[i] = fmt.Errorf("%w\n%s", errs[i], stderr)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i := range n {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		d, err := session.Decode(outs[i], "the document", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sound(outs[i]); err != nil {
			t.Error(err)
		}
		if seen[d.SessionID] {
			t.Errorf("%s was staged twice", d.SessionID)
		}
		seen[d.SessionID] = true
	}
	l, found, err := lockfile.Load(filepath.Join(p.dir, lockfile.FileName))
	if err != nil || !found || len(l.Entries) != 1 {
		t.Errorf("%+v, %v, %v", l, found, err)
	}
}
