package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest"
)

// An empty group of a program that is gone is named and, with --fix, removed in every
// hierarchy; one of a program that runs is not. CON-190, DIA-209, DIA-210
func TestGroupsOfKilledPrograms(t *testing.T) {
	r := probe.Host().Cgroup
	if r.Version == nil {
		t.Skipf("no cgroup is delegated to uid %d: %v", os.Getuid(), r.Blocker)
	}
	doctor := murtest.Command(t, "mur-doctor")
	murtest.Home(t)
	ended := exec.Command("/bin/sh", "-c", "exit 0")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	left, kept := cgroup.Name("ses_left", ended.Process.Pid), cgroup.Name("ses_kept", os.Getpid())
	dirs := map[string]bool{} // directory -> whether it is to go
	for _, name := range []string{left, kept} {
		for _, dir := range cgroup.Dirs(r, name) {
			dirs[dir] = name == left
			for _, d := range []string{dir, filepath.Join(dir, "worker-1")} {
				if err := os.Mkdir(d, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Remove(d) })
			}
		}
	}
	look := func(args ...string) (found map[string]string) {
		t.Helper()
		cmd := exec.Command(doctor, append(args, "--json")...)
		cmd.Dir = t.TempDir()
		out, err := cmd.Output()
		var rep struct {
			Checks []struct{ Name, Subject, Status, Fixed string }
		}
		if jerr := json.Unmarshal(out, &rep); jerr != nil {
			t.Fatalf("%v, %v: %s", err, jerr, out)
		}
		found = map[string]string{}
		for _, c := range rep.Checks {
			if c.Name == "cgroup-leftover" {
				found[c.Subject] = c.Status + c.Fixed
			}
		}
		return found
	}
	if found := look(); found[left] != "warning" || found[kept] != "" {
		t.Errorf("found %v", found)
	}
	if found := look("--fix"); found[left] != "okremoved it" || found[kept] != "" {
		t.Errorf("fixed %v", found)
	}
	for dir, goes := range dirs {
		if _, err := os.Stat(dir); (err != nil) != goes {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
