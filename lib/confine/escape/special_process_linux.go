package escape

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func dialUDP(address string) (net.Conn, error) { return net.Dial("udp", address) }

// running are the processes of the host whose command line is the words.
func running(words ...string) []string {
	want := strings.Join(words, "\x00") + "\x00"
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var out []string
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && string(text) == want {
			out = append(out, filepath.Base(filepath.Dir(f)))
		}
	}
	return out
}

// nap is a time to sleep that nobody else uses: it marks a process.
func nap(n int) string { return fmt.Sprintf("%d.%06d", 300+n, os.Getpid()) }

// stray leaves a process that has closed everything, and looks for it when the
// command is over.
func stray(s *session) []Finding {
	if s.facts["SLEEP"] == "" {
		return notRun(s.missing["SLEEP"])
	}
	words := []string{s.facts["SLEEP"], nap(1)}
	begin := time.Now()
	answer, _, err := s.one(nil, nil, append([]string{"stray"}, words...)...)
	if err != nil || answer != "ok" {
		return finding(false, "ok", fmt.Sprintf("%s %v", answer, err))
	}
	left := running(words...)
	return finding(len(left) == 0 && time.Since(begin) < 10*time.Second, "gone", "processes "+strings.Join(left, " "))
}

// killShell ends mur-shell by SIGKILL while a command and its stray run.
func killShell(s *session) []Finding {
	if s.facts["SLEEP"] == "" {
		return notRun(s.missing["SLEEP"])
	}
	words := []string{s.facts["SLEEP"], nap(2)}
	r := s.shell(nil, nil, slices.Concat(s.o.Probe, []string{"one", "stray-and-stay"}, words)...)
	if r.started != nil {
		return notRun(r.started.Error())
	}
	for end := time.Now().Add(10 * time.Second); len(running(words...)) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			_ = r.cmd.Process.Kill()
			_, err := r.text()
			return finding(false, "a stray", fmt.Sprintf("none: %v", err))
		}
	}
	family := descendants(r.cmd.Process.Pid)
	_ = r.cmd.Process.Kill()
	_, _ = r.text()
	var left []string
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left = running(words...)
		for pid, name := range family {
			if unix.Kill(pid, 0) == nil && !ended(pid) {
				left = append(left, fmt.Sprintf("%d %s", pid, filepath.Base(name)))
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	return finding(len(left) == 0, "all gone within 2 s", strings.Join(left, ", "))
}

// ended tells whether a process waits to be reaped.
func ended(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	i := strings.LastIndex(string(text), ") ")
	return i < 0 || text[i+2] == 'Z'
}

// environ runs a command with variables in mur-shell's environment and returns
// the command's.
func (s *session) environ(vars ...string) (map[string]string, error) {
	answer, _, err := s.one(vars, nil, "environ")
	if err != nil {
		return nil, err
	}
	text, ok := strings.CutPrefix(answer, "ok:")
	if !ok {
		return nil, fmt.Errorf("environ: %s", answer)
	}
	out := map[string]string{}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		out[k] = v
	}
	return out, nil
}

// absent sets variables and finds none of them in a command.
func (s *session) absent(vars ...string) []Finding {
	env, err := s.environ(vars...)
	if err != nil {
		return finding(false, "none", err.Error())
	}
	var there []string
	for _, kv := range vars {
		name, _, _ := strings.Cut(kv, "=")
		if _, ok := env[name]; ok {
			there = append(there, name)
		}
	}
	return finding(len(there) == 0, "none", strings.Join(there, " "))
}

func credentials(s *session) []Finding {
	var vars []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "HUGGING_FACE_HUB_TOKEN", "NEXUS_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE",
		"GITHUB_TOKEN", "GH_TOKEN", "DOCKER_HOST", "DOCKER_AUTH_CONFIG", "KUBECONFIG", "NPM_TOKEN", "PYPI_TOKEN", "CARGO_REGISTRY_TOKEN", "SOME_API_KEY", "DATABASE_PASSWORD"} {
		vars = append(vars, name+"=mur-escape-secret")
	}
	return s.absent(vars...)
}

func steering(s *session) []Finding {
	return s.absent("LD_PRELOAD="+s.facts["PRELOAD"], "LD_LIBRARY_PATH=/nonexistent", "BASH_ENV=/nonexistent", "PYTHONPATH=/nonexistent", "http_proxy=http://192.0.2.1:3128", "GOFLAGS=-x", "PERL5LIB=/nonexistent")
}

// homes are folders of the run, never the caller's.
func homes(s *session) []Finding {
	env, err := s.environ("USERPROFILE=/home/somebody", "TMPDIR=/somewhere")
	if err != nil {
		return finding(false, "folders of the run", err.Error())
	}
	var wrong []string
	for _, name := range []string{"HOME", "TMPDIR", "USERPROFILE", "TEMP", "TMP"} {
		if !strings.HasPrefix(env[name], s.home+"/records/") {
			wrong = append(wrong, name+"="+env[name])
		}
	}
	return finding(len(wrong) == 0, "folders of the run", strings.Join(wrong, " "))
}

// protected runs shell lines with locked as a read-only path.
func protected(refused bool, lines ...string) func(*session) []Finding {
	return func(s *session) []Finding {
		var out []Finding
		for _, line := range lines {
			if err := s.prepare(); err != nil {
				return notRun(err.Error())
			}
			r := s.shell(nil, []string{"--read-only", "locked", "--allow", "sh"}, "sh", "-c", line)
			_, err := r.text()
			text, rerr := os.ReadFile(filepath.Join(s.work, "locked", "a"))
			changed := rerr != nil || string(text) != "a"
			f := Finding{What: line, Status: Differs, Owed: "refused before start", Answer: fmt.Sprintf("exit %d, changed: %t %s", r.code(), changed, r.err.String())}
			if !refused {
				f.Owed = "ok"
			}
			if refused && err != nil && r.code() == 125 && !changed || !refused && err == nil && changed {
				f.Status = Held
			}
			out = append(out, f)
		}
		return out
	}
}
