package attempt

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ops are the operations by name. Paths are absolute; %HOME and %TMPDIR in an
// argument stand for the command's own.
var ops = map[string]op{}

func add(name string, try func(a []string) string)      { ops[name] = op{try: try} }
func addApart(name string, try func(a []string) string) { ops[name] = op{apart: true, try: try} }

// opened opens a path, does something with it, and closes it.
func opened(path string, flags int, mode uint32, then func(fd int) error) string {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, mode)
	if err != nil {
		return word(err)
	}
	defer unix.Close(fd)
	if then != nil {
		return word(then(fd))
	}
	return "ok"
}

func readOne(fd int) error {
	_, err := unix.Read(fd, make([]byte, 1))
	return err
}

func writeOne(fd int) error {
	_, err := unix.Write(fd, []byte("x"))
	return err
}

func list(fd int) error {
	_, err := unix.ReadDirent(fd, make([]byte, 4096))
	return err
}

func init() {
	add("read", func(a []string) string { return opened(a[0], unix.O_RDONLY|unix.O_NONBLOCK, 0, readOne) })
	add("open", func(a []string) string { return opened(a[0], unix.O_RDONLY|unix.O_NONBLOCK, 0, nil) })
	add("open-write", func(a []string) string { return opened(a[0], unix.O_WRONLY|unix.O_NONBLOCK, 0, nil) })
	add("write", func(a []string) string { return opened(a[0], unix.O_WRONLY, 0, writeOne) })
	add("list", func(a []string) string { return opened(a[0], unix.O_RDONLY|unix.O_DIRECTORY, 0, list) })
	add("create", func(a []string) string {
		return opened(a[0], unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o644, writeOne)
	})
	add("append", func(a []string) string { return opened(a[0], unix.O_WRONLY|unix.O_APPEND, 0, writeOne) })
	add("open-trunc", func(a []string) string { return opened(a[0], unix.O_RDONLY|unix.O_TRUNC, 0, nil) })
	add("truncate", func(a []string) string { return word(unix.Truncate(a[0], 0)) })
	add("unlink", func(a []string) string { return word(unix.Unlink(a[0])) })
	add("mkdir", func(a []string) string { return word(unix.Mkdir(a[0], 0o755)) })
	add("stat", func(a []string) string { return word(unix.Stat(a[0], &unix.Stat_t{})) })
	add("chmod", func(a []string) string { return word(unix.Chmod(a[0], 0o640)) })
	add("chown", func(a []string) string { return word(unix.Chown(a[0], os.Getuid(), os.Getgid())) })
	add("utimes", func(a []string) string { return word(unix.Utimes(a[0], make([]unix.Timeval, 2))) })
	add("setxattr", func(a []string) string { return word(unix.Setxattr(a[0], "user.probe", []byte("x"), 0)) })
	add("rename", func(a []string) string { return word(unix.Rename(a[0], a[1])) })
	add("link", func(a []string) string { return word(unix.Link(a[0], a[1])) })
	add("mkfifo", func(a []string) string { return word(unix.Mkfifo(a[0], 0o644)) })
	add("mknod", func(a []string) string {
		mode := map[string]uint32{"block": unix.S_IFBLK, "char": unix.S_IFCHR, "socket": unix.S_IFSOCK}[a[1]]
		return word(unix.Mknod(a[0], mode|0o644, int(unix.Mkdev(1, 3))))
	})
	// through a link: make AT a symbolic link to TARGET, then do OP with AT.
	add("symlink", func(a []string) string {
		_ = unix.Unlink(a[1])
		if err := unix.Symlink(a[0], a[1]); err != nil {
			return word(err)
		}
		return try(a[2], a[1:2])
	})
	add("copy", func(a []string) string {
		text, err := os.ReadFile(a[0])
		if err == nil {
			_ = os.Remove(a[1])
			err = os.WriteFile(a[1], text, 0o755)
		}
		return word(err)
	})
	add("text", func(a []string) string {
		_ = os.Remove(a[0])
		return word(os.WriteFile(a[0], []byte(a[1]), 0o755))
	})
	// the whole of a small file
	add("cat", func(a []string) string {
		text, err := os.ReadFile(a[0])
		if err != nil {
			return word(err)
		}
		return "ok:" + string(text)
	})
	// lists a directory: the names in it
	add("names", func(a []string) string {
		entries, err := os.ReadDir(a[0])
		if err != nil {
			return word(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return "ok:" + strings.Join(names, " ")
	})
	// opens PATH for reading, then what /proc shows of the descriptor for writing
	add("reopen", func(a []string) string {
		fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return "first: " + word(err)
		}
		defer unix.Close(fd)
		return opened("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDWR, 0, nil)
	})
	add("up", func(a []string) string {
		return opened(strings.Repeat("../", 64)+strings.TrimPrefix(a[0], "/"), unix.O_RDONLY, 0, readOne)
	})
	add("pty", func([]string) string {
		fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return word(err)
		}
		defer unix.Close(fd)
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return word(err)
		}
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err != nil {
			return word(err)
		}
		return opened("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY, 0, nil)
	})
	// reads PATH until MILLISECONDS are over, and says whether TEXT was ever in it
	add("watch", func(a []string) string {
		ms, _ := strconv.Atoi(a[2])
		for end := time.Now().Add(time.Duration(ms) * time.Millisecond); time.Now().Before(end); {
			f, err := os.Open(a[0])
			if err != nil {
				continue
			}
			text, _ := io.ReadAll(io.LimitReader(f, 4096))
			f.Close()
			if strings.Contains(string(text), a[1]) {
				return "seen"
			}
		}
		return "never"
	})
	// descriptor of a handle: what open_by_handle_at(2) makes of PATH
	add("handle", func(a []string) string {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
		if err != nil {
			return "handle: " + word(err)
		}
		dir, err := unix.Open(filepath.Dir(a[1]), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return "directory: " + word(err)
		}
		defer unix.Close(dir)
		fd, err := unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
		if err == nil {
			unix.Close(fd)
		}
		return word(err)
	})
}
