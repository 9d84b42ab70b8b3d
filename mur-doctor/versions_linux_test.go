package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/session"
)

// otherBuild builds commands of another version, 9.9.9, which calls its document
// schema, and returns where they are.
func otherBuild(t *testing.T, schema string, commands ...string) string {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, edit := range map[string][2]string{
		"lib/cli/cli.go":          {fmt.Sprintf("const Version = %q", cli.Version), `const Version = "9.9.9"`},
		"lib/session/document.go": {fmt.Sprintf("const Schema = %q", session.Schema), fmt.Sprintf("const Schema = %q", schema)},
	} {
		if edit[0] == edit[1] {
			continue
		}
		from, err := filepath.Abs(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(edit[0])) {
			t.Fatalf("%s has no %s", file, edit[0])
		}
		to := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(to, bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[from] = to
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-overlay", list, "-o", dir + "/"}
	for _, name := range commands {
		args = append(args, "../"+name)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// The commands of several versions, mixed: what mur-doctor says of each is what becomes
// of a project that is staged and launched with them for real. A launch refuses a
// mur-shell of another version and a document of another schema; no other mix refuses
// anything. DIA-11, DIA-36, DIA-207, SES-78, SHL-14
func TestVersionsThatDiffer(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds other versions of the commands")
	}
	version := otherBuild(t, session.Schema, "mur-stage", "mur-launch", "mur-shell", "mur-trace", "mur-doctor")
	schema := otherBuild(t, "murmur.session/2", "mur-stage", "mur-launch")
	const lock = "#!/bin/sh\necho mur-lock 9.9.9\n" // no session starts it
	here := host{stand(t, murtest.Command), os.Geteuid(), ""}.doctor(t, "commands")

	type verdict struct{ command, status, code string }
	for _, tc := range []struct {
		name   string
		other  map[string]string // the directory of a command that is not of this version; "" for none, "#!..." for a text
		code   string            // of the refusal; "" when the session runs
		status int               // of mur-doctor
		says   []verdict         // all rows that are not ok
	}{
		{"one version", nil, "", 0, nil},
		{"another mur-shell", map[string]string{"mur-shell": version}, "E-IO-003", 1, []verdict{{"mur-shell", "error", "E-IO-003"}}},
		{"another mur-launch", map[string]string{"mur-launch": version}, "E-IO-003", 1, []verdict{{"mur-launch", "warning", ""}, {"mur-shell", "error", "E-IO-003"}}},
		{"another mur-launch and mur-shell", map[string]string{"mur-launch": version, "mur-shell": version}, "", 0, []verdict{{"mur-launch", "warning", ""}, {"mur-shell", "warning", ""}}},
		{"another mur-stage", map[string]string{"mur-stage": version}, "", 0, []verdict{{"mur-stage", "warning", ""}}},
		{"another document", map[string]string{"mur-stage": schema}, "E-STG-101", 1, []verdict{{"mur-stage", "warning", ""}, {"mur-launch", "error", "E-STG-101"}}},
		{"another document is read", map[string]string{"mur-launch": schema, "mur-shell": version}, "E-STG-101", 1, []verdict{{"mur-launch", "error", "E-STG-101"}, {"mur-shell", "warning", ""}}},
		{"another mur-trace and mur-lock", map[string]string{"mur-trace": version, "mur-lock": lock}, "", 0, []verdict{{"mur-trace", "warning", ""}, {"mur-lock", "warning", ""}}},
		{"another mur-doctor", map[string]string{"mur-doctor": version}, "", 0, []verdict{{"mur-stage", "warning", ""}, {"mur-launch", "warning", ""}, {"mur-shell", "warning", ""}, {"mur-trace", "warning", ""}, {"mur-lock", "warning", ""}}},
		{"no mur-trace and mur-lock", map[string]string{"mur-trace": "", "mur-lock": ""}, "", 0, []verdict{{"mur-trace", "warning", ""}, {"mur-lock", "warning", ""}}},
		{"no mur-shell", map[string]string{"mur-shell": ""}, "E-IO-001", 1, []verdict{{"mur-shell", "warning", ""}}},
		{"no mur-launch", map[string]string{"mur-launch": ""}, "none", 1, []verdict{{"mur-launch", "error", ""}}},
		{"no mur-stage", map[string]string{"mur-stage": ""}, "none", 1, []verdict{{"mur-stage", "error", ""}}},
		{"a mur-shell that fails", map[string]string{"mur-shell": "#!/bin/sh\nexit 3\n"}, "E-RUN-014", 1, []verdict{{"mur-shell", "error", "E-RUN-014"}}},
		{"a mur-shell that is something else", map[string]string{"mur-shell": "#!/bin/sh\necho something else\n"}, "E-RUN-014", 1, []verdict{{"mur-shell", "error", "E-RUN-014"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.code != "none" {
				needsCommands(t, here.find("staging"))
			}
			h := host{stand(t, func(t testing.TB, name string) string {
				other, differs := tc.other[name]
				switch {
				case !differs:
					return murtest.Command(t, name)
				case strings.HasPrefix(other, "#!"):
					path := filepath.Join(t.TempDir(), name)
					if err := os.WriteFile(path, []byte(other), 0o755); err != nil {
						t.Fatal(err)
					}
					return path
				case other == "":
					return ""
				}
				return filepath.Join(other, name)
			}), os.Geteuid(), ""}

			r, status := h.ask(t, "commands")
			if status != tc.status {
				t.Errorf("the status of mur-doctor is %d, want %d", status, tc.status)
			}
			var says []verdict
			for _, c := range r.Checks {
				if c.Name == "command" && c.Status != "ok" {
					says = append(says, verdict{c.Subject, c.Status, c.Code})
				}
			}
			if fmt.Sprint(says) != fmt.Sprint(tc.says) {
				t.Errorf("mur-doctor says %v, want %v of %+v", says, tc.says, r.Checks)
			}
			if tc.code == "none" {
				return // a command that is not there refuses nothing
			}
			code, words, _ := h.launch(t, "commands")
			if code != tc.code {
				t.Errorf("it becomes %s %s, want %s", code, words, tc.code)
			}
			if code != "" && code != "E-RUN-014" && !r.predicts(code, words) {
				t.Errorf("it is refused with %s %s, and mur-doctor has no such words: %+v", code, words, r.Checks)
			}
		})
	}
}

// needsCommands skips where no session with commands runs, of which the probe is asked:
// where it finds every mechanism a staging that is refused is a fault.
func needsCommands(t *testing.T, staging row) {
	t.Helper()
	r := probe.Host()
	switch {
	case staging.Status == "ok":
	case r.Cgroup.Version != nil && r.NetNS && r.Landlock.State == confine.LandlockEnforced && r.Seccomp && r.MountNS:
		t.Fatalf("this host has what commands need, and it is refused: %+v", staging)
	default:
		t.Skipf("no session with commands runs here: cgroup %v, network %v, Landlock %+v: %+v", r.Cgroup.Blocker, r.NetworkBlocker, r.Landlock, staging)
	}
}

// The commands in two directories: what is foreseen is what the mur-launch that is found
// would find. DIA-11, DIA-207, DIA-208, SES-271
func TestCommandsInTwoPlaces(t *testing.T) {
	h := host{stand(t, murtest.Command), os.Geteuid(), ""}
	needsCommands(t, h.doctor(t, "commands").find("staging"))
	apart := filepath.Join(h.dir, fmt.Sprint(h.uid), "commands", "bin") // on PATH
	launch := filepath.Join(apart, "mur-launch")
	if err := os.Rename(filepath.Join(h.dir, "mur-launch"), launch); err != nil {
		t.Fatal(err)
	}
	r, status := h.ask(t, "commands")
	document, words, err := said(h.on("commands", "mur-stage"))
	if err != nil {
		t.Fatalf("%v: %s", err, words)
	}
	cmd := h.on("commands", filepath.Join(fmt.Sprint(h.uid), "commands", "bin", "mur-launch"))
	cmd.Stdin = bytes.NewReader(document)
	_, words, err = said(cmd)
	m := firstCode.FindStringSubmatch(words)
	if err == nil || m == nil || m[1] != "E-IO-001" || !strings.Contains(m[2], apart) {
		t.Fatalf("%v: %s", err, words)
	}
	if !r.predicts(m[1], m[2]) || status != 1 || r.find("staging").Code != "E-IO-001" {
		t.Errorf("it is refused with %s, and mur-doctor says, with status %d, %+v", words, status, r.Checks)
	}
	copyFile(t, murtest.Command(t, "mur-shell"), filepath.Join(apart, "mur-shell"))
	if r := h.doctor(t, "commands"); r.find("staging").Status != "ok" {
		t.Errorf("%+v", r.find("staging"))
	}
}
