package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

const truth = "/usr/bin/true"

// contender is one way to run a command.
type contender struct {
	name string
	run  func() error
	took []float64 // milliseconds
}

// rounds runs the contenders in turns, in another order each time, so that a busy
// moment of the host hits all of them, and reports each median as <name>-ms.
func rounds(b *testing.B, contenders []*contender) {
	for b.Loop() {
		for _, i := range rand.Perm(len(contenders)) {
			c := contenders[i]
			begin := time.Now()
			if err := c.run(); err != nil {
				b.Fatalf("%s: %v", c.name, err)
			}
			c.took = append(c.took, float64(time.Since(begin).Microseconds())/1000)
		}
	}
	for _, c := range contenders {
		b.ReportMetric(median(c.took), c.name+"-ms")
	}
}

func median(took []float64) float64 {
	slices.Sort(took)
	return took[len(took)/2]
}

// warm is a session of a class that has run a command before.
func warm(b *testing.B, name string, class policy.Class, grow func(*session.Document)) *contender {
	doc := staged(b, class, 10, "true")
	if grow != nil {
		grow(doc)
	}
	c, _ := serve(b, doc)
	c.answer("")
	run := func() error {
		if v := c.run("true", "x"); v["exit_code"] != 0.0 {
			return fmt.Errorf("%v", v)
		}
		return nil
	}
	if err := run(); err != nil {
		b.Fatal(err)
	}
	return &contender{name: name, run: run}
}

// program runs the same words again and again.
func program(name string, words ...string) *contender {
	return &contender{name: name, run: func() error { return exec.Command(words[0], words[1:]...).Run() }}
}

// P1: one command in a running session, beside the command alone and the peers
// that this host has. SHL-149
func BenchmarkPeers(b *testing.B) {
	contenders := []*contender{program("bare", truth), warm(b, "scoped", policy.Scoped, nil), warm(b, "sealed", policy.Sealed, nil)}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		contenders = append(contenders, program("bwrap", bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", truth))
	}
	if runc, err := exec.LookPath("runc"); err == nil && os.Getuid() == 0 {
		bundle := runcBundle(b, runc)
		n := 0
		contenders = append(contenders, &contender{name: "runc", run: func() error {
			n++
			cmd := exec.Command(runc, "run", "--bundle", bundle, fmt.Sprintf("mur-bench-%d-%d", os.Getpid(), n))
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}})
	}
	rounds(b, contenders)
}

// runcBundle is a bundle that runs the command over the host's /usr.
func runcBundle(b *testing.B, runc string) string {
	dir := b.TempDir()
	cmd := exec.Command(runc, "spec")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("runc spec: %v %s", err, out)
	}
	file := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	var spec map[string]any
	if err := json.Unmarshal(text, &spec); err != nil {
		b.Fatal(err)
	}
	process := spec["process"].(map[string]any)
	process["terminal"], process["args"] = false, []string{truth}
	spec["mounts"] = append(spec["mounts"].([]any), map[string]any{"destination": "/usr", "type": "bind", "source": "/usr", "options": []string{"rbind", "ro"}})
	root := filepath.Join(dir, "rootfs")
	for _, d := range []string{"usr", "proc", "dev", "sys"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for _, l := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+l, filepath.Join(root, l)); err != nil {
			b.Fatal(err)
		}
	}
	if text, err = json.Marshal(spec); err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

// P2: the first sealed command of a session: from its request to its end, and with
// the start of the server.
func BenchmarkFirst(b *testing.B) {
	var first, whole []float64
	for b.Loop() {
		doc := staged(b, policy.Sealed, 10, "true")
		begin := time.Now()
		c, cmd := serve(b, doc)
		c.answer("")
		ready := time.Now()
		c.run("true", "x")
		first = append(first, float64(time.Since(ready).Microseconds())/1000)
		whole = append(whole, float64(time.Since(begin).Microseconds())/1000)
		_ = c.conn.Close()
		_ = cmd.Wait()
	}
	b.ReportMetric(median(first), "first-ms")
	b.ReportMetric(median(whole), "whole-ms")
}

// P8: a warm command with a thousand grants, and with a work folder of 280,000
// files, beside one with neither.
func BenchmarkLarge(b *testing.B) {
	grants := func(doc *session.Document) {
		base := filepath.Dir(doc.Directories.Work.Path)
		for i := range 1000 {
			file := filepath.Join(base, fmt.Sprintf("grant%d", i))
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				b.Fatal(err)
			}
			doc.Policy.TrustStore = append(doc.Policy.TrustStore, file)
		}
	}
	files := func(doc *session.Document) {
		one := filepath.Join(doc.Directories.Work.Path, "file")
		if err := os.WriteFile(one, nil, 0o644); err != nil {
			b.Fatal(err)
		}
		for i := range 280 {
			dir := filepath.Join(doc.Directories.Work.Path, fmt.Sprintf("d%d", i))
			if err := os.Mkdir(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			for j := range 1000 {
				name := filepath.Join(dir, fmt.Sprintf("f%d", j))
				if os.Link(one, name) == nil {
					continue
				}
				// The file system's bound of names for one file.
				one = name
				if err := os.WriteFile(one, nil, 0o644); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	var contenders []*contender
	for _, class := range []policy.Class{policy.Scoped, policy.Sealed} {
		contenders = append(contenders, warm(b, class.String(), class, nil), warm(b, class.String()+"-grants", class, grants), warm(b, class.String()+"-files", class, files))
	}
	rounds(b, contenders)
}
