package seccomp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Host is the architecture this program runs on; a build for another has none.
func Host() (Arch, error) {
	switch runtime.GOARCH {
	case "amd64":
		return AMD64, nil
	case "arm64":
		return ARM64, nil
	}
	return Arch{}, fmt.Errorf("no table of system calls for %s", runtime.GOARCH)
}

// KnowsNoexecMemfd asks the kernel whether it knows MFD_NOEXEC_SEAL.
func KnowsNoexecMemfd() bool {
	fd, err := unix.MemfdCreate("mur-probe", mfdNoexecSeal|unix.MFD_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

// Install puts the filter on every thread of the process for good, and on every
// program it starts. no_new_privs must be set. The error of a thread that could
// not be reached names its id.
func Install(prog []bpf.Instruction) error {
	raw, err := bpf.Assemble(prog)
	if err != nil {
		return fmt.Errorf("assemble filter: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return fmt.Errorf("install filter: %w", errno)
	}
	if tid != 0 {
		return fmt.Errorf("install filter: thread %d has another one", tid)
	}
	return nil
}
