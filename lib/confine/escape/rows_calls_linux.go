package escape

import "fmt"

// calls makes a try for each system call, with zero arguments.
func calls(advisory, owed string, names ...string) []Try {
	var out []Try
	for _, n := range names {
		out = append(out, Try{Do: []string{"call", "#" + n}, Advisory: advisory, Scoped: owed, Sealed: owed})
	}
	return out
}

// namespaces are the flags of clone(2), and unshare(2), for each kind.
var namespaces = []int{0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000}

func callRows() []Row {
	var unshare, clone []Try
	for _, f := range namespaces {
		flag := fmt.Sprintf("%#x", f)
		unshare = append(unshare, refused("EPERM", "call", "#unshare", flag))
		clone = append(clone, refused("EPERM", "clone", flag))
	}
	return []Row{
		{ID: "CON-P87", What: "io_uring", Kind: Boundary, Tries: calls("", "EPERM", "io_uring_setup", "io_uring_enter", "io_uring_register")},
		{ID: "CON-P88", What: "bpf, userfaultfd, perf_event_open", Kind: Boundary, Tries: calls("", "EPERM", "bpf", "userfaultfd", "perf_event_open")},
		{ID: "CON-P89", What: "keys of the kernel", Kind: Boundary, Tries: calls("", "EPERM", "add_key", "request_key", "keyctl")},
		{ID: "CON-P90", What: "open a file by its handle", Kind: Boundary, Tries: append(calls("", "EPERM", "open_by_handle_at"), in("EPERM", "EPERM|handle: *", "handle", "$CANARY", "$WORK/own"))},
		{ID: "CON-P91", What: "mounts and roots", Kind: Boundary, Tries: calls("", "EPERM", "mount", "umount2", "pivot_root", "chroot", "setns", "open_tree", "move_mount", "fsopen", "mount_setattr")},
		{ID: "CON-P92", What: "what changes the machine", Kind: Boundary, Tries: calls("EPERM", "EPERM", "init_module", "kexec_load", "reboot", "swapon", "settimeofday", "clock_settime")},
		{ID: "CON-P93", What: "every number that is not in the list", Kind: Boundary, Tries: []Try{
			{Do: []string{"sweep", "$KNOWN"}, Scoped: "EPERM", Sealed: "EPERM"},
			{Do: []string{"sweep", "$UNKNOWN"}, Scoped: "ENOSYS", Sealed: "ENOSYS"},
		}},
		{ID: "CON-P94", What: "a filter of its own", Kind: Boundary, Tries: []Try{
			refused("EPERM", "call", "#seccomp", "1"),
			refused("EPERM", "call", "#prctl", "22", "2"),
		}},
		{ID: "CON-P95", What: "garbage in the high half of an argument", Kind: Boundary, Tries: []Try{
			refused("EACCES", "socket-garbage", "1"), refused("EACCES", "socket-garbage", "16"),
			refused("EPERM", "socket-garbage", "38"), refused("ok", "socket-garbage", "2"),
		}},
		{ID: "CON-P97", What: "namespaces of its own", Kind: Boundary, Tries: append(append(unshare, clone...),
			refused("ENOSYS", "clone3", "0"), refused("ENOSYS", "clone3", "0x10000000"))},
		{ID: "CON-P98", What: "privileges", Kind: Boundary, special: alone(Try{Do: []string{"privileges"},
			Scoped: "eff 0 prm 0 inh 0 bnd 0 amb 0 nnp 1 seccomp 2", Sealed: "eff 0 prm 0 inh 0 bnd 0 amb 0 nnp 1 seccomp 2"})},
		{ID: "CON-P99", What: "become root", Kind: Boundary, Tries: []Try{
			always("EPERM|EINVAL", "setuid"), always("EPERM|EINVAL", "setgid"), always("EPERM|EINVAL", "setgroups"),
		}},
		{ID: "CON-P100", What: "who a command is, and whose its files are", Kind: Boundary, special: owner},
		{ID: "CON-P137", What: "what root could do outside", Kind: Boundary, special: rootOutside},
		{ID: "CON-P138", What: "denied calls through every entry", Kind: Boundary, Tries: []Try{
			{Do: []string{"entries", "64", "$DENIED"}, Scoped: "EPERM", Sealed: "EPERM", Control: []string{"call", "#getpid"}},
			{Do: []string{"entries", "32", "$DENIED"}, Scoped: "killed:SIGSYS", Sealed: "killed:SIGSYS", Control: []string{"call", "#getpid"}},
			{Do: []string{"entries", "x32", "$DENIED"}, Scoped: "killed:SIGSYS", Sealed: "killed:SIGSYS", Control: []string{"call", "#getpid"}},
		}},
	}
}
