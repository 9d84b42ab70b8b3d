package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ordinary is the uid of a user without any rights.
const ordinary = 54321

// users are those the test can be.
func users() []int {
	if os.Geteuid() == 0 {
		return []int{0, ordinary}
	}
	return []int{os.Geteuid()}
}

// projects are what is looked at on each host, by name.
var projects = map[string]string{
	"plain":    "",
	"commands": "capabilities: {shell: {allow: [cat]}}\n",
	"scoped":   "capabilities: {containment: scoped, shell: {allow: [cat]}}\n",
	"sealed":   "capabilities: {containment: sealed, shell: {allow: [cat]}}\n",
	"script":   "capabilities: {containment: sealed, shell: {allow: [prog]}}\n",

	"component": "", // all it has of one is the first bytes
}

// stand is a directory everybody reaches with the commands, where command says they
// are, "" for nowhere, and for each user the projects and a home.
func stand(t *testing.T, command func(testing.TB, string) string) (dir string) {
	dir, err := os.MkdirTemp("", "mur-doctor-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"mur-doctor", "mur-stage", "mur-launch", "mur-shell", "mur-trace", "mur-lock"} {
		if path := command(t, name); path != "" {
			copyFile(t, path, filepath.Join(dir, name))
		}
	}
	for _, uid := range users() {
		own := filepath.Join(dir, fmt.Sprint(uid))
		for name, more := range projects {
			project := filepath.Join(own, name)
			// A script of the project is nothing a sealed root would hold.
			files := map[string]string{"murmur.yaml": script + more, "capsule.wasm": "core", "bin/prog": "#!/bin/sh\n"}
			if name == "component" {
				files["capsule.wasm"] = "\x00asm\x0d\x00\x01\x00"
			}
			err := write(project, files)
			if err == nil {
				err = os.Chmod(filepath.Join(project, "bin/prog"), 0o755)
			}
			if err == nil && os.Geteuid() == 0 {
				err = os.Chown(project, uid, uid)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(own, uid, uid); err != nil && os.Geteuid() == 0 {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// host is one that lacks something, for one user, with a stand.
type host struct {
	dir  string
	uid  int
	take string
}

// on is one of the commands on a project, run there.
func (h host) on(project, name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", append([]string{filepath.Join(h.dir, name)}, args...)...)
	home := filepath.Join(h.dir, fmt.Sprint(h.uid))
	cmd.Dir = filepath.Join(home, project)
	cmd.Env = []string{takeEnv + "=" + h.take, fmt.Sprintf("%s=%d", uidEnv, h.uid), "HOME=" + home, "PATH=" + filepath.Join(cmd.Dir, "bin") + ":/usr/bin:/bin"}
	if h.take == "cgroup" && os.Geteuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: h.uid, HostID: h.uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		}
	}
	return cmd
}

// doctor is what mur-doctor says of a project there, which does not change its status:
// what a host lacks is predicted (DIA-36).
func (h host) doctor(t *testing.T, project string) report {
	t.Helper()
	r, status := h.ask(t, project)
	if status != 0 {
		t.Errorf("the status of mur-doctor is %d: %+v", status, r.Checks)
	}
	return r
}

// ask is the report of mur-doctor on a project there and its status.
func (h host) ask(t *testing.T, project string) (r report, status int) {
	t.Helper()
	cmd := h.on(project, "mur-doctor", "--json")
	out, words, err := said(cmd)
	if jerr := json.Unmarshal(out, &r); jerr != nil {
		t.Fatalf("%v, %v: %s%s", err, jerr, out, words)
	}
	return r, cmd.ProcessState.ExitCode()
}

// predicts says whether a refusal was named before, in its words and with a cure.
func (r report) predicts(code, words string) bool {
	return slices.ContainsFunc(r.Checks, func(c row) bool {
		return c.Code == code && c.Status != "ok" && strings.HasPrefix(c.Message, words) && c.Remedy != ""
	})
}

// launch stages a project there and launches it, for real: the refusal, or the class
// in which it ran to its end.
func (h host) launch(t *testing.T, project string) (code, words, class string) {
	t.Helper()
	document, words, err := said(h.on(project, "mur-stage"))
	if err == nil {
		launch := h.on(project, "mur-launch")
		launch.Stdin = bytes.NewReader(document)
		_, words, err = said(launch)
	}
	if err != nil {
		m := firstCode.FindStringSubmatch(words)
		if m == nil {
			t.Fatalf("%v: %s", err, words)
		}
		return m[1], m[2], ""
	}
	var d struct {
		Containment struct{ Achieved string }
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	return "", "", d.Containment.Achieved
}

// said runs a command and returns what it printed on each stream.
func said(cmd *exec.Cmd) (stdout []byte, stderr string, err error) {
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.Bytes(), errOut.String(), err
}

// compare holds what mur-doctor says of a project against what becomes of it on the
// same host, staged and launched for real, and returns that: a code, with its words, or
// the class in which it ran.
func (h host) compare(t *testing.T, project string) (became, words string) {
	t.Helper()
	r := h.doctor(t, project)
	code, words, class := h.launch(t, project)
	if code == "" {
		h.ran(t, r, class)
		return class, ""
	}
	if !r.predicts(code, words) {
		t.Errorf("it is refused with %s %s, and mur-doctor has no such words with a cure: %+v", code, words, r.Checks)
	}
	if got := r.find("staging"); got.Status == "ok" {
		t.Errorf("it is refused with %s, and mur-doctor says %+v", code, got)
	}
	return code, words
}

// ran holds what was said of a session that ran in a class.
func (h host) ran(t *testing.T, r report, class string) {
	t.Helper()
	if got := r.find("staging"); got.Status != "ok" {
		t.Errorf("it ran, and mur-doctor says %+v", got)
	}
	got := r.find("containment")
	switch r.Host.Ceiling {
	case "sealed":
		if got.Status != "ok" {
			t.Errorf("this host gives sealed, and mur-doctor says %+v", got)
		}
	case class:
		if got.Status != "warning" || got.Code != "E-CAP-003" || !strings.Contains(got.Message, "this host gives "+class) {
			t.Errorf("it ran as %s, and mur-doctor says %+v", class, got)
		}
	default:
		t.Errorf("it ran as %s, and the strongest class is said to be %s", class, r.Host.Ceiling)
	}
}
