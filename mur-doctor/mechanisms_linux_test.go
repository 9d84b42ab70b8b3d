package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest"
)

// row is a check of a report.
type row struct{ Name, Subject, Status, Code, Message, Remedy string }

// report is what mur-doctor --json prints.
type report struct {
	Host struct {
		Probe confine.Reading
		Facts struct {
			CgroupV2  []string              `json:"cgroup_v2"`
			CgroupV1  map[string]string     `json:"cgroup_v1"`
			OpenFiles struct{ Hard uint64 } `json:"open_files"`
		}
		Ceiling string
	}
	Checks []row
}

func (r report) find(name string) row {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return row{}
}

// With a mechanism taken away mur-doctor names it and its cure, for root and for
// an ordinary user. CON-4, CON-20, DIA-36, DIA-49, DIA-195, DIA-208
func TestMechanismsTakenAway(t *testing.T) {
	dir := stand(t, murtest.Command)
	here := probe.Host()
	for _, uid := range users() {
		for _, tc := range []struct {
			take string
			want []row // Message and Remedy are parts
		}{
			{"userns", []row{
				{Name: "namespaces", Code: "E-CAP-003", Message: "user (operation not permitted)", Remedy: "seccomp profile without its ban on unshare"},
				{Name: "mount-namespace", Code: "E-CAP-003", Message: "namespace-denied at unshare user namespace (operation not permitted, errno 1)", Remedy: "SYS_ADMIN"},
				{Name: "network-namespace", Code: "E-CAP-005", Message: "namespace-denied", Remedy: "SYS_ADMIN"},
				{Name: "containment", Code: "E-CAP-003", Message: "this host gives"},
				{Name: "staging", Code: "E-CAP-005", Message: "may not make a network namespace (namespace-denied at unshare user namespace", Remedy: "SYS_ADMIN"},
			}},
			{"landlock", []row{
				{Name: "landlock", Code: "E-CAP-003", Message: "Landlock is absent", Remedy: "5.13"},
				{Name: "containment", Code: "E-CAP-003", Message: "this host gives advisory"},
			}},
			{"seccomp", []row{
				{Name: "seccomp", Code: "E-CAP-003", Message: "seccomp filters can not be installed", Remedy: "CONFIG_SECCOMP_FILTER"},
			}},
			{"pivot", []row{
				{Name: "mount-namespace", Code: "E-CAP-003", Message: "pivot-denied at pivot_root", Remedy: "allow pivot_root"},
			}},
			{"cgroup", []row{
				{Name: "cgroup", Code: "E-RUN-012", Message: "delegation-missing at make a group in /", Remedy: "mount them writable"},
				{Name: "staging", Code: "E-RUN-012", Message: "the session can start processes, and nothing can bound them as a whole: no cgroup hierarchy can be used: delegation-missing"},
			}},
			{"openat2", []row{{Name: "system-calls", Message: "refuses openat2", Remedy: "Linux 5.12"}}},
			{"files", []row{{Name: "open-files", Message: "256 if raised", Remedy: "ulimit -Hn 1024"}}},
		} {
			t.Run(fmt.Sprintf("%s as %d", tc.take, uid), func(t *testing.T) {
				t.Parallel()
				if why := missingHere(here, tc.take); why != "" {
					t.Skip(why)
				}
				r := host{dir, uid, tc.take}.doctor(t, "commands")
				for _, w := range tc.want {
					got := r.find(w.Name)
					if got.Status != "warning" || got.Code != w.Code || !strings.Contains(got.Message, w.Message) || !strings.Contains(got.Remedy, w.Remedy) {
						t.Errorf("%s is %+v, want %+v", w.Name, got, w)
					}
					if w.Name != "containment" && w.Name != "staging" && got.Remedy == "" {
						t.Errorf("%s has no cure: %+v", w.Name, got)
					}
				}
			})
		}
	}
}

// outcomes are what becomes of each project on a host that lacks something and
// nothing else: the code of a refusal or the class of a session that ran, for root
// and, where it is another, after a slash for an ordinary user.
var outcomes = map[string]map[string]string{
	"":         {"plain": "scoped", "commands": "scoped", "scoped": "scoped", "sealed": "sealed", "script": "E-CAP-006"},
	"userns":   {"plain": "advisory/scoped", "commands": "E-CAP-005", "scoped": "E-CAP-003/E-CAP-005", "sealed": "E-CAP-003"},
	"landlock": {"plain": "advisory", "commands": "advisory", "scoped": "E-CAP-003", "sealed": "E-CAP-003"},
	"seccomp":  {"plain": "advisory", "commands": "advisory", "scoped": "E-CAP-003", "sealed": "E-CAP-003"},
	"pivot":    {"plain": "scoped", "commands": "scoped", "scoped": "scoped", "sealed": "E-CAP-003"},
	"cgroup":   {"plain": "scoped", "commands": "E-RUN-012", "scoped": "E-RUN-012", "sealed": "E-RUN-012", "script": "E-CAP-006"},
	"openat2":  {"plain": "scoped", "commands": "scoped", "scoped": "scoped", "sealed": "sealed"},
	"files":    {"plain": "scoped", "commands": "scoped", "scoped": "scoped", "sealed": "sealed"},
}

// What mur-doctor says of a project is what becomes of it, staged and launched for
// real on the same host without the same mechanism: the same code in the same words,
// or a session in the class mur-doctor has named. DIA-11, DIA-36, DIA-208, SES-271
func TestPredictionsWithMechanismsTakenAway(t *testing.T) {
	dir := stand(t, murtest.Command)
	here := probe.Host()
	for _, uid := range users() {
		whole := host{dir, uid, ""}.doctor(t, "plain")
		for take, becomes := range outcomes {
			for project, want := range becomes {
				t.Run(fmt.Sprintf("%s %s as %d", take, project, uid), func(t *testing.T) {
					t.Parallel()
					if why := missingHere(here, take); why != "" {
						t.Skip(why)
					}
					got, words := host{dir, uid, take}.compare(t, project)
					if whole.Host.Ceiling == "sealed" && got != wanted(want, project, uid, whole) {
						t.Errorf("it becomes %s %s, want %s", got, words, want)
					}
				})
			}
		}
	}
}

// wanted is the outcome for a user of this host, who may be given no cgroup whatever
// is taken away: then a session with commands ends where it would begin.
func wanted(outcome, project string, uid int, whole report) string {
	root, other, differ := strings.Cut(outcome, "/")
	if uid != 0 && differ {
		root = other
	}
	if project != "plain" && !strings.HasPrefix(root, "E-") && whole.find("cgroup").Status != "ok" {
		return "E-RUN-012"
	}
	return root
}

// missingHere says why taking something away would prove nothing: the host has it
// not, or not what it takes to take it.
func missingHere(r confine.Reading, take string) string {
	switch {
	case take == "userns" && !r.NetNS:
		return "no network namespace can be made here: " + r.NetworkBlocker.String()
	case take == "landlock" && r.Landlock.State != confine.LandlockEnforced:
		return "Landlock is " + r.Landlock.State + " here"
	case (take == "seccomp" || take == "pivot" || take == "openat2") && !r.Seccomp:
		return "no seccomp filter can be installed here"
	case take == "pivot" && !r.MountNS:
		return "no composed root can be mounted here: " + r.SealedBlocker.String()
	case take == "cgroup" && os.Geteuid() != 0 && !r.MountNS:
		return "no mount namespace can be made here: " + r.SealedBlocker.String()
	}
	return ""
}

// With nothing taken away the report is what the probe and the kernel say, for
// every user. DIA-195, CON-4
func TestWholeHost(t *testing.T) {
	dir := stand(t, murtest.Command)
	for _, uid := range users() {
		t.Run(fmt.Sprint(uid), func(t *testing.T) {
			r := host{dir, uid, ""}.doctor(t, "commands")
			if uid == os.Geteuid() {
				if want := probe.Host(); r.Host.Probe.Landlock != want.Landlock || r.Host.Probe.MountNS != want.MountNS || r.Host.Probe.NetNS != want.NetNS || r.Host.Probe.BootID != want.BootID {
					t.Errorf("the probe is %+v, want %+v", r.Host.Probe, want)
				}
			}
			if r.Host.Probe.UID != uid || (r.find("root").Name != "") != (uid == 0) {
				t.Errorf("as %d: uid %d, root row %+v", uid, r.Host.Probe.UID, r.find("root"))
			}
			abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
			if errno == 0 && !strings.Contains(r.find("landlock").Message, fmt.Sprintf("ABI %d: ", abi)) {
				t.Errorf("Landlock has ABI %d: %+v", abi, r.find("landlock"))
			}
			// Every hierarchy in the mount table is reported, and where its tree is.
			mounts, err := os.ReadFile("/proc/self/mountinfo")
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(string(mounts), " - cgroup2 "); has != (r.Host.Facts.CgroupV2 != nil) {
				t.Errorf("a v2 tree is mounted: %v; reported %q", has, r.Host.Facts.CgroupV2)
			}
			for controller, place := range r.Host.Facts.CgroupV1 {
				if !strings.Contains(string(mounts), " "+place+" ") {
					t.Errorf("%s is reported at %s, which is no mount", controller, place)
				}
			}
			for _, c := range []string{"memory", "pids", "cpu"} {
				if has := strings.Contains(string(mounts), ","+c+"\n") || strings.Contains(string(mounts), ","+c+","); has != (r.Host.Facts.CgroupV1[c] != "") {
					t.Errorf("v1 carries %s: %v; reported %q", c, has, r.Host.Facts.CgroupV1)
				}
			}
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Max != r.Host.Facts.OpenFiles.Hard {
				t.Errorf("%d files at most, reported %d", limit.Max, r.Host.Facts.OpenFiles.Hard)
			}
		})
	}
}

// A build without cgo names what it lacks and how to get it. WIT-69, CON-7
func TestWithoutCgo(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds another mur-doctor")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+"/", ".", "../mur-stage", "../mur-launch", "../mur-shell")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h := host{stand(t, func(_ testing.TB, name string) string {
		if name == "mur-trace" || name == "mur-lock" {
			return "" // not needed
		}
		return filepath.Join(bin, name)
	}), os.Geteuid(), ""}
	for project, want := range map[string]string{"plain": "advisory", "commands": "E-CAP-005", "scoped": "E-CAP-003", "sealed": "E-CAP-003", "component": "E-RUN-105"} {
		if got, words := h.compare(t, project); got != want {
			t.Errorf("%s becomes %s %s, want %s", project, got, words, want)
		}
	}
	r := h.doctor(t, "component")
	for _, w := range []row{
		{Name: "engine.component", Code: "E-RUN-105", Message: "components can not run", Remedy: "build mur with cgo"},
		{Name: "mount-namespace", Code: "E-CAP-003", Message: "probe-unavailable", Remedy: "build mur with cgo"},
		{Name: "network-namespace", Code: "E-CAP-005", Message: "probe-unavailable", Remedy: "build mur with cgo"},
		{Name: "cgroup", Code: "E-RUN-012", Message: "probe-unavailable", Remedy: "build mur with cgo"},
	} {
		got := r.find(w.Name)
		if got.Status != "warning" || got.Code != w.Code || !strings.Contains(got.Message, w.Message) || got.Remedy != w.Remedy {
			t.Errorf("%s is %+v, want %+v", w.Name, got, w)
		}
	}
	if got := r.find("engine.core"); got.Status != "ok" {
		t.Errorf("core modules still run: %+v", got)
	}
}
