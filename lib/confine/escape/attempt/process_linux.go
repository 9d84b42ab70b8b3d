package attempt

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func pid(s string) int { n, _ := strconv.Atoi(s); return n }

// limits by name.
var limits = map[string]int{
	"core": unix.RLIMIT_CORE, "nofile": unix.RLIMIT_NOFILE, "fsize": unix.RLIMIT_FSIZE,
	"cpu": unix.RLIMIT_CPU, "as": unix.RLIMIT_AS, "nproc": unix.RLIMIT_NPROC,
}

func init() {
	// the numbers from 3 to 1023 that are open descriptors; run it as a command of
	// its own, before this program opens any
	add("descriptors", func([]string) string {
		var open []string
		for fd := 3; fd < 1024; fd++ {
			var st unix.Stat_t
			_, err := unix.Write(fd, nil)
			if unix.Fstat(fd, &st) == nil || err != unix.EBADF {
				open = append(open, fmt.Sprintf("%d (mode %o)", fd, st.Mode))
			}
		}
		if len(open) == 0 {
			return "none"
		}
		return strings.Join(open, ", ")
	})
	// which of 0, 1 and 2 is a terminal or a socket
	add("stdio", func([]string) string {
		for fd := range 3 {
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				return fmt.Sprintf("%d: %s", fd, word(err))
			}
			if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil || st.Mode&unix.S_IFMT == unix.S_IFSOCK {
				return fmt.Sprintf("%d has mode %o", fd, st.Mode)
			}
		}
		return "none"
	})
	add("tiocsti", func(a []string) string {
		fd := 0
		if a[0] != "0" {
			var err error
			if fd, err = unix.Open(a[0], unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
				return word(err)
			}
			defer unix.Close(fd)
		}
		c := byte('x')
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		return number(errno)
	})
	// capability sets, no_new_privs and seccomp mode of this process
	add("privileges", func([]string) string {
		h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var d [2]unix.CapUserData
		if err := unix.Capget(&h, &d[0]); err != nil {
			return word(err)
		}
		bounding, ambient := 0, 0
		for c := 0; c <= 63; c++ {
			if r, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0); err == nil {
				bounding += r
			}
			if r, err := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, uintptr(c), 0, 0); err == nil {
				ambient += r
			}
		}
		nnp, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
		mode, _ := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
		return fmt.Sprintf("eff %x prm %x inh %x bnd %d amb %d nnp %d seccomp %d", d[0].Effective|d[1].Effective, d[0].Permitted|d[1].Permitted,
			d[0].Inheritable|d[1].Inheritable, bounding, ambient, nnp, mode)
	})
	add("ids", func([]string) string {
		r, e, s := unix.Getresuid()
		return fmt.Sprintf("%d %d %d", r, e, s)
	})
	add("umask", func([]string) string { m := unix.Umask(0); unix.Umask(m); return fmt.Sprintf("%03o", m) })
	addApart("setuid", func([]string) string { return number(call(unix.SYS_SETUID, [6]uintptr{})) })
	addApart("setgid", func([]string) string { return number(call(unix.SYS_SETGID, [6]uintptr{})) })
	addApart("setgroups", func([]string) string { return number(call(unix.SYS_SETGROUPS, [6]uintptr{0})) })

	add("kill", func(a []string) string { return word(unix.Kill(pid(a[0]), unix.Signal(pid(a[1])))) })
	addApart("kill-group", func([]string) string { _ = unix.Setpgid(0, 0); return word(unix.Kill(0, unix.SIGKILL)) })
	// whether there is any other process it could signal
	add("kill-all", func([]string) string { return word(unix.Kill(-1, 0)) })
	add("prlimit", func(a []string) string {
		_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, uintptr(pid(a[0])), unix.RLIMIT_NOFILE, 0, 0, 0, 0)
		return number(errno)
	})
	add("affinity", func(a []string) string {
		var set unix.CPUSet
		set.Set(0)
		return word(unix.SchedSetaffinity(pid(a[0]), &set))
	})
	add("pidfd-getfd", func(a []string) string {
		fd, err := unix.PidfdOpen(pid(a[0]), 0)
		if err != nil {
			return "pidfd_open: " + word(err)
		}
		defer unix.Close(fd)
		got, err := unix.PidfdGetfd(fd, 1, 0)
		if err == nil {
			unix.Close(got)
		}
		return word(err)
	})
	add("vm-read", func(a []string) string {
		b := make([]byte, 8)
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		remote := []unix.RemoteIovec{{Base: 0x400000, Len: 8}}
		_, err := unix.ProcessVMReadv(pid(a[0]), local, remote, 0)
		return word(err)
	})
	// whether /proc shows a few processes, or how many
	add("processes", func([]string) string {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return word(err)
		}
		n := 0
		for _, e := range entries {
			if _, err := strconv.Atoi(e.Name()); err == nil {
				n++
			}
		}
		if n <= 8 {
			return "few"
		}
		return strconv.Itoa(n)
	})
	add("environ", func([]string) string { e := os.Environ(); slices.Sort(e); return "ok:" + strings.Join(e, "\n") })
	add("shm", func(a []string) string {
		id, err := unix.SysvShmGet(pid(a[0]), 0, 0)
		if err != nil {
			return word(err)
		}
		m, err := unix.SysvShmAttach(id, 0, 0)
		if err == nil {
			_ = unix.SysvShmDetach(m)
		}
		return word(err)
	})
	add("mq", func(a []string) string {
		p, _ := unix.BytePtrFromString(a[0])
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), unix.O_RDONLY, 0, 0, 0, 0)
		if errno == 0 {
			unix.Close(int(fd))
		}
		return number(errno)
	})

	add("limit", func(a []string) string {
		var l unix.Rlimit
		if err := unix.Getrlimit(limits[a[0]], &l); err != nil {
			return word(err)
		}
		return fmt.Sprintf("%d %d", l.Cur, l.Max)
	})
	// raises each limit by one
	addApart("raise", func(a []string) string {
		what := limits[a[0]]
		var l unix.Rlimit
		if err := unix.Getrlimit(what, &l); err != nil {
			return word(err)
		}
		l.Cur, l.Max = l.Max+1, l.Max+1
		_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(what), uintptr(unsafe.Pointer(&l)), 0, 0, 0)
		return number(errno)
	})
	// writes MEGABYTES into PATH
	addApart("fill", func(a []string) string {
		return opened(a[0], unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o644, func(fd int) error {
			block := make([]byte, 1<<20)
			for range pid(a[1]) {
				if _, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&block[0])), uintptr(len(block))); errno != 0 {
					return errno
				}
			}
			return nil
		})
	})
	// opens files until one is refused
	addApart("files", func([]string) string {
		for n := 3; ; n++ {
			if _, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil || n > 1<<20 {
				return fmt.Sprintf("%s after %d", word(err), n)
			}
		}
	})
	addApart("burn", func([]string) string {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		}
		return "ok"
	})
	// maps GIGABYTES
	addApart("map", func(a []string) string {
		_, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, uintptr(pid(a[0]))<<30, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, ^uintptr(0), 0)
		return number(errno)
	})
	// starts PROGRAM ARG... up to N times at once: how the first refusal says, and
	// after how many
	add("forks", func(a []string) string {
		n := pid(a[0])
		var started []*exec.Cmd
		defer func() {
			for _, c := range started {
				_ = c.Process.Kill()
				_ = c.Wait()
			}
		}()
		for i := range n {
			cmd := exec.Command(a[1], a[2:]...)
			if err := cmd.Start(); err != nil {
				return fmt.Sprintf("%s after %d", word(err), i)
			}
			started = append(started, cmd)
		}
		return "ok"
	})
	// runs N of PROGRAM ARG... at once, to their ends
	add("together", func(a []string) string {
		var wg sync.WaitGroup
		for range pid(a[0]) {
			wg.Go(func() { _ = run(nil, a[1:]...) })
		}
		wg.Wait()
		return "ok"
	})
	addApart("sleep", func(a []string) string { time.Sleep(time.Duration(pid(a[0])) * time.Millisecond); return "ok" })
	// touches MEGABYTES of memory, holds it a moment
	addApart("touch", func(a []string) string {
		b := make([]byte, pid(a[0])<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		time.Sleep(200 * time.Millisecond)
		return fmt.Sprintf("ok:%d", b[0])
	})
	// dies of a fault with a heap in memory
	addApart("crash", func([]string) string {
		debug.SetTraceback("crash")
		b := make([]byte, 64<<20)
		b[1] = 1
		_ = unix.Kill(os.Getpid(), unix.SIGABRT)
		time.Sleep(time.Second)
		return fmt.Sprint(b[0])
	})
	// leaves a process of a session of its own, with every stream closed
	add("stray", func(a []string) string {
		null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
		if err != nil {
			return word(err)
		}
		defer null.Close()
		p, err := os.StartProcess(a[0], a, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, null, null}, Sys: &unix.SysProcAttr{Setsid: true}})
		if err != nil {
			return word(err)
		}
		return word(p.Release())
	})
	// leaves such a process, and stays
	add("stray-and-stay", func(a []string) string {
		answer := try("stray", a)
		time.Sleep(time.Minute)
		return answer
	})
}
