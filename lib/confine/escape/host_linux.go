package escape

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/seccomp"
)

// secret is what the canary holds.
const secret = "mur-escape-canary"

// ground is what the suite puts on the host to be reached for: files, services, a
// process. Its facts are the values of $NAME in the table; a fact that is not
// there carries the reason.
type ground struct {
	base    string
	cred    *syscall.Credential
	uid     int
	facts   map[string]string
	missing map[string]string
	got     chan string // datagrams that came
	closers []func()
}

// names a system has for the programs the suite uses.
func lookup(names ...string) (string, error) {
	for _, n := range names {
		for _, d := range []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"} {
			if real, err := filepath.EvalSymlinks(filepath.Join(d, n)); err == nil {
				return real, nil
			}
		}
	}
	return "", fmt.Errorf("this host has no program %s", strings.Join(names, " or "))
}

func (g *ground) set(name, value string) { g.facts[name] = value }

func (g *ground) lacks(name, reason string) { g.missing[name] = reason }

// program sets a fact to a program of the system.
func (g *ground) program(name string, names ...string) {
	if p, err := lookup(names...); err == nil {
		g.set(name, p)
	} else {
		g.lacks(name, err.Error())
	}
}

func (g *ground) close() {
	for _, f := range slices.Backward(g.closers) {
		f()
	}
}

// own gives a path to the user whose reach is tried.
func (g *ground) own(path string) error {
	if g.cred == nil {
		return nil
	}
	return os.Lchown(path, int(g.cred.Uid), int(g.cred.Gid))
}

func (g *ground) dir(name string, mode os.FileMode) (string, error) {
	p := filepath.Join(g.base, name)
	if err := os.MkdirAll(p, mode); err != nil {
		return "", err
	}
	if err := os.Chmod(p, mode); err != nil {
		return "", err
	}
	return p, g.own(p)
}

func (g *ground) file(path, text string, mode os.FileMode) error {
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	return g.own(path)
}

func (g *ground) copy(from, to string, mode os.FileMode) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return g.file(to, string(text), mode)
}

// lay puts everything in place beneath base.
func (g *ground) lay() error {
	out, err := g.dir("canary", 0o777)
	if err != nil {
		return err
	}
	canary := filepath.Join(out, "file")
	if err := g.file(canary, secret, 0o666); err != nil {
		return err
	}
	g.set("OUT", out)
	g.set("CANARY", canary)
	if err := unix.Setxattr(canary, "user.probe", []byte("x"), 0); err != nil {
		g.lacks("XATTR", "the file system of the suite has no extended attributes: "+err.Error())
	} else {
		g.set("XATTR", filepath.Join(g.base, "work", "own"))
	}
	g.program("TRUE", "true")
	g.program("OTHER", "env", "id")
	g.program("SH", "dash", "sh")
	g.program("SLEEP", "sleep")
	if err := g.libraries(); err != nil {
		return err
	}
	if err := g.folders(); err != nil {
		return err
	}
	g.disk()
	g.numbers()
	if err := g.services(); err != nil {
		return err
	}
	return g.victim()
}

// libraries finds the dynamic loader and a library of the true program.
func (g *ground) libraries() error {
	loader := "/lib64/ld-linux-x86-64.so.2"
	if runtime.GOARCH == "arm64" {
		loader = "/lib/ld-linux-aarch64.so.1"
	}
	if real, err := filepath.EvalSymlinks(loader); err == nil {
		g.set("LOADER", real)
		for _, dir := range []string{filepath.Dir(real), "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"} {
			if lib, err := filepath.EvalSymlinks(filepath.Join(dir, "libc.so.6")); err == nil {
				g.set("LIBRARY", lib)
				if m, err := filepath.EvalSymlinks(filepath.Join(dir, "libm.so.6")); err == nil {
					g.set("PRELOAD", m)
				}
				break
			}
		}
	}
	for _, name := range []string{"LOADER", "LIBRARY", "PRELOAD"} {
		if g.facts[name] == "" {
			g.lacks(name, "no dynamic loader and library of glibc were found")
		}
	}
	return nil
}

// folders are those that are lent, and the program beside an allowed one.
func (g *ground) folders() error {
	truth := g.facts["TRUE"]
	for name, fact := range map[string]string{"lent": "LENT", "listed": "LISTED", "hostpath": "LENTPATH"} {
		dir, err := g.dir(name, 0o755)
		if err != nil {
			return err
		}
		if err := g.file(filepath.Join(dir, "known"), "known", 0o644); err != nil {
			return err
		}
		if truth != "" {
			if err := g.copy(truth, filepath.Join(dir, "program"), 0o755); err != nil {
				return err
			}
		}
		g.set(fact, dir)
	}
	dir, err := g.dir("programs", 0o755)
	if err != nil {
		return err
	}
	if truth == "" {
		g.lacks("ALLOWED", g.missing["TRUE"])
		g.lacks("NEIGHBOUR", g.missing["TRUE"])
		return nil
	}
	g.set("ALLOWED", filepath.Join(dir, "allowed"))
	g.set("NEIGHBOUR", filepath.Join(dir, "neighbour"))
	if err := g.copy(truth, g.facts["ALLOWED"], 0o755); err != nil {
		return err
	}
	return g.copy(truth, g.facts["NEIGHBOUR"], 0o755)
}

func (g *ground) disk() {
	for _, d := range []string{"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/xvda", "/dev/loop0"} {
		if _, err := os.Stat(d); err == nil {
			g.set("DISK", d)
			return
		}
	}
	g.lacks("DISK", "this host shows no disk in /dev")
}

// numbers are the ranges of system calls that the filter refuses, apart from
// those that the suite can not try: an argument decides.
func (g *ground) numbers() {
	arch, err := seccomp.Host()
	if err != nil {
		g.lacks("KNOWN", err.Error())
		g.lacks("UNKNOWN", err.Error())
		return
	}
	known, unknown := arch.Refused(1024)
	g.set("KNOWN", ranges(known))
	g.set("UNKNOWN", ranges(unknown))
	var denied []string
	for _, name := range seccomp.Denied() {
		if n, ok := arch.Number(name); ok {
			denied = append(denied, strconv.Itoa(int(n)))
		}
	}
	g.set("DENIED", strings.Join(denied, ","))
}

func ranges(numbers []uint32) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		out = append(out, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		i = j + 1
	}
	return strings.Join(out, ",")
}

// fill replaces $NAME and #name in an argument, and says what is missing.
func (g *ground) fill(arg string, extra map[string]string) (string, error) {
	if name, ok := strings.CutPrefix(arg, "#"); ok {
		arch, err := seccomp.Host()
		if err != nil {
			return "", err
		}
		n, known := arch.Number(name)
		if !known {
			return "", fmt.Errorf("%s has no system call %s", arch.Name, name)
		}
		return strconv.Itoa(int(n)), nil
	}
	var missing error
	out := os.Expand(arg, func(name string) string {
		for _, m := range []map[string]string{extra, g.facts} {
			if v, ok := m[name]; ok {
				return v
			}
		}
		missing = errors.New(g.missing[name])
		if g.missing[name] == "" {
			missing = fmt.Errorf("the suite has no fact %s", name)
		}
		return ""
	})
	return out, missing
}

// children are the processes a process started, by their own names, from /proc.
func descendants(pid int) map[int]string {
	out := map[int]string{}
	var walk func(pid int)
	walk = func(pid int) {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, t := range tasks {
			f, err := os.Open(t)
			if err != nil {
				continue
			}
			words := bufio.NewScanner(f)
			words.Split(bufio.ScanWords)
			for words.Scan() {
				child, _ := strconv.Atoi(words.Text())
				if _, seen := out[child]; child == 0 || seen {
					continue
				}
				cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
				first, _, _ := strings.Cut(string(cmdline), "\x00")
				out[child] = first
				walk(child)
			}
			f.Close()
		}
	}
	walk(pid)
	return out
}
