package seccomp

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
)

// decide runs a filter in the BPF interpreter, which reads words in network
// order; the kernel reads them in the machine's.
func decide(t testing.TB, prog []bpf.Instruction, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(prog)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offNumber:], nr)
	binary.BigEndian.PutUint32(data[offArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offArgs+8*i+4:], uint32(a>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

func build(t testing.TB, a Arch, o Options) []bpf.Instruction {
	t.Helper()
	prog, err := Build(a, o)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

// Every number of the table, and every number beside one. CON-92, CON-94, CON-100, CON-280
func TestEveryNumber(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		prog := build(t, a, Options{NoexecMemfd: true, TruncateMediated: true})
		names := map[uint32]string{}
		for name, n := range a.numbers {
			names[n] = name
		}
		ruled := map[string]bool{"socket": true, "clone": true, "execveat": true, "ioctl": true, "prctl": true, "prlimit64": true, "memfd_create": true, "socketpair": true}
		for n := range uint32(1000) {
			name, known := names[n]
			if ruled[name] {
				continue
			}
			want := eperm
			switch {
			case !known, name == "clone3":
				want = enosys
			case slices.Contains(allowed, name):
				want = allow
			}
			if got := decide(t, prog, a.audit, n); got != want {
				t.Errorf("%s: call %d (%s) gets %#x, want %#x", a.Name, n, name, got, want)
			}
		}
	}
}

// CON-93: the hole a filter leaves that looks at numbers before the architecture.
func TestForeignArchitectureDies(t *testing.T) {
	const i386 = 0x40000003
	prog := build(t, AMD64, Options{UnixSockets: true, NoexecMemfd: true, TruncateMediated: true})
	for n := range uint32(500) {
		if got := decide(t, prog, i386, n); got != killProcess {
			t.Fatalf("32-bit call %d gets %#x", n, got)
		}
		if got := decide(t, prog, AMD64.audit, n|x32Bit); got != killProcess {
			t.Fatalf("x32 call %d gets %#x", n, got)
		}
		if got := decide(t, prog, ARM64.audit, n); got != killProcess {
			t.Fatalf("arm64 call %d gets %#x", n, got)
		}
	}
}

// CON-70, CON-98, CON-103 to CON-110
func TestArgumentRules(t *testing.T) {
	strict := Options{NoexecMemfd: true, TruncateMediated: true}
	unix := Options{UnixSockets: true, NoexecMemfd: true, TruncateMediated: true}
	old := Options{}
	for _, tc := range []struct {
		name string
		o    Options
		call string
		args []uint64
		want uint32
	}{
		{"inet", strict, "socket", []uint64{afInet}, allow},
		{"inet6", strict, "socket", []uint64{afInet6}, allow},
		{"unix", strict, "socket", []uint64{afUnix}, eacces},
		{"unix granted", unix, "socket", []uint64{afUnix}, allow},
		{"netlink", unix, "socket", []uint64{afNetlink}, eacces},
		{"packet", unix, "socket", []uint64{afPacket}, eacces},
		{"vsock", unix, "socket", []uint64{40}, eperm},
		{"unspec", unix, "socket", []uint64{0}, eperm},
		{"high half is not looked at", strict, "socket", []uint64{1<<32 | afUnix}, eacces},
		{"datagram pair", strict, "socketpair", []uint64{afUnix, sockDgram}, eacces},
		{"datagram pair with flags", strict, "socketpair", []uint64{afUnix, sockDgram | 0x80000}, eacces},
		{"stream pair", strict, "socketpair", []uint64{afUnix, 1 | 0x80000}, allow},
		{"datagram pair granted", unix, "socketpair", []uint64{afUnix, sockDgram}, allow},
		{"thread", strict, "clone", []uint64{0x3d0f00}, allow},
		{"user namespace", strict, "clone", []uint64{0x10000000}, eperm},
		{"mount namespace", strict, "clone", []uint64{0x20000 | 17}, eperm},
		{"time namespace", strict, "clone", []uint64{0x80}, eperm},
		{"exec by path", strict, "execveat", []uint64{5, 0, 0, 0, 0}, allow},
		{"exec by descriptor", strict, "execveat", []uint64{5, 0, 0, 0, atEmptyPath}, eacces},
		{"terminal size", strict, "ioctl", []uint64{0, 0x5413}, allow},
		{"push input", strict, "ioctl", []uint64{0, tiocsti}, eperm},
		{"push input, high bits", strict, "ioctl", []uint64{0, 1<<32 | tiocsti}, eperm},
		{"paste", strict, "ioctl", []uint64{0, tioclinux}, eperm},
		{"name thread", strict, "prctl", []uint64{15}, allow},
		{"own filter", strict, "prctl", []uint64{prSetSeccomp}, eperm},
		{"own limit", strict, "prlimit64", []uint64{0}, allow},
		{"other's limit", strict, "prlimit64", []uint64{1}, eperm},
		{"memfd", strict, "memfd_create", []uint64{0, 0}, eperm},
		{"memfd noexec", strict, "memfd_create", []uint64{0, mfdNoexecSeal | 1}, allow},
		{"memfd, old kernel", old, "memfd_create", []uint64{0, mfdNoexecSeal}, eperm},
		{"truncate, old kernel", old, "truncate", nil, eperm},
		{"openat2, old kernel", old, "openat2", nil, enosys},
		{"open to truncate for reading, old kernel", old, "openat", []uint64{0, 0, oTrunc}, eperm},
		{"open to truncate for writing, old kernel", old, "openat", []uint64{0, 0, oTrunc | 1}, allow},
		{"open, old kernel", old, "open", []uint64{0, oTrunc}, eperm},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, ok := AMD64.Number(tc.call)
			if !ok {
				t.Fatalf("no number for %s", tc.call)
			}
			if got := decide(t, build(t, AMD64, tc.o), AMD64.audit, n, tc.args...); got != tc.want {
				t.Errorf("%s%v gets %#x, want %#x", tc.call, tc.args, got, tc.want)
			}
		})
	}
}

// CON-95: the counts make an edit of either list a decision somebody takes.
func TestListsAreDisjointAndComplete(t *testing.T) {
	for _, name := range allowed {
		if slices.Contains(denied, name) {
			t.Errorf("%s is allowed and must stay denied", name)
		}
	}
	if len(allowed) != 274 || len(denied) != 73 {
		t.Errorf("%d allowed and %d denied: change docs/spec and these counts together", len(allowed), len(denied))
	}
	prog := build(t, AMD64, Options{UnixSockets: true, NoexecMemfd: true, TruncateMediated: true})
	for _, name := range denied {
		if n, ok := AMD64.Number(name); ok {
			if got := decide(t, prog, AMD64.audit, n); got != eperm {
				t.Errorf("%s gets %#x", name, got)
			}
		}
	}
}

// CON-96
func TestFilterStaysSmall(t *testing.T) {
	for _, o := range []Options{{}, {UnixSockets: true, NoexecMemfd: true, TruncateMediated: true}} {
		if n := len(build(t, AMD64, o)); n > 512 {
			t.Errorf("%d instructions with %+v", n, o)
		} else {
			t.Logf("%d instructions with %+v", n, o)
		}
	}
}
