package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/escape/attempt"
	"github.com/mur-capsules/mur/lib/policy"
)

// universe is everything the random policies can be about.
type universe struct {
	base, work, canary string
	dirs               []string // each holds known, and a program
	hostPaths          []string
	programs           []string // of the system, by name
	ports              []int
}

func newUniverse(t *testing.T, cred *syscall.Credential) *universe {
	t.Helper()
	base, work := workshop(t, cred)
	u := &universe{base: base, work: work, canary: filepath.Join(base, "canary"), programs: []string{"true", "cat", "tail", "sort"}}
	if err := os.WriteFile(u.canary, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	truth, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		t.Skip("no program /usr/bin/true")
	}
	dir := func(name string) string {
		d := filepath.Join(base, name)
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		for f, mode := range map[string]os.FileMode{"known": 0o644, "program": 0o755} {
			if err := os.WriteFile(filepath.Join(d, f), truth, mode); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	for i := range 4 {
		u.dirs = append(u.dirs, dir(fmt.Sprintf("dir%d", i)))
	}
	for i := range 2 {
		u.hostPaths = append(u.hostPaths, dir(fmt.Sprintf("lent%d", i)))
	}
	if err := os.WriteFile(filepath.Join(work, "program"), truth, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go greet(l)
		u.ports = append(u.ports, l.Addr().(*net.TCPAddr).Port)
	}
	if cred != nil {
		if err := filepath.Walk(base, func(path string, _ os.FileInfo, err error) error {
			return os.Lchown(path, int(cred.Uid), int(cred.Gid))
		}); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

func greet(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte("x"))
		c.Close()
	}
}

// drawn is one random policy: the file, the host paths of the config, and the
// class that is asked for.
type drawn struct {
	class     policy.Class
	policy    map[string]any
	hostPaths []string
}

func some[T any](r *rand.Rand, all []T) []T {
	out := []T{}
	for _, v := range all {
		if r.IntN(2) == 0 {
			out = append(out, v)
		}
	}
	return out
}

func (u *universe) draw(r *rand.Rand) drawn {
	d := drawn{class: []policy.Class{policy.Advisory, policy.Scoped, policy.Scoped, policy.Sealed, policy.Sealed}[r.IntN(5)], hostPaths: some(r, u.hostPaths)}
	allow := append([]string{"true"}, some(r, u.programs[1:])...)
	shell := map[string]any{"allow": allow}
	var dirs []map[string]any
	for _, p := range some(r, u.dirs) {
		dirs = append(dirs, map[string]any{"path": p, "list_dir": r.IntN(2) == 0})
	}
	if len(dirs) > 0 {
		shell["interpreter_runtime"] = []any{map[string]any{"binary": "true", "dirs": dirs}}
	}
	network := map[string]any{"unix_sockets": r.IntN(2) == 0}
	var hosts []string
	for _, p := range some(r, u.ports) {
		hosts = append(hosts, []string{"localhost:", "127.0.0.1:"}[r.IntN(2)]+strconv.Itoa(p))
	}
	if len(hosts) > 0 {
		network["allow"] = hosts
	}
	d.policy = map[string]any{"shell": shell, "network": network}
	if d.class == policy.Advisory && r.IntN(2) == 0 {
		d.policy["filesystem"] = map[string]any{"workdir_exec": true}
	}
	return d
}

// claim is an attempt with the answer that the report leads to.
type claim struct {
	do   []string
	owed []string
}

// claims are what a scope report says about everything in the universe. It looks
// at the report alone.
func (u *universe) claims(r confine.ScopeReport) []claim {
	var out []claim
	say := func(yes bool, otherwise []string, do ...string) {
		if yes {
			otherwise = []string{"ok"}
		}
		out = append(out, claim{do, otherwise})
	}
	gone := []string{"EACCES", "ENOENT"}
	kept := r.AchievedContainment >= policy.Scoped
	open := func(word string) bool { return slices.Contains(r.FilesystemBoundary.NotProtected, word) }
	for _, d := range u.dirs {
		read, list := false, false
		for _, g := range r.InterpreterRuntimeGrants {
			path, listed := strings.CutSuffix(strings.TrimPrefix(g, "true: "), " (list_dir)")
			if path == d {
				read, list = true, listed
			}
		}
		if kept {
			say(read, gone, "read", d+"/known")
			say(read, gone, "exec", d+"/program")
			say(list, gone, "list", d)
			say(false, []string{"EACCES", "EROFS", "ENOENT"}, "append", d+"/known")
		}
	}
	for _, d := range u.hostPaths {
		if kept {
			say(slices.Contains(r.HostPaths, d), gone, "list", d)
			say(false, gone, "exec", d+"/program")
		}
	}
	for _, p := range u.programs {
		if kept {
			say(slices.Contains(r.ShellAllow, p), gone, "exec", "/usr/bin/"+p, "/dev/null")
		}
	}
	for _, p := range u.ports {
		listed := slices.Contains(r.NetworkAllow, fmt.Sprintf("localhost:%d", p)) || slices.Contains(r.NetworkAllow, fmt.Sprintf("127.0.0.1:%d", p))
		say(listed, []string{"ECONNREFUSED", "closed"}, "connect", fmt.Sprintf("127.0.0.1:%d", p))
	}
	say(r.UnixSockets, []string{"EACCES"}, "socket", "1", "1", "0")
	say(r.WorkdirExec, []string{"EACCES"}, "exec", u.work+"/program")
	if kept {
		say(open("outside_names"), []string{"ENOENT"}, "stat", u.canary)
		say(open("outside_metadata"), []string{"EROFS", "ENOENT", "EPERM"}, "utimes", u.canary)
		say(open("loader_exec"), []string{"EPERM", "EACCES"}, "map-exec", u.work+"/program")
		say(r.TempDir.Mapping == "private-tmp", []string{"EACCES", "EROFS"}, "create", "/tmp/of-the-probe")
		say(open("signals"), []string{"ESRCH", "EPERM"}, "kill", strconv.Itoa(os.Getpid()), "0")
		say(false, gone, "read", u.canary)
	}
	return out
}

// The scope report of a run equals what a probe inside finds, over 200 random
// policies. CON-36, CON-54 to CON-58, CON-63, CON-72, CON-84, CON-89, CON-286
func TestReportIsWhatAProbeFinds(t *testing.T) {
	needs(t, policy.Sealed)
	shell, probeProgram := built(t)
	n := 200
	if testing.Short() {
		n = 40
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for user, cred := range users() {
		u := newUniverse(t, cred)
		r := rand.New(rand.NewPCG(seed, uint64(len(user))))
		policies := make(chan int)
		drawnPolicies := make([]drawn, n/len(users()))
		for i := range drawnPolicies {
			drawnPolicies[i] = u.draw(r)
		}
		var wg sync.WaitGroup
		for w := range 2 {
			wg.Go(func() {
				// Each has a murmur home of its own, for its config.
				home := filepath.Join(u.base, fmt.Sprintf("home-%d", w))
				for i := range policies {
					u.compare(t, shell, probeProgram, home, cred, fmt.Sprintf("%s %d", user, i), drawnPolicies[i])
				}
			})
		}
		for i := range drawnPolicies {
			policies <- i
		}
		close(policies)
		wg.Wait()
	}
}

// compare asks for the report of a policy, and then finds out. It runs beside
// others.
func (u *universe) compare(t *testing.T, shell, probeProgram, home string, cred *syscall.Credential, name string, d drawn) {
	file := home + ".policy.json"
	request := filepath.Join(u.work, filepath.Base(home)+".request.json")
	config, _ := json.Marshal(map[string]any{"host_paths": d.hostPaths})
	text, _ := json.Marshal(d.policy)
	err := os.MkdirAll(home, 0o700)
	for path, text := range map[string][]byte{filepath.Join(home, "config.yaml"): config, file: text} {
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err == nil && cred != nil {
			err = os.Lchown(path, int(cred.Uid), int(cred.Gid))
		}
	}
	if err == nil && cred != nil {
		err = os.Lchown(home, int(cred.Uid), int(cred.Gid))
	}
	if err != nil {
		t.Error(err)
		return
	}
	run := func(words ...string) ([]byte, error) {
		args := append([]string{"run", "--containment", d.class.String(), "--policy", file, "--allow", probeProgram}, words...)
		cmd := exec.CommandContext(t.Context(), shell, args...)
		cmd.Dir = u.work
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(u.base, "nobody"), "MURMUR_HOME=" + home}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, errs.String())
		}
		return out, err
	}
	out, err := run("--explain-scope", "--json", "--", probeProgram)
	var report confine.ScopeReport
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		t.Errorf("%s: the report of %s: %v", name, text, err)
		return
	}
	claims := u.claims(report)
	var r attempt.Request
	for _, c := range claims {
		r.Attempts = append(r.Attempts, attempt.Attempt{Op: c.do[0], Args: c.do[1:]})
	}
	asked, _ := json.Marshal(r)
	if err := os.WriteFile(request, asked, 0o644); err != nil {
		t.Error(err)
		return
	}
	if out, err = run("--", probeProgram, "all", request); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	seen := 0
	for dec.More() {
		var a attempt.Answer
		if err := dec.Decode(&a); err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		seen++
		if c := claims[a.N]; !slices.Contains(c.owed, a.Answer) {
			t.Errorf("%s: %s %s with host paths %v: the report says %q of %v, the probe found %q", name, d.class, text, d.hostPaths, c.owed, c.do, a.Answer)
		}
	}
	if seen != len(claims) {
		t.Errorf("%s: %d of %d answers", name, seen, len(claims))
	}
}
