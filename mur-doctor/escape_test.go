package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest"
)

// installed is a directory with mur-doctor and a mur-shell that every user may
// run.
func installed(t *testing.T, shell []byte) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "mur-doctor-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if shell == nil {
		if shell, err = os.ReadFile(murtest.Command(t, "mur-shell")); err != nil {
			t.Fatal(err)
		}
	}
	doctor, err := os.ReadFile(murtest.Command(t, "mur-doctor"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"mur-doctor": doctor, "mur-shell": shell} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "mur-doctor"), args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "MURMUR_HOME=" + filepath.Join(dir, "home")}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// mur-doctor is the probe of its own suite, and leaves nothing but the result.
// CON-272, CON-273
func TestEscape(t *testing.T) {
	r := probe.Host()
	if r.Tier() != confine.TierSealed && r.Tier() != confine.TierScoped || !r.NetNS || r.Root != nil && r.Root.RunAs == nil {
		t.Skipf("this host does not reach scoped: %+v", r)
	}
	dir := installed(t, nil)
	before, _ := filepath.Glob("/var/tmp/mur-escape-*")
	out, errs, status := run(t, dir, "--escape", "--containment", "scoped", "--json", "--result", "result.json")
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	var report struct {
		Schema  string
		Classes []struct {
			Class    string
			Reached  bool
			Findings []struct{ ID, Kind, Status string }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Schema != "murmur.escape/1" || len(report.Classes) != 1 || report.Classes[0].Class != "scoped" || !report.Classes[0].Reached || len(report.Classes[0].Findings) < 150 {
		t.Errorf("the report is %+.200v", report)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "result.json")); err != nil || string(text) != out {
		t.Errorf("the result is not what was printed: %v", err)
	}
	after, _ := filepath.Glob("/var/tmp/mur-escape-*")
	if len(after) > len(before) {
		t.Errorf("it left %v", after)
	}
	if _, err := os.Stat(filepath.Join(dir, "home")); err == nil {
		t.Error("it made the user's murmur home")
	}
}

// What keeps the suite from running is 1, and a class that can not be had leaves
// no result; wrong usage is 2. CON-273
func TestEscapeThatCanNotRun(t *testing.T) {
	dir := installed(t, []byte("#!/bin/sh\necho '{\"floor_met\":false,\"shortfall_reason\":\"no such luck\"}'\n"))
	out, errs, status := run(t, dir, "--escape", "--class", "sealed", "--result", "result.json")
	if status != 1 || !strings.Contains(errs, "no such luck") {
		t.Errorf("a class that is not reached: status %d\n%s%s", status, out, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "result.json")); err == nil {
		t.Error("a result was written")
	}
	if err := os.Remove(filepath.Join(dir, "mur-shell")); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := run(t, dir, "--escape"); status != 1 || !strings.Contains(errs, "beside mur-doctor") {
		t.Errorf("without mur-shell: status %d %s", status, errs)
	}
	for _, args := range [][]string{{"--escape", "--containment", "tight"}, {"--escape", "--containment", "unconfined"}, {"--containment", "scoped"}, {"--escape", "--strict"}, {"--escape", "x"}} {
		if _, errs, status := run(t, dir, args...); status != 2 {
			t.Errorf("%v: status %d %s", args, status, errs)
		}
	}
}
