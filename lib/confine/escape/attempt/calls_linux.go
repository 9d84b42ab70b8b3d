package attempt

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arguments are numbers, in any base Go writes.
func arguments(a []string) [6]uintptr {
	var v [6]uintptr
	for i, s := range a {
		if i < len(v) {
			n, _ := strconv.ParseInt(s, 0, 64)
			v[i] = uintptr(n)
		}
	}
	return v
}

func call(nr uintptr, v [6]uintptr) syscall.Errno {
	_, _, errno := unix.RawSyscall6(nr, v[0], v[1], v[2], v[3], v[4], v[5])
	return errno
}

// entry makes one call in a forked child, by the usual way, by x32 or by the
// 32-bit gate.
func entry(way string, nr uintptr) string {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return "clone: " + number(errno)
	}
	if pid == 0 {
		var e syscall.Errno
		switch way {
		case "x32":
			e = call(nr|0x40000000, [6]uintptr{})
		case "32":
			if r, _ := gate32(uint32(nr)); r < 0 {
				e = syscall.Errno(-r)
			}
		default:
			e = call(nr, [6]uintptr{})
		}
		unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(e), 0, 0)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &status, 0, nil); err != nil {
		return word(err)
	}
	if status.Signaled() {
		return "killed:" + unix.SignalName(status.Signal())
	}
	return number(syscall.Errno(status.ExitStatus()))
}

func init() {
	// entries WAY NUMBER,...: each call, with zero arguments, in a process of its
	// own, which the call may end: the answer they have in common, or each once
	addApart("entries", func(a []string) string {
		seen := map[string]string{}
		for n := range strings.SplitSeq(a[1], ",") {
			v, _ := strconv.Atoi(n)
			seen[entry(a[0], uintptr(v))] = n
		}
		var out []string
		for w, n := range seen {
			if len(seen) == 1 {
				return w
			}
			out = append(out, w+" ("+n+")")
		}
		return strings.Join(out, ", ")
	})
	// call NUMBER ARG...: a system call of this architecture
	addApart("call", func(a []string) string { v := arguments(a[:1]); return number(call(v[0], arguments(a[1:]))) })
	// the same by the number of x32
	addApart("call-x32", func(a []string) string {
		v := arguments(a[:1])
		return number(call(v[0]|0x40000000, arguments(a[1:])))
	})
	// by the 32-bit gate
	addApart("call-32", func(a []string) string {
		v := arguments(a[:1])
		r, ok := gate32(uint32(v[0]))
		if !ok {
			return "no 32-bit gate on this architecture"
		}
		if r < 0 && r > -4096 {
			return number(syscall.Errno(-r))
		}
		return "ok"
	})
	// sweep FROM-TO,...: with zero arguments, every number of the ranges: the
	// answer they have in common, or each with how many numbers and one of them
	addApart("sweep", func(a []string) string {
		seen := map[string]int{}
		example := map[string]uintptr{}
		for r := range strings.SplitSeq(a[0], ",") {
			from, to, _ := strings.Cut(r, "-")
			lo, _ := strconv.Atoi(from)
			hi, _ := strconv.Atoi(to)
			for n := lo; n <= hi; n++ {
				w := number(call(uintptr(n), [6]uintptr{}))
				seen[w]++
				example[w] = uintptr(n)
			}
		}
		var out []string
		for w, n := range seen {
			if len(seen) == 1 {
				return w
			}
			out = append(out, fmt.Sprintf("%s %d (%d)", w, n, example[w]))
		}
		return strings.Join(out, ", ")
	})
	// clone with a namespace flag; the child ends at once
	addApart("clone", func(a []string) string {
		flags := arguments(a)[0]
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return number(errno)
	})
	addApart("clone3", func(a []string) string {
		args := make([]uint64, 11)
		args[0], args[4] = uint64(arguments(a)[0]), uint64(unix.SIGCHLD)
		pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args[0])), 88, 0)
		if errno == 0 && pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return number(errno)
	})
	addApart("path-call", func(a []string) string { // NUMBER PATH: a call whose first argument is a path
		p, _ := unix.BytePtrFromString(a[1])
		v := arguments(a[:1])
		_, _, errno := unix.RawSyscall6(v[0], uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(p)), 0, 0, 0)
		return number(errno)
	})
}
