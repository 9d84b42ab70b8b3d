package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
)

// The whole of mur-doctor takes less than 500 ms in the examples, with the guests
// their build.sh make, the other five commands beside it and nothing compiled yet:
// the murmur home is empty before and after. The best of several runs counts, for
// whatever else the machine does. DIA-211, SES-271
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("the guests of the examples are built")
	}
	if _, ok := component.Info(); !ok {
		t.Skip("no bound is promised for a build without cgo: its engine validates as its interpreter reads")
	}
	var bin string
	names := []string{"mur-doctor", "mur-stage", "mur-launch", "mur-shell", "mur-trace", "mur-lock"}
	for _, name := range names {
		bin = filepath.Dir(murtest.Command(t, name))
	}
	examples := buildExamples(t, bin)
	for _, name := range []string{"repo-report", "repo-agent"} {
		t.Run(name, func(t *testing.T) {
			best := time.Hour
			for range 20 {
				home := t.TempDir()
				cmd := exec.Command(filepath.Join(bin, "mur-doctor"))
				cmd.Dir = filepath.Join(examples, name)
				cmd.Env = []string{"HOME=" + home, "MURMUR_HOME=" + filepath.Join(home, "murmur"), "PATH=/usr/bin:/bin"}
				begun := time.Now()
				out, err := cmd.CombinedOutput()
				best = min(best, time.Since(begun))
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				for _, name := range names {
					if !strings.Contains(string(out), "ok                 command "+name+": ") {
						t.Fatalf("%s was not found beside: %s", name, out)
					}
				}
				if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
					t.Fatalf("it made %v, %v", left, err)
				}
				if best < 500*time.Millisecond {
					t.Logf("%s", best)
					return
				}
			}
			t.Errorf("it takes %s", best)
		})
	}
}

// buildExamples copies the examples and the drivers they use, builds them as
// build.sh does, with mur-lock of bin, and returns their folder.
func buildExamples(t *testing.T, bin string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", "-euc", `
		cp -r "$ROOT/drivers" "$ROOT/examples" .
		rm -rf drivers/build examples/*/build examples/*/.murmur examples/*/murmur.lock
		go work init
		go work use "$ROOT/lib" ./drivers ./examples
		./examples/repo-agent/build.sh`)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ROOT="+root, "PATH="+bin+":"+os.Getenv("PATH"), "MURMUR_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "examples")
}
