package attempt

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	// runs a program to its end
	add("exec", func(a []string) string { return run(nil, a...) })
	add("copy-exec", func(a []string) string {
		if answer := try("copy", a); answer != "ok" {
			return "copy: " + answer
		}
		return run(nil, a[1])
	})
	add("rename-exec", func(a []string) string {
		if err := os.Rename(a[0], a[1]); err != nil {
			return "rename: " + word(err)
		}
		answer := run(nil, a[1])
		_ = os.Rename(a[1], a[0])
		return answer
	})
	add("link-exec", func(a []string) string {
		_ = os.Remove(a[1])
		if err := os.Link(a[0], a[1]); err != nil {
			return "link: " + word(err)
		}
		return run(nil, a[1])
	})
	add("symlink-exec", func(a []string) string {
		_ = os.Remove(a[1])
		if err := os.Symlink(a[0], a[1]); err != nil {
			return "symlink: " + word(err)
		}
		return run(nil, a[1])
	})
	// maps a file executable, which is what a dynamic loader does
	add("map-exec", func(a []string) string {
		fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return "open: " + word(err)
		}
		defer unix.Close(fd)
		m, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		if err == nil {
			_ = unix.Munmap(m)
		}
		return word(err)
	})
	// preloads LIBRARY into PROGRAM: the loader complains and goes on
	add("preload", func(a []string) string {
		cmd := exec.Command(a[1], a[2:]...)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+a[0])
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		if err := cmd.Run(); err != nil {
			return ended(err)
		}
		switch text := complaint.String(); {
		case strings.Contains(text, "failed to map segment"):
			return "EPERM"
		case strings.Contains(text, "cannot open shared object"):
			return "EACCES"
		case text == "":
			return "ok"
		default:
			return text
		}
	})
	// copies LIBRARY to AT and preloads it from there into PROGRAM
	add("copy-preload", func(a []string) string {
		if answer := try("copy", a[:2]); answer != "ok" {
			return "copy: " + answer
		}
		return try("preload", a[1:])
	})
	// runs a copy of PROGRAM from memory, through /proc and by execveat
	add("memfd-proc", func(a []string) string {
		fd, answer := memory(a[0])
		if answer != "" {
			return answer
		}
		return run(nil, "/proc/self/fd/"+strconv.Itoa(fd))
	})
	addApart("memfd-execveat", func(a []string) string {
		fd, answer := memory(a[0])
		if answer != "" {
			return answer
		}
		return execAt(fd)
	})
	addApart("execveat", func(a []string) string {
		fd, err := unix.Open(a[0], unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return "open: " + word(err)
		}
		return execAt(fd)
	})
	add("memfd-map", func(a []string) string {
		fd, answer := memory(a[0])
		if answer != "" {
			return answer
		}
		return opened("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY, 0, func(fd int) error {
			_, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
			return err
		})
	})
}

// run runs a program and says how it ended; an exec that fails is its errno.
func run(env []string, words ...string) string {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = env
	if env == nil {
		cmd.Env = os.Environ()
	}
	return ended(cmd.Run())
}

// memory is a descriptor of an anonymous file that holds a program. It stays
// open over an exec, as /proc must still show it.
func memory(program string) (int, string) {
	fd, err := unix.MemfdCreate("probe", 0)
	if err != nil {
		return -1, word(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return -1, "read: " + word(err)
	}
	if _, err := unix.Write(fd, text); err != nil {
		return -1, "write: " + word(err)
	}
	return fd, ""
}

func execAt(fd int) string {
	empty := []byte{0}
	argv := []*byte{&[]byte("probe\x00")[0], nil}
	_, _, errno := unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&argv[1])), unix.AT_EMPTY_PATH, 0)
	return number(errno)
}
