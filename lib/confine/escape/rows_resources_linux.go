package escape

func resourceRows() []Row {
	return []Row{
		{ID: "CON-P103", What: "a crash leaves no core", Kind: Boundary, special: crash},
		{ID: "CON-P109", What: "a fork bomb", Kind: Resource, special: forkBomb},
		{ID: "CON-P110", What: "processes beyond max_processes", Kind: Resource, special: limited("EAGAIN after *", []string{"max_processes=24"}, "forks", "200", "$SLEEP", "30")},
		{ID: "CON-P111", What: "a file beyond max_file_size_bytes", Kind: Resource, special: limited("EFBIG|killed:SIGXFSZ", []string{"max_file_size_bytes=1048576"}, "fill", "$WORK/big", "4")},
		{ID: "CON-P112", What: "files beyond max_open_files", Kind: Resource, special: limited("EMFILE after 64|EMFILE after 6*|EMFILE after 5*", []string{"max_open_files=64"}, "files")},
		{ID: "CON-P113", What: "processor time beyond cpu_seconds", Kind: Resource, special: cpuTime},
		{ID: "CON-P114", What: "memory beyond memory_bytes", Kind: Resource, special: limited("ENOMEM", []string{"memory_bytes=4294967296"}, "map", "8")},
		{ID: "CON-P115", What: "memory of several processes beyond cgroup_memory_bytes", Kind: Resource, special: groupMemory},
		{ID: "CON-P117", What: "raise a limit", Kind: Resource, Tries: []Try{
			always("EPERM", "raise", "core"), always("EPERM", "raise", "nofile"), always("EPERM", "raise", "fsize"),
			always("EPERM", "raise", "cpu"), always("EPERM", "raise", "as"), always("EPERM", "raise", "nproc"),
			always("0 0", "limit", "core"),
		}},
		{ID: "CON-P118", What: "write to its cgroup", Kind: Boundary, Tries: []Try{
			in("EACCES|EROFS", "ENOENT|EACCES", "open-write", "$CGROUP/cgroup.procs"),
			in("EACCES|EROFS|ENOENT", "ENOENT|EACCES", "open-write", "$CGROUP/memory.max"),
		}},
		{ID: "CON-P119", What: "SIGKILL to mur-shell while strays run", Kind: Boundary, special: killShell},
		{ID: "CON-P139", What: "limits and files of the cgroup hierarchy of this host", Kind: Resource, special: forkBomb},
		{ID: "CON-P134", What: "a stray that closed everything", Kind: Boundary, special: stray},
	}
}

func settingRows() []Row {
	return []Row{
		{ID: "CON-P120", What: "credentials of the caller's environment", Kind: Boundary, special: credentials},
		{ID: "CON-P121", What: "home and temporary folder", Kind: Boundary, special: homes},
		{ID: "CON-P122", What: "variables that steer loaders and interpreters", Kind: Boundary, special: steering},
		{ID: "CON-P128", What: "redirect into a protected path", Kind: Boundary, special: protected(true,
			"echo x > locked/a", "echo x 2>>locked/a", "cat own |tee locked/a")},
		{ID: "CON-P129", What: "other spellings of a protected path", Kind: Boundary, special: protected(true,
			"echo x > locked/../locked/a", "echo x > to-locked/a", "echo x > ./locked//a")},
		{ID: "CON-P131", What: "a write that the analyser can not see", Kind: Boundary, special: protected(false, `f=locked; echo x > "$f"/a`)},
	}
}
