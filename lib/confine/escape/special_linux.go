package escape

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/escape/attempt"
	"github.com/mur-capsules/mur/lib/policy"
)

func notRun(reason string) []Finding { return []Finding{{Status: NotRun, Detail: reason}} }

func noClaim() []Finding { return []Finding{{Status: NoClaim}} }

func finding(ok bool, owed, answer string) []Finding {
	f := Finding{Owed: owed, Answer: answer, Status: Differs}
	if ok {
		f.Status = Held
	}
	return []Finding{f}
}

// alone tries in a command of its own, from its first instruction.
func alone(t Try) func(*session) []Finding {
	return func(s *session) []Finding {
		owed := t.owed(s.o.Class)
		if owed == "" {
			return noClaim()
		}
		answer, _, err := s.one(nil, nil, t.Do...)
		if err != nil {
			return finding(false, owed, err.Error())
		}
		return []Finding{judge(Finding{Owed: owed}, answer)}
	}
}

// limited tries under limits, the same in every class.
func limited(owed string, limits []string, do ...string) func(*session) []Finding {
	return func(s *session) []Finding {
		var flags []string
		for _, l := range limits {
			flags = append(flags, "--limit", l)
		}
		// The first process is the probe's; the attempt is in one below it.
		answer, _, err := s.batched(flags, do)
		if err != nil {
			return finding(false, owed, err.Error())
		}
		return []Finding{judge(Finding{Owed: owed}, answer)}
	}
}

// batched tries one attempt through a request, so that it may end its process.
func (s *session) batched(flags, do []string) (string, *run, error) {
	words, err := s.filled(do, nil)
	if err != nil {
		return "", nil, err
	}
	if err := s.ask(attempt.Request{Attempts: []attempt.Attempt{{Op: words[0], Args: words[1:]}}}); err != nil {
		return "", nil, err
	}
	r := s.shell(nil, flags, append(slices.Clone(s.o.Probe), "all", s.requestFile())...)
	text, err := r.text()
	if err != nil {
		return "", r, err
	}
	answers, err := parse([]byte(text), 1)
	if err != nil {
		return "", r, err
	}
	return answers[0], r, nil
}

func literalTmp(s *session) []Finding {
	if s.o.Class == policy.Advisory {
		return noClaim()
	}
	path := fmt.Sprintf("/tmp/mur-escape-%d", os.Getpid())
	owed := "ok"
	if s.report.TempDir.Mapping != "private-tmp" {
		owed = "EACCES|EROFS"
	}
	answer, _, err := s.one(nil, nil, "create", path)
	if err != nil {
		return finding(false, owed, err.Error())
	}
	if os.Remove(path) == nil {
		return finding(false, "nothing in the host's /tmp", "a file in the host's /tmp")
	}
	return []Finding{judge(Finding{Owed: owed}, answer)}
}

// sharedMemory makes a file in /dev/shm, which is never on the host's, and runs
// out of room there before memory does.
func sharedMemory(s *session) []Finding {
	if s.o.Class == policy.Advisory {
		return noClaim()
	}
	name := fmt.Sprintf("mur-escape-%d", os.Getpid())
	host := filepath.Join("/dev/shm", name)
	if err := os.WriteFile(host+"-host", nil, 0o666); err == nil {
		defer os.Remove(host + "-host")
	}
	owed := "ok"
	if s.o.Class == policy.Scoped && s.report.TempDir.Mapping != "private-tmp" {
		owed = "EACCES|EROFS"
	}
	var out []Finding
	for _, t := range []struct {
		what, owed string
		do         []string
	}{
		{"make a file", owed, []string{"create", host}},
		{"see the host's", "ENOENT|EACCES", []string{"read", host + "-host"}},
		{"run a program there", "EACCES|copy: *", []string{"copy-exec", "$TRUE", host}},
		{"fill it", "ENOSPC|EACCES|EROFS", []string{"fill", host, "80"}},
	} {
		answer, _, err := s.one(nil, nil, t.do...)
		if err != nil {
			answer = err.Error()
		}
		f := judge(Finding{What: "share memory with the host: " + t.what, Owed: t.owed}, answer)
		if os.Remove(host) == nil {
			f.Status, f.Detail = Differs, "the file is on the host"
		}
		out = append(out, f)
	}
	return out
}

func nothingAdded(s *session) []Finding {
	before, err := tree(s.work)
	if err != nil {
		return notRun(err.Error())
	}
	if _, err := s.shell(nil, nil, append(slices.Clone(s.o.Probe), "noop")...).text(); err != nil {
		return finding(false, "exit 0", err.Error())
	}
	after, err := tree(s.work)
	return finding(err == nil && before == after, "the same tree", "another tree")
}

// tree is a directory in one string: names, modes, sizes and times.
func tree(dir string) (string, error) {
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, st os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&b, path, st.Mode(), st.Size(), st.ModTime().UnixNano())
		}
		return err
	})
	return b.String(), err
}

// exchanged swaps a granted folder for a link to the canary's while a command
// looks into it again and again.
func exchanged(s *session) []Finding {
	if s.o.Class == policy.Advisory {
		return noClaim()
	}
	granted, err := s.dir("granted", 0o755)
	if err != nil {
		return notRun(err.Error())
	}
	aside, link := granted+"-aside", granted+"-link"
	defer func() {
		for _, p := range []string{granted, aside, link} {
			_ = os.RemoveAll(p)
		}
	}()
	if err := os.Symlink(s.facts["OUT"], link); err != nil {
		return notRun(err.Error())
	}
	policyFile := filepath.Join(s.base, "granted.yaml")
	if err := s.file(policyFile, fmt.Sprintf("shell:\n  allow: [\"true\"]\n  interpreter_runtime:\n  - binary: \"true\"\n    dirs: [{path: %q, list_dir: true}]\n", granted), 0o644); err != nil {
		return notRun(err.Error())
	}
	r := s.shell(nil, []string{"--policy", policyFile}, slices.Concat(s.o.Probe, []string{"one", "watch", granted + "/file", secret, "400"})...)
	if r.started != nil {
		return notRun(r.started.Error())
	}
	s.processes(r.cmd.Process.Pid)
	for end := time.Now().Add(600 * time.Millisecond); time.Now().Before(end); {
		_ = os.Rename(granted, aside)
		_ = os.Rename(link, granted)
		time.Sleep(time.Millisecond)
		_ = os.Rename(granted, link)
		_ = os.Rename(aside, granted)
	}
	text, err := r.text()
	if err != nil {
		return finding(false, "never", err.Error())
	}
	return []Finding{judge(Finding{Owed: "never"}, strings.TrimSpace(text))}
}

func killEverything(s *session) []Finding {
	if s.o.Class == policy.Advisory || slices.Contains(s.report.FilesystemBoundary.NotProtected, "signals") {
		return noClaim()
	}
	answer, _, err := s.one(nil, nil, "kill-all")
	if err != nil {
		return finding(false, "ESRCH|EPERM", err.Error())
	}
	f := judge(Finding{Owed: "ESRCH|EPERM"}, answer)
	if !s.alive() {
		f.Status, f.Detail = Differs, "the process outside has ended"
	}
	return []Finding{f}
}

// derivedProgram looks for a program in the directories that an interpreter named.
func derivedProgram(s *session) []Finding {
	if s.o.Class == policy.Advisory {
		return noClaim()
	}
	for _, name := range []string{"python3", "perl", "ruby", "node"} {
		if _, err := lookup(name); err != nil {
			continue
		}
		out, err := s.shell(nil, []string{"--allow", name, "--explain-scope", "--json"}, s.o.Probe[0]).text()
		var report confine.ScopeReport
		if err == nil {
			err = json.Unmarshal([]byte(out), &report)
		}
		if err != nil {
			return notRun(err.Error())
		}
		for _, g := range report.DerivedRuntimeGrants {
			_, dir, _ := strings.Cut(g, ": ")
			program := programBelow(dir)
			if program == "" {
				continue
			}
			answer, _, err := s.one(nil, []string{"--allow", name}, "exec", program)
			if err != nil {
				answer = err.Error()
			}
			return []Finding{judge(Finding{What: "run a program of an interpreter's own directories: " + program, Owed: "EACCES"}, answer)}
		}
	}
	return notRun("no allowed interpreter has a program in its own directories on this host")
}

// programBelow is an executable file of a tree, and no library.
func programBelow(dir string) string {
	found := ""
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(e.Name(), ".so") {
			return nil
		}
		if st, err := e.Info(); err == nil && st.Mode()&0o111 == 0o111 {
			found = path
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// setuidProgram runs a program that root made set-uid.
func setuidProgram(s *session) []Finding {
	if os.Getuid() != 0 {
		return notRun("only root can make a set-uid program")
	}
	if s.o.Class == policy.Advisory && !s.reachesFilter() {
		return noClaim()
	}
	path := filepath.Join(s.base, "programs", "setuid")
	if err := s.copy(s.o.Probe[0], path, 0o755); err != nil {
		return notRun(err.Error())
	}
	if err := os.Chown(path, 0, 0); err != nil {
		return notRun(err.Error())
	}
	if err := os.Chmod(path, 0o4755); err != nil {
		return notRun(err.Error())
	}
	own, _, err := s.one(nil, nil, "ids")
	if err != nil {
		return finding(false, "the own ids", err.Error())
	}
	r := s.shell(nil, []string{"--allow", path}, slices.Concat([]string{path}, s.o.Probe[1:], []string{"one", "ids"})...)
	text, err := r.text()
	if err != nil {
		return finding(false, own, err.Error())
	}
	return finding(strings.TrimSpace(text) == own, own, strings.TrimSpace(text))
}

func (s *session) reachesFilter() bool { return strings.Contains(s.report.EnforcementTier, "seccomp") }

func namesKey(s *session) []Finding {
	if s.o.Class == policy.Advisory {
		return noClaim()
	}
	program := filepath.Join(s.work, "program")
	r := s.shell(nil, []string{"--allow", program}, program)
	_, err := r.text()
	return finding(err != nil && r.code() == 126 && strings.Contains(r.err.String(), "workdir_exec"), "exit 126, naming workdir_exec", fmt.Sprintf("exit %d: %s", r.code(), r.err.String()))
}

// datagrams are graded on delivery.
func datagrams(s *session) []Finding {
	flags, err := s.flags(listed)
	if err != nil {
		return notRun(err.Error())
	}
	for _, address := range []string{"127.0.0.1:$UDP", "$ADDRESS:$UDP"} {
		if _, _, err := s.one(nil, flags, "udp", address, "inside"); err != nil {
			return finding(false, "not delivered", err.Error())
		}
	}
	// What was sent before has come when this has.
	words, err := s.filled([]string{"127.0.0.1:$UDP"}, nil)
	if err != nil {
		return notRun(err.Error())
	}
	conn, err := dialUDP(words[0])
	if err != nil {
		return notRun(err.Error())
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("control")); err != nil {
		return notRun(err.Error())
	}
	select {
	case got := <-s.got:
		return finding(got == "control", "not delivered", "delivered: "+got)
	case <-time.After(2 * time.Second):
		return notRun("a datagram does not arrive on this host either")
	}
}

// owner compares whom a command says it is, and whose its files are.
func owner(s *session) []Finding {
	ids, _, err := s.one(nil, nil, "ids")
	if err != nil {
		return finding(false, "an id", err.Error())
	}
	path := filepath.Join(s.work, "whose")
	if answer, _, err := s.one(nil, nil, "create", path); err != nil || answer != "ok" {
		return finding(false, "ok", fmt.Sprintf("%s %v", answer, err))
	}
	var folder, file unix.Stat_t
	if err := unix.Stat(s.work, &folder); err != nil {
		return notRun(err.Error())
	}
	if err := unix.Stat(path, &file); err != nil {
		return finding(false, "a file", err.Error())
	}
	var uid int
	_, _ = fmt.Sscan(ids, &uid)
	switch {
	case s.uid != 0:
		return finding(uid == s.uid && int(file.Uid) == s.uid, fmt.Sprintf("uid %d, a file of %d", s.uid, s.uid), fmt.Sprintf("uid %d, a file of %d", uid, file.Uid))
	case s.o.Class == policy.Advisory:
		return noClaim()
	default:
		return finding(uid != 0 && file.Uid == folder.Uid, fmt.Sprintf("another uid than 0, a file of %d", folder.Uid), fmt.Sprintf("uid %d, a file of %d", uid, file.Uid))
	}
}

func rootOutside(s *session) []Finding {
	if s.uid != 0 {
		return notRun("mur-shell does not run as root")
	}
	if s.o.Class == policy.Advisory {
		return noClaim()
	}
	path := filepath.Join(s.base, "roots")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return notRun(err.Error())
	}
	owed := map[policy.Class]string{policy.Scoped: "EPERM|EROFS|EACCES", policy.Sealed: "ENOENT"}[s.o.Class]
	var out []Finding
	for _, do := range [][]string{{"chmod", path}, {"chown", path}} {
		answer, _, err := s.one(nil, nil, do...)
		if err != nil {
			answer = err.Error()
		}
		f := judge(Finding{Owed: owed}, answer)
		f.What = "what root could do outside: " + do[0]
		out = append(out, f)
	}
	answer, _, err := s.one(nil, nil, "mknod", filepath.Join(s.work, "node"), "char")
	if err != nil {
		answer = err.Error()
	}
	return append(out, judge(Finding{What: "make a device", Owed: "EPERM|EACCES"}, answer))
}
