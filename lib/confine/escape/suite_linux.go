package escape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/escape/attempt"
)

// runTime bounds one run of mur-shell.
const runTime = 60 * time.Second

// Run tries every row and returns what came of each attempt. An error says that
// the suite itself could not run.
func Run(ctx context.Context, o Options) ([]Finding, error) {
	base, err := makeBase(o.Base)
	if err != nil {
		return nil, err
	}
	g := &ground{base: base, cred: o.User, uid: os.Getuid(), facts: map[string]string{}, missing: map[string]string{}}
	defer func() {
		g.close()
		_ = os.RemoveAll(base)
	}()
	if o.User != nil {
		g.uid = int(o.User.Uid)
	}
	s := &session{ground: g, ctx: ctx, o: o, work: filepath.Join(base, "work"), home: filepath.Join(base, "home")}
	if err := s.open(); err != nil {
		return nil, err
	}
	return s.rows()
}

func makeBase(base string) (string, error) {
	if base == "" {
		base = "/var/tmp"
		if unix.Access(base, unix.W_OK|unix.X_OK) != nil {
			base = os.TempDir()
		}
	}
	dir, err := os.MkdirTemp(base, "mur-escape-")
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// session is a suite under way in one class.
type session struct {
	*ground
	ctx        context.Context
	o          Options
	work, home string
	report     confine.ScopeReport
}

// open lays the ground, shows that it can be reached without confinement, and
// asks what the class promises here.
func (s *session) open() error {
	if err := s.own(s.base); err != nil {
		return err
	}
	if _, err := s.dir("home", 0o700); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	if err := s.lay(); err != nil {
		return err
	}
	s.set("WORK", s.work)
	s.set("PROBE", s.o.Probe[0])
	if err := s.file(filepath.Join(s.home, "config.yaml"), fmt.Sprintf("host_paths: [%q]\n", s.facts["LENTPATH"]), 0o600); err != nil {
		return err
	}
	if err := s.prepare(); err != nil { // with the programs of the ground
		return err
	}
	if err := s.reach(); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	out, err := s.shell(nil, []string{"--explain-scope", "--json"}, s.o.Probe[0]).text()
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), &s.report); err != nil {
		return fmt.Errorf("read the scope report: %w", err)
	}
	if !s.report.FloorMet {
		return fmt.Errorf("%w: %s", ErrNotReached, s.report.ShortfallReason)
	}
	return nil
}

// maxControls is how many attempts of one batch have files of their own.
const maxControls = 160

// prepare makes the work folder anew.
func (s *session) prepare() error {
	if err := os.RemoveAll(s.work); err != nil {
		return err
	}
	for _, d := range []string{"work", "work/a", "work/b", "work/controls", "work/locked"} {
		if _, err := s.dir(d, 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{"own": "own", "a/file": "a", "locked/a": "a"}
	for i := range maxControls {
		files[fmt.Sprintf("controls/own-%d", i)] = "own"
	}
	for name, text := range files {
		if err := s.file(filepath.Join(s.work, name), text, 0o644); err != nil {
			return err
		}
	}
	if err := os.Symlink("locked", filepath.Join(s.work, "to-locked")); err != nil {
		return err
	}
	if t := s.facts["TRUE"]; t != "" {
		if err := s.copy(t, filepath.Join(s.work, "program"), 0o755); err != nil {
			return err
		}
	}
	if l := s.facts["PRELOAD"]; l != "" {
		if err := s.copy(l, filepath.Join(s.work, "library.so"), 0o755); err != nil {
			return err
		}
	}
	if sh := s.facts["SH"]; sh != "" {
		return s.file(filepath.Join(s.work, "script"), "#!"+sh+"\nexit 0\n", 0o755)
	}
	return nil
}

// reach shows which targets the same user reaches without confinement, and drops
// those it does not (CON-274).
func (s *session) reach() error {
	checks := []struct {
		fact string
		do   []string
	}{
		{"CANARY", []string{"read", "$CANARY"}}, {"CANARY", []string{"append", "$CANARY"}}, {"OUT", []string{"create", "$OUT/reached"}}, {"OUT", []string{"unlink", "$OUT/reached"}},
		{"OTHER", []string{"exec", "$OTHER", "true"}}, {"TRUE", []string{"exec", "$TRUE"}}, {"SH", []string{"exec", "$SH", "-c", "exit 0"}},
		{"ALLOWED", []string{"exec", "$ALLOWED"}}, {"NEIGHBOUR", []string{"exec", "$NEIGHBOUR"}}, {"LENT", []string{"list", "$LENT"}}, {"LENTPATH", []string{"exec", "$LENTPATH/program"}},
		{"LOADER", []string{"exec", "$LOADER", "$WORK/program"}}, {"PRELOAD", []string{"preload", "$WORK/library.so", "$TRUE"}},
		{"SOCKET", []string{"unix", "$SOCKET"}}, {"ABSTRACT", []string{"unix", "$ABSTRACT"}}, {"OPEN", []string{"connect", "127.0.0.1:$LOCAL"}},
		{"NAMED", []string{"connect", "$NAMED:$OPEN"}}, {"SHM", []string{"shm", "$SHM"}}, {"QUEUE", []string{"mq", "$QUEUE"}}, {"VICTIM", []string{"kill", "$VICTIM", "0"}},
	}
	var asked []int
	var r attempt.Request
	for i, c := range checks {
		if s.facts[c.fact] == "" {
			continue
		}
		do, err := s.filled(c.do, nil)
		if err != nil {
			continue
		}
		asked = append(asked, i)
		r.Attempts = append(r.Attempts, attempt.Attempt{Op: do[0], Args: do[1:]})
	}
	if err := s.ask(r); err != nil {
		return err
	}
	words := append(slices.Clone(s.o.Probe[1:]), "all", s.requestFile())
	cmd := exec.CommandContext(s.ctx, s.o.Probe[0], words...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.home, "TMPDIR=" + s.work}
	cmd.Dir = s.work
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("the probe program does not run on the host: %w %s", err, complaint.String())
	}
	answers, err := parse(out, len(asked))
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a != "ok" {
			c := checks[asked[i]]
			delete(s.facts, c.fact)
			s.lacks(c.fact, fmt.Sprintf("without confinement %s answers %s", strings.Join(c.do, " "), a))
		}
	}
	return nil
}

func (s *session) requestFile() string { return filepath.Join(s.work, "request.json") }

// ask writes a request where the probe looks for it.
func (s *session) ask(r attempt.Request) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	draft := s.requestFile() + ".draft"
	if err := s.file(draft, string(text), 0o644); err != nil {
		return err
	}
	return os.Rename(draft, s.requestFile())
}

func parse(out []byte, n int) ([]string, error) {
	answers := make([]string, n)
	dec := json.NewDecoder(bytes.NewReader(out))
	for i := 0; dec.More(); i++ {
		var a attempt.Answer
		if err := dec.Decode(&a); err != nil || a.N >= n {
			return nil, fmt.Errorf("the probe answered %q", out)
		}
		answers[a.N] = a.Answer
	}
	return answers, nil
}

func (s *session) filled(words []string, extra map[string]string) ([]string, error) {
	out := make([]string, len(words))
	var missing error
	for i, w := range words {
		var err error
		if out[i], err = s.fill(w, extra); err != nil {
			missing = err
		}
	}
	return out, missing
}

// run is one run of mur-shell.
type run struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
	started  error
}

func (r *run) text() (string, error) {
	if r.started != nil {
		return "", r.started
	}
	if err := r.cmd.Wait(); err != nil {
		return r.out.String(), fmt.Errorf("mur-shell: %w: %s", err, r.err.String())
	}
	return r.out.String(), nil
}

// code is the exit status, after the end.
func (r *run) code() int {
	if r.cmd.ProcessState == nil {
		return -1
	}
	return r.cmd.ProcessState.ExitCode()
}

// shell starts mur-shell run in the suite's class with flags, for words.
func (s *session) shell(environ, flags []string, words ...string) *run {
	args := []string{"run", "--workdir", s.work, "--containment", s.o.Class.String()}
	for _, p := range []string{s.o.Probe[0], s.facts["TRUE"], s.facts["SH"], s.facts["SLEEP"], s.facts["ALLOWED"]} {
		if p != "" {
			args = append(args, "--allow", p)
		}
	}
	args = append(append(args, flags...), "--")
	ctx, cancel := context.WithTimeout(s.ctx, runTime)
	r := &run{cmd: exec.CommandContext(ctx, s.o.Shell, append(args, words...)...)}
	r.cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(s.base, "nobody"), "MURMUR_HOME=" + s.home}, environ...)
	r.cmd.Dir = s.work
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.err
	r.cmd.WaitDelay = 5 * time.Second
	// Descriptors 3 to 7 without close-on-exec, for CON-P41.
	for range 5 {
		if f, err := os.Open(filepath.Join(s.base, "canary", "file")); err == nil {
			r.cmd.ExtraFiles = append(r.cmd.ExtraFiles, f)
			defer f.Close()
		}
	}
	r.started = r.cmd.Start()
	context.AfterFunc(ctx, cancel)
	return r
}

// flags are the grants of terms.
func (s *session) flags(t Terms) ([]string, error) {
	switch t {
	case plain:
		return nil, nil
	case listed:
		return []string{"--network", s.facts["NAME"] + ":" + s.facts["OPEN"], "--network", "localhost:" + s.facts["LOCAL"]}, nil
	case sockets:
		return []string{"--unix-sockets"}, nil
	case runnable:
		return []string{"--workdir-exec"}, nil
	case crowded:
		return s.crowd()
	case lent:
		file := filepath.Join(s.base, "lent.yaml")
		return []string{"--policy", file}, s.file(file, fmt.Sprintf("shell:\n  allow: [\"true\"]\n  interpreter_runtime:\n  - binary: \"true\"\n    dirs:\n    - {path: %q, list_dir: false}\n    - {path: %q, list_dir: true}\n",
			s.facts["LENT"], s.facts["LISTED"]), 0o644)
	}
	return nil, fmt.Errorf("no terms %q", t)
}

// crowd lists twenty ports: the listened one first.
func (s *session) crowd() ([]string, error) {
	local, _ := strconv.Atoi(s.facts["LOCAL"])
	s.set("FIRST", s.facts["LOCAL"])
	out := []string{"--network", "localhost:" + s.facts["LOCAL"]}
	// Sorted, the listened one first: the others lie above it, as far as there are any.
	top := 65535
	if local > top-20 {
		return nil, errors.New("the port is too high for 19 above it")
	}
	for i := 1; i < 20; i++ {
		out = append(out, "--network", fmt.Sprintf("localhost:%d", local+i))
	}
	s.set("SEVENTEENTH", strconv.Itoa(local+16))
	return out, nil
}

// one runs one attempt as a command of its own.
func (s *session) one(environ, flags []string, do ...string) (string, *run, error) {
	do, err := s.filled(do, nil)
	if err != nil {
		return "", nil, err
	}
	r := s.shell(environ, flags, slices.Concat(s.o.Probe, []string{"one"}, do)...)
	out, err := r.text()
	return strings.TrimSuffix(out, "\n"), r, err
}

// processes waits until the command runs and names who started it.
func (s *session) processes(shell int) map[string]string {
	out := map[string]string{"SHELL": strconv.Itoa(shell)}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		found := false
		for pid, name := range descendants(shell) {
			switch filepath.Base(name) {
			case "mur-holder":
				out["HOLDER"] = strconv.Itoa(pid)
			case filepath.Base(s.o.Probe[0]):
				found = true
			}
		}
		if found || unix.Kill(shell, 0) != nil {
			return out
		}
	}
	return out
}
