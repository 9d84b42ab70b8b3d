package serve

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/closure"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

// probeProgram builds the program that tries things inside a session.
func probeProgram(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "mur-serve-probe-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "probe")
	cmd := exec.Command("go", "build", "-o", program, "github.com/mur-capsules/mur/mur-shell/internal/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// with adds a program by its path to a session, as a name of PATH would be.
func with(doc *session.Document, program string) {
	doc.Policy.ShellAllow = append(doc.Policy.ShellAllow, program)
	for _, p := range closure.Find([]string{program}, "") {
		doc.Sandbox.Exec = append(doc.Sandbox.Exec, confine.ExecGrant{Entry: p.Entry, Paths: p.Paths, Closure: p.Closure})
	}
	doc.Sandbox.Binds = append(doc.Sandbox.Binds, confine.Bind{Path: filepath.Dir(program), Kind: "binary-dir"})
}

// inside tries one operation as a command of the session.
func (c *client) inside(program string, do ...string) string {
	c.t.Helper()
	v := c.run(program, "one "+strings.Join(do, " "))
	out, _ := v["stdout"].(string)
	if v["exit_code"] != 0.0 {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(out)
}

// What a session keeps from its commands and what it shows them.
// CON-P12 to CON-P18, CON-64, CON-65
func TestFoldersOfASession(t *testing.T) {
	program := probeProgram(t)
	classes(t, func(t *testing.T, class policy.Class) {
		doc := staged(t, class, 10)
		with(doc, program)
		runtime, records, own := doc.Directories.Runtime.Path, doc.Directories.Records.Path, doc.Directories.Session.Path
		other := filepath.Join(filepath.Dir(records), "other-records")
		write := func(paths ...string) {
			for _, p := range paths {
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte("text\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		in := func(dir string, names ...string) []string {
			var out []string
			for _, n := range names {
				out = append(out, filepath.Join(dir, n))
			}
			return out
		}
		seen := in(runtime, "MURMUR.md", "task.md", "murmur.yaml", "tools/t/murmur.yaml", "plans/p.json")
		log := filepath.Join(records, "logs", "shell-1.log")
		kept := in(records, "trace.jsonl", "hooks/h.json", "blobs/b", "1.seal", "results/r.json")
		others := append(in(other, "trace.jsonl", "conversations/c", "state/s"), in(own, "staged.json", "sandbox.json")...)
		write(append(append(append(slices.Clone(seen), log), kept...), others...)...)
		c, _ := serve(t, doc)
		c.answer("")

		gone := []string{"EACCES", "ENOENT"}
		unchanged := []string{"EACCES", "EROFS"}
		check := func(owed []string, do ...string) {
			t.Helper()
			if got := c.inside(program, do...); !slices.Contains(owed, got) {
				t.Errorf("%v: %q, want one of %q", do, got, owed)
			}
		}
		for _, p := range seen {
			check([]string{"ok"}, "read", p)
			check(unchanged, "append", p)
			check(unchanged, "unlink", p)
			check(append(unchanged, "EXDEV"), "rename", p, filepath.Join(doc.Directories.Work.Path, "taken"))
		}
		check([]string{"ok"}, "list", filepath.Join(runtime, "tools"))
		check([]string{"ok"}, "read", log)
		check(unchanged, "append", log)
		check(append(unchanged, "EXDEV", "EBUSY"), "rename", filepath.Dir(log), filepath.Join(doc.Directories.Work.Path, "logs"))
		for _, p := range append(kept, others...) {
			check(gone, "read", p)
			check(append(unchanged, "ENOENT"), "append", p)
		}
		check(gone, "list", records)
		check(gone, "list", own)
		check([]string{"ok"}, "create", filepath.Join(records, "tmp", "x"))
		check([]string{"ok"}, "create", filepath.Join(records, "home", "x"))
	})
}

// Commands that run at once in workers of their own neither see nor reach each
// other. CON-P135, CON-281
func TestNeighboursAreOutOfReach(t *testing.T) {
	program := probeProgram(t)
	classes(t, func(t *testing.T, class policy.Class) {
		doc := staged(t, class, 10)
		if doc.HostProbe.ProcView != "private" {
			t.Skip("no PID namespace of its own on this host")
		}
		with(doc, program)
		c, _ := serve(t, doc)
		c.answer("")
		neighbour := c.exec("foreground", program, "one sleep 4000", nil)
		for range 20 { // until it runs there is one worker, and it is busy
			if got := c.inside(program, "kill-all"); got != "ESRCH" && got != "EPERM" {
				t.Fatalf("there is a process to signal: %s", got)
			}
		}
		if class == policy.Sealed {
			if got := c.inside(program, "processes"); got != "few" {
				t.Errorf("%s processes are seen", got)
			}
		}
		if v := c.answer(neighbour); v["exit_code"] != 0.0 {
			t.Errorf("the neighbour ended with %v", v)
		}
	})
}

// A mount below a staged runtime tree is as read-only as the tree. CON-P22, CON-158
func TestMountsBelowAStagedRuntime(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount something to look at")
	}
	program := probeProgram(t)
	doc := staged(t, policy.Sealed, 10)
	with(doc, program)
	tree := filepath.Join(filepath.Dir(doc.Directories.Work.Path), "runtime-tree")
	nested := filepath.Join(tree, "nested")
	if err := os.MkdirAll(nested, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", nested, "tmpfs", 0, "mode=0777"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(nested, unix.MNT_DETACH) })
	doc.Policy.StagedRuntime = []policy.StagedRuntime{{Binary: program, SourcePath: tree}}
	c, _ := serve(t, doc)
	c.answer("")
	if got := c.inside(program, "list", nested); got != "ok" {
		t.Errorf("the tree is not there: %s", got)
	}
	if got := c.inside(program, "create", nested+"/new"); got != "EROFS" && got != "EACCES" {
		t.Errorf("a file could be made: %s", got)
	}
	if _, err := os.Stat(nested + "/new"); err == nil {
		t.Error("the file is there")
	}
}

// A native tool has the descriptors 0 to 2 and no other. CON-P42
func TestDescriptorsOfANativeTool(t *testing.T) {
	program := probeProgram(t)
	classes(t, func(t *testing.T, class policy.Class) {
		doc := staged(t, class, 10)
		tool := doc.Sandbox.Natives[0].Path
		text, err := os.ReadFile(program)
		if err == nil {
			err = os.WriteFile(tool, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		doc.Sandbox.Natives[0].Closure = []string{tool}
		c, _ := serve(t, doc)
		c.answer("")
		id := c.id()
		c.send(map[string]any{"op": "native", "id": id, "name": "native", "input": map[string]any{"data": "x", "log_path": nil}})
		v := c.answer(id)
		r, _ := v["tool_result"].(map[string]any)
		expect(t, r, map[string]any{"status": "passed", "data": "none"})
	})
}

// A staged runtime that is gone when the root is built ends the session, and no
// command runs. CON-P123, CON-155
func TestStagedRuntimeThatWent(t *testing.T) {
	doc := staged(t, policy.Sealed, 10, "touch")
	doc.Policy.StagedRuntime = []policy.StagedRuntime{{Binary: "touch", SourcePath: filepath.Join(filepath.Dir(doc.Directories.Work.Path), "gone")}}
	c, _ := serve(t, doc)
	c.answer("")
	expect(t, c.run("touch", "ran"), map[string]any{"event": "fatal", "code": "E-RUN-014"})
	if _, err := os.Stat(filepath.Join(doc.Directories.Work.Path, "ran")); err == nil {
		t.Error("the command ran")
	}
}
