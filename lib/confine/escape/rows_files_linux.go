package escape

func fileRows() []Row {
	const outside = "EROFS|EACCES"
	return []Row{
		{ID: "CON-P1", What: "read a file outside", Kind: Boundary, Tries: []Try{
			in("EACCES", "ENOENT", "read", "/etc/shadow"),
			in("EACCES", "ENOENT", "read", "$CANARY"),
		}},
		{ID: "CON-P2", What: "read /etc/passwd", Kind: Boundary, Tries: []Try{
			in("EACCES", "ok:root:x:0:0:root:/root:/bin/sh\ncapsule:x:*", "cat", "/etc/passwd"),
		}},
		{ID: "CON-P3", What: "create a file outside", Kind: Boundary, Tries: []Try{
			in("EACCES|EROFS", "ENOENT", "create", "$OUT/new"),
		}},
		{ID: "CON-P4", What: "append to and remove a file outside", Kind: Boundary, Tries: []Try{
			in("EACCES|EROFS", "ENOENT", "append", "$CANARY"),
			in("EACCES|EROFS", "ENOENT", "unlink", "$CANARY"),
		}},
		{ID: "CON-P5", What: "write to a literal /tmp", Kind: Boundary, special: literalTmp},
		{ID: "CON-P6", What: "stat a file outside", Kind: Boundary, Tries: []Try{
			{Do: []string{"stat", "$CANARY"}, Advisory: "ok", Scoped: "ok", Sealed: "ENOENT"},
		}},
		{ID: "CON-P7", What: "change metadata outside", Kind: Boundary, Tries: []Try{
			{Do: []string{"chmod", "$CANARY"}, Scoped: outside, Sealed: "ENOENT", Gap: "outside_metadata"},
			{Do: []string{"utimes", "$CANARY"}, Scoped: outside, Sealed: "ENOENT", Gap: "outside_metadata"},
		}},
		{ID: "CON-P8", What: "set an extended attribute outside", Kind: Boundary, Tries: []Try{
			{Do: []string{"setxattr", "$CANARY"}, Scoped: outside, Sealed: "ENOENT", Gap: "outside_metadata", Control: []string{"setxattr", "$XATTR"}},
		}},
		{ID: "CON-P9", What: "truncate a file outside", Kind: Boundary, Tries: []Try{
			in("EACCES|EPERM|EROFS", "ENOENT", "truncate", "$CANARY"),
		}},
		{ID: "CON-P10", What: "empty a granted file by opening it for reading", Kind: Boundary, Terms: lent, Tries: []Try{
			in("EACCES|EPERM|EROFS", outside, "open-trunc", "$LENT/known"),
			always("ok", "read", "$LENT/known"),
		}},
		{ID: "CON-P11", What: "list a folder that is granted for reading alone", Kind: Boundary, Terms: lent, Tries: []Try{
			refused("EACCES", "list", "$LENT"),
			always("ok", "read", "$LENT/known"),
			always("ok", "list", "$LISTED"),
		}},
		{ID: "CON-P19", What: "write to and run from a folder of host_paths", Kind: Boundary, Terms: lent, Tries: []Try{
			in("EACCES|EROFS", outside, "create", "$LENTPATH/new"),
			in("EACCES|EROFS", outside, "append", "$LENTPATH/known"),
			refused("EACCES", "exec", "$LENTPATH/program"),
			always("ok", "list", "$LENTPATH"),
		}},
		{ID: "CON-P20", What: "list directories of the system", Kind: Boundary, Tries: []Try{
			refused("EACCES", "list", "/"),
			refused("EACCES", "list", "/etc"),
			in("EACCES", "EACCES|ENOENT", "list", "/home"),
		}},
		{ID: "CON-P21", What: "create a file below /usr", Kind: Boundary, Tries: []Try{
			in("EACCES|EROFS", "EROFS|EACCES", "create", "/usr/mur-escape"),
		}},
		{ID: "CON-P23", What: "the work folder after a harmless command", Kind: Boundary, special: nothingAdded},
	}
}

func linkRows() []Row {
	return []Row{
		{ID: "CON-P24", What: "a link of the work folder to a file outside", Kind: Boundary, Tries: []Try{
			in("EACCES", "ENOENT", "symlink", "$CANARY", "$WORK/to-canary", "read"),
			in("EACCES|EROFS", "ENOENT", "symlink", "$CANARY", "$WORK/to-canary", "append"),
		}},
		{ID: "CON-P25", What: "a link of the work folder to /etc/passwd", Kind: Boundary, Tries: []Try{
			in("EACCES", "ok:root:x:0:0:root:/root:/bin/sh\ncapsule:x:*", "symlink", "/etc/passwd", "$WORK/to-passwd", "cat"),
		}},
		{ID: "CON-P26", What: "hard link a file outside into the work folder", Kind: Boundary, Tries: []Try{
			in("EXDEV|EACCES", "ENOENT", "link", "$CANARY", "$WORK/linked"),
		}},
		{ID: "CON-P27", What: "hard link a library into the work folder", Kind: Boundary, Tries: []Try{
			in("EXDEV|EACCES|EPERM", "EXDEV|EACCES|EPERM", "link", "$LIBRARY", "$WORK/library"),
		}},
		{ID: "CON-P28", What: "rename out of and into the work folder", Kind: Boundary, Tries: []Try{
			in("EXDEV|EACCES|EROFS", "ENOENT", "rename", "$WORK/own", "$OUT/moved"),
			in("EXDEV|EACCES|EROFS", "ENOENT", "rename", "$CANARY", "$WORK/moved"),
		}},
		{ID: "CON-P29", What: "rename between two folders of the work folder", Kind: Boundary, Tries: []Try{
			always("ok", "rename", "$WORK/a/file", "$WORK/b/file"),
		}},
		{ID: "CON-P31", What: "exchange a granted folder for a link while commands run", Kind: Boundary, special: exchanged},
		{ID: "CON-P32", What: "climb above the root", Kind: Boundary, Tries: []Try{
			{Do: []string{"up", "$CANARY"}, Scoped: "EACCES", Sealed: "ENOENT"},
		}},
	}
}

func processRows() []Row {
	const hidden = "EACCES|ENOENT"
	return []Row{
		{ID: "CON-P33", What: "a file outside through /proc/self/root", Kind: Boundary, Tries: []Try{
			in("EACCES", "ENOENT|EACCES", "read", "/proc/self/root$CANARY"),
		}},
		{ID: "CON-P34", What: "a file outside through /proc/self/cwd", Kind: Boundary, Tries: []Try{
			in("EACCES", "ENOENT|EACCES", "read", "/proc/self/cwd/../canary/file"),
		}},
		{ID: "CON-P35", What: "what /proc shows of mur-shell", Kind: Boundary, Tries: []Try{
			{Do: []string{"read", "/proc/$SHELL/environ"}, Advisory: "EACCES|ENOENT", Scoped: hidden, Sealed: hidden},
			refused(hidden, "read", "/proc/$SHELL/root$CANARY"),
			refused(hidden, "list", "/proc/$SHELL/cwd"),
			refused(hidden, "open", "/proc/$SHELL/mem"),
			refused(hidden, "list", "/proc/$SHELL/fd"),
		}},
		{ID: "CON-P36", What: "what /proc shows of the holder and the worker", Kind: Boundary, Tries: []Try{
			{Do: []string{"read", "/proc/$HOLDER/environ"}, Advisory: "EACCES|ENOENT|ok", Scoped: hidden, Sealed: hidden},
			refused(hidden, "open", "/proc/$HOLDER/mem"),
			refused(hidden, "open", "/proc/1/environ"),
			refused(hidden, "open", "/proc/1/mem"),
		}},
		{ID: "CON-P37", What: "re-open a device for writing", Kind: Boundary, Tries: []Try{
			refused("EACCES", "reopen", "/dev/urandom"),
		}},
		{ID: "CON-P38", What: "re-open a library for writing", Kind: Boundary, Tries: []Try{
			in("EACCES|EROFS", "EACCES|EROFS", "reopen", "$LIBRARY"),
		}},
		{ID: "CON-P39", What: "write what /proc has to write", Kind: Boundary, Tries: []Try{
			refused("EACCES|EROFS|ENOENT", "open-write", "/proc/sys/kernel/core_pattern"),
			refused("EACCES|EROFS|ENOENT", "open-write", "/proc/sysrq-trigger"),
			refused("EACCES|EROFS|ENOENT", "open-write", "/proc/self/oom_score_adj"),
		}},
		{ID: "CON-P40", What: "count the processes in /proc", Kind: Boundary, Tries: []Try{
			in("EACCES", "few", "processes"),
		}},
		{ID: "CON-P101", What: "trace another process", Kind: Boundary, Tries: []Try{
			refused("EPERM", "call", "#ptrace", "16", "$SHELL"),
			refused("EPERM", "call", "#ptrace", "0"),
		}},
		{ID: "CON-P102", What: "read another process's memory", Kind: Boundary, Tries: []Try{
			refused("EPERM", "vm-read", "$SHELL"),
			refused("EPERM", "vm-read", "1"),
			refused("EACCES|ENOENT", "open", "/proc/$SHELL/mem"),
		}},
		{ID: "CON-P104", What: "signal a process outside", Kind: Boundary, Tries: []Try{
			{Do: []string{"kill", "$VICTIM", "0"}, Scoped: "ESRCH|EPERM", Sealed: "ESRCH|EPERM", Gap: "signals"},
			{Do: []string{"kill", "$VICTIM", "15"}, Scoped: "ESRCH|EPERM", Sealed: "ESRCH|EPERM", Gap: "signals"},
		}},
		{ID: "CON-P105", What: "signal everything", Kind: Boundary, special: killEverything},
		{ID: "CON-P106", What: "change another process's limits and processors", Kind: Boundary, Tries: []Try{
			refused("EPERM|ESRCH", "prlimit", "$SHELL"),
			refused("EPERM|ESRCH", "prlimit", "1"),
			refused("EPERM|ESRCH", "affinity", "$SHELL"),
		}},
		{ID: "CON-P107", What: "kill its own group", Kind: Boundary, Tries: []Try{
			always("killed:SIGKILL", "kill-group"),
		}},
		{ID: "CON-P108", What: "System V memory and POSIX queues of the user outside", Kind: Boundary, Tries: []Try{
			refused("ENOENT", "shm", "$SHM"),
			refused("ENOENT|EACCES", "mq", "$QUEUE"),
		}},
	}
}

func descriptorRows() []Row {
	return []Row{
		{ID: "CON-P41", What: "descriptors that mur-shell holds without close-on-exec", Kind: Boundary, special: alone(always("none", "descriptors"))},
		{ID: "CON-P43", What: "terminals and sockets among 0, 1 and 2", Kind: Boundary, special: alone(always("none", "stdio"))},
		{ID: "CON-P44", What: "write to every number from 3 to 1023", Kind: Boundary, special: alone(always("none", "descriptors"))},
		{ID: "CON-P45", What: "take a descriptor of mur-shell", Kind: Boundary, Tries: []Try{
			refused("EPERM|pidfd_open: ESRCH", "pidfd-getfd", "$SHELL"),
			refused("EPERM", "pidfd-getfd", "1"),
		}},
		{ID: "CON-P46", What: "type into a terminal", Kind: Boundary, Tries: []Try{
			refused("EPERM|ENXIO", "tiocsti", "0"),
			refused("EPERM|ENXIO|EACCES", "tiocsti", "/dev/tty"),
		}},
		{ID: "CON-P136", What: "find the worker's socket", Kind: Boundary, special: alone(always("none", "descriptors"))},
	}
}

func deviceRows() []Row {
	return []Row{
		{ID: "CON-P47", What: "make device nodes in the work folder", Kind: Boundary, Tries: []Try{
			{Do: []string{"mknod", "$WORK/block", "block"}, Advisory: "EPERM|EACCES", Scoped: "EACCES|EPERM", Sealed: "EACCES|EPERM", Control: []string{"mkfifo", "$WORK/fifo-1"}},
			{Do: []string{"mknod", "$WORK/char", "char"}, Advisory: "EPERM|EACCES", Scoped: "EACCES|EPERM", Sealed: "EACCES|EPERM", Control: []string{"mkfifo", "$WORK/fifo-2"}},
		}},
		{ID: "CON-P48", What: "make a socket in the work folder", Kind: Boundary, Tries: []Try{
			{Do: []string{"mknod", "$WORK/socket", "socket"}, Scoped: "EACCES", Sealed: "EACCES", Control: []string{"mkfifo", "$WORK/fifo-3"}},
			refused("socket: EACCES", "bind-unix", "$WORK/bound"),
		}},
		{ID: "CON-P49", What: "make a pipe in the work folder", Kind: Boundary, Tries: []Try{
			always("ok", "mkfifo", "$WORK/fifo"),
		}},
		{ID: "CON-P50", What: "open devices", Kind: Boundary, Tries: []Try{
			in("EACCES|ENOENT", "ENOENT", "open", "/dev/mem"),
			in("EACCES|ENOENT", "ENOENT", "open", "/dev/kmsg"),
			in("EACCES|ENOENT", "ENOENT", "open", "/dev/fuse"),
			in("EACCES|ENOENT", "ENOENT", "open", "/dev/kvm"),
			in("EACCES|ENOENT", "ENOENT", "open", "$DISK"),
		}},
		{ID: "CON-P51", What: "create files below /dev", Kind: Boundary, Tries: []Try{
			in("EACCES|EROFS", "EROFS|EACCES", "create", "/dev/mur-escape"),
		}},
		{ID: "CON-P141", What: "share memory with the host", Kind: Boundary, special: sharedMemory},
		{ID: "CON-P52", What: "make a terminal", Kind: Boundary, Tries: []Try{
			in("EACCES", "ok", "pty"),
		}},
	}
}
