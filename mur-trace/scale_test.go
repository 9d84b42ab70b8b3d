package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/trace/tracegen"
)

// TRC-206: memory does not grow with the traces. The set is small enough for
// every run of the tests and several times the bounds.
func TestMemoryStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it makes 160 MB of traces")
	}
	bin := murtest.Command(t, "mur-trace")
	set, long := t.TempDir(), t.TempDir()
	if _, err := tracegen.Set(set, 100<<20, 10<<20, 1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tracegen.Session(long, 60<<20, 2); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(set, "*", trace.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limit int64 // MiB
		args  []string
	}{
		"report":           {64, []string{"report", "--records", set, "--json"}},
		"filter":           {64, append([]string{"filter", "--type", "shell"}, append(files, ".exit_code")...)},
		"filter all":       {64, append([]string{"filter"}, append(files[:3:3], "select(.turn == 1)")...)},
		"show":             {64, []string{"show", "--records", long}},
		"show as JSON":     {64, []string{"show", "--records", long, "--json"}},
		"verify":           {64, []string{"verify", "--records", long}},
		"html":             {64, []string{"html", "--records", long}},
		"diff with itself": {100, []string{"diff", "--records", long, "@1", "@1", "--json"}},
	} {
		cmd := exec.Command(bin, c.args...)
		cmd.Stdout = io.Discard
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); err != nil && !(name == "verify" && code == 3) {
			t.Errorf("%s: %v", name, err)
		}
		used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss / 1024
		t.Logf("%s: %d MiB", name, used)
		if used > c.limit {
			t.Errorf("%s takes %d MiB", name, used)
		}
	}
}
