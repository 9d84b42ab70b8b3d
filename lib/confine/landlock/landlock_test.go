//go:build linux

package landlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
)

// A domain can not be left: each attempt runs in a re-executed test binary.
const inside = "MUR_TEST_LANDLOCK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(inside); dir != "" {
		tryInside(dir, confine.Tree(os.Getenv(inside+"_TREE")), os.Getenv(inside+"_EXEC") == "1")
		return
	}
	os.Exit(m.Run())
}

func version() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// attempts are the ways a command can touch a tree, each on an entry of its own.
var attempts = map[string]func(dir string) error{
	"write file":  func(d string) error { return open(d+"/file", os.O_WRONLY) },
	"read file":   func(d string) error { return open(d+"/file", os.O_RDONLY) },
	"list":        func(d string) error { _, err := os.ReadDir(d); return err },
	"remove file": func(d string) error { return os.Remove(d + "/victim") },
	"remove dir":  func(d string) error { return unix.Rmdir(d + "/victimdir") },
	"make file":   func(d string) error { return open(d+"/new", os.O_CREATE|os.O_WRONLY|os.O_EXCL) },
	"make dir":    func(d string) error { return os.Mkdir(d+"/newdir", 0o755) },
	"make fifo":   func(d string) error { return unix.Mkfifo(d+"/fifo", 0o644) },
	"make link":   func(d string) error { return os.Symlink("file", d+"/sym") },
	"make socket": func(d string) error { return bind(d + "/sock") },
	"execute":     func(d string) error { return run(d + "/run") },
	"truncate":    func(d string) error { return os.Truncate(d+"/full", 0) },
	"move across": func(d string) error { return os.Rename(d+"/sub/a", d+"/sub2/a") },
	"outside":     func(d string) error { return open(filepath.Dir(d)+"/secret", os.O_RDONLY) },
	"up by link":  func(d string) error { return open(d+"/uplink", os.O_RDONLY) },
	"move out":    func(d string) error { return os.Rename(d+"/escapee", filepath.Dir(d)+"/other/escapee") },
}

func open(path string, flag int) error {
	f, err := os.OpenFile(path, flag, 0o644)
	if err == nil {
		err = f.Close()
	}
	return err
}

// run does without os/exec, which opens /dev/null.
func run(path string) error {
	pid, err := syscall.ForkExec(path, []string{path}, nil)
	if err == nil {
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}

func bind(path string) error {
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	return unix.Bind(s, &unix.SockaddrUnix{Name: path})
}

func tryInside(dir string, tree confine.Tree, workdirExec bool) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	abi := version()
	rules := []Rule{{fd, Rights(tree, abi, true, workdirExec)}}
	runtime.LockOSThread()
	if err := RestrictThread(abi, rules); err != nil {
		panic(err)
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		out[name] = "ok"
		if err := attempts[name](dir); err != nil {
			var errno unix.Errno
			out[name] = err.Error()
			if errors.As(err, &errno) {
				out[name] = unix.ErrnoName(errno)
			}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}

// tree makes a directory that holds what the attempts touch; /run is a static
// program made by the C compiler.
func makeTree(t *testing.T, program string) string {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "tree")
	for _, d := range []string{"tree/victimdir", "tree/sub", "tree/sub2", "other"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"tree/file", "tree/victim", "tree/full", "tree/sub/a", "tree/escapee", "secret"} {
		if err := os.WriteFile(filepath.Join(base, f), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "uplink")); err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run"), code, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func staticProgram(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command("gcc", "-static", "-nostdlib", "-x", "c", "-o", out, "-")
	cmd.Stdin = strings.NewReader(`void _start(void) { __asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall"); }`)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no C compiler to make a static program: %v\n%s", err, msg)
	}
	return out
}

// The table of CON-63, cell by cell, in the kernel. CON-59, CON-62, CON-64, CON-65, CON-67, CON-69, CON-113
func TestTreesInTheKernel(t *testing.T) {
	if version() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	write := []string{"write file", "remove file", "remove dir", "make file", "make dir", "make fifo", "make link", "truncate", "move across"}
	for _, tc := range []struct {
		tree confine.Tree
		exec bool
		may  []string
	}{
		{confine.WorkFolder, false, append([]string{"read file", "list"}, write...)},
		{confine.WorkFolder, true, append([]string{"read file", "list", "execute"}, write...)},
		{confine.RuntimeDir, true, []string{"read file", "list"}},
		{confine.ReadTree, true, []string{"read file", "list"}},
		{confine.ExecDir, false, []string{"read file", "execute"}},
		{confine.ExecListDir, false, []string{"read file", "list", "execute"}},
	} {
		t.Run(fmt.Sprintf("%s exec=%v", tc.tree, tc.exec), func(t *testing.T) {
			dir := makeTree(t, staticProgram(t))
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), inside+"="+dir, inside+"_TREE="+string(tc.tree), fmt.Sprintf(inside+"_EXEC=%d", map[bool]int{true: 1}[tc.exec]))
			cmd.Stderr = os.Stderr
			text, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]string
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%v in %q", err, text)
			}
			for name := range attempts {
				want := []string{"EACCES"}
				switch {
				case slices.Contains(tc.may, name):
					want = []string{"ok"}
				case name == "move out", name == "move across":
					want = []string{"EXDEV", "EACCES"}
				}
				if !slices.Contains(want, got[name]) {
					t.Errorf("%s: %s, want %v", name, got[name], want)
				}
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), "other", "escapee")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file was moved out: %v", err)
			}
		})
	}
}

// CON-62, CON-66, CON-68
func TestRights(t *testing.T) {
	for _, tc := range []struct {
		tree       confine.Tree
		abi        int
		dir, exec  bool
		want, none uint64
	}{
		{confine.ExecFile, 7, false, false, execute | readFile, readDir},
		{confine.ReadTree, 7, false, false, readFile, readDir},
		{confine.WorkFolder, 1, true, false, makeReg, refer | truncate | execute},
		{confine.WorkFolder, 2, true, false, refer, truncate},
		{confine.WorkFolder, 3, true, true, truncate | execute, makeSock | makeChar | makeBlock},
		{confine.DeviceWrite, 7, false, false, writeFile | readFile, ioctlDev | execute},
		{confine.DeviceRead, 7, false, true, readFile, writeFile | execute},
		{confine.Tree("other"), 7, true, true, 0, ^uint64(0)},
	} {
		got := Rights(tc.tree, tc.abi, tc.dir, tc.exec)
		if got&tc.want != tc.want || got&tc.none != 0 {
			t.Errorf("%s at ABI %d: %#x, want %#x and none of %#x", tc.tree, tc.abi, got, tc.want, tc.none)
		}
	}
	if a := Handled(5); a.FS&ioctlDev == 0 || a.Scoped != 0 {
		t.Errorf("ABI 5 handles %+v", a)
	}
	if a := Handled(6); a.Scoped != unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL {
		t.Errorf("ABI 6 handles %+v", a)
	}
	// The table has its own names for the kernel's numbers.
	for got, want := range map[uint64]uint64{
		execute: unix.LANDLOCK_ACCESS_FS_EXECUTE, makeSym: unix.LANDLOCK_ACCESS_FS_MAKE_SYM, refer: unix.LANDLOCK_ACCESS_FS_REFER,
		truncate: unix.LANDLOCK_ACCESS_FS_TRUNCATE, ioctlDev: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, makeSock: unix.LANDLOCK_ACCESS_FS_MAKE_SOCK,
	} {
		if got != want {
			t.Errorf("a right is %#x and the kernel's is %#x", got, want)
		}
	}
}
