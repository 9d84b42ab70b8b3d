package escape

func execRows() []Row {
	const noexec = "loader_exec"
	return []Row{
		{ID: "CON-P53", What: "run a system program that is not allowed", Kind: Boundary, Tries: []Try{
			refused("EACCES", "exec", "$OTHER"),
		}},
		{ID: "CON-P54", What: "run a copy of an allowed program from the work folder", Kind: Boundary, Tries: []Try{
			refused("EACCES", "copy-exec", "$TRUE", "$WORK/true"),
		}},
		{ID: "CON-P55", What: "run a program of the work folder, by any name", Kind: Boundary, Tries: []Try{
			refused("EACCES", "exec", "$WORK/program"),
			refused("EACCES", "rename-exec", "$WORK/program", "$WORK/renamed"),
			refused("EACCES", "link-exec", "$WORK/program", "$WORK/hard"),
			refused("EACCES", "symlink-exec", "$WORK/program", "$WORK/soft"),
			refused("EACCES", "execveat", "$WORK/program"),
		}},
		{ID: "CON-P56", What: "run a program of the session's tmp and home", Kind: Boundary, Tries: []Try{
			refused("EACCES", "copy-exec", "$TRUE", "%TMPDIR/program"),
			refused("EACCES", "copy-exec", "$TRUE", "%HOME/program"),
		}},
		{ID: "CON-P57", What: "the same with workdir_exec", Kind: Boundary, Terms: runnable, Tries: []Try{
			{Do: []string{"exec", "$WORK/program"}, Advisory: "ok"},
			{Do: []string{"copy-exec", "$TRUE", "$WORK/true"}, Advisory: "ok"},
		}},
		{ID: "CON-P58", What: "run a program from memory", Kind: Boundary, Tries: []Try{
			{Do: []string{"memfd-proc", "$TRUE"}, Scoped: "EPERM|EACCES", Sealed: "EPERM|EACCES", Control: []string{"exec", "$TRUE"}},
			{Do: []string{"memfd-execveat", "$TRUE"}, Scoped: "EPERM|EACCES", Sealed: "EPERM|EACCES", Control: []string{"exec", "$TRUE"}},
		}},
		{ID: "CON-P59", What: "run a program of the work folder through the dynamic loader", Kind: Boundary, Tries: []Try{
			{Do: []string{"exec", "$LOADER", "$WORK/program"}, Scoped: "exit 127", Sealed: "exit 127", Gap: noexec, Control: []string{"exec", "$LOADER", "$TRUE"}},
			{Do: []string{"map-exec", "$WORK/program"}, Scoped: "EPERM|EACCES", Sealed: "EPERM|EACCES", Gap: noexec, Control: []string{"map-exec", "$TRUE"}},
		}},
		{ID: "CON-P60", What: "run a program beside an allowed one", Kind: Boundary, Tries: []Try{
			refused("EACCES", "exec", "$NEIGHBOUR"),
		}},
		{ID: "CON-P61", What: "run a program of an interpreter's own directories", Kind: Boundary, special: derivedProgram},
		{ID: "CON-P62", What: "run a set-uid program that is allowed", Kind: Boundary, special: setuidProgram},
		{ID: "CON-P63", What: "run a script of the work folder whose interpreter is allowed", Kind: Boundary, Tries: []Try{
			{Do: []string{"exec", "$WORK/script"}, Scoped: "EACCES", Sealed: "EACCES", Control: []string{"exec", "$SH", "$WORK/script"}},
		}},
		{ID: "CON-P64", What: "enter the kernel through the 32-bit gate", Kind: Boundary, Tries: []Try{
			refused("killed:SIGSYS|no 32-bit gate on this architecture", "call-32", "20"),
		}},
		{ID: "CON-P132", What: "load a library of the work folder, tmp and home", Kind: Boundary, Tries: []Try{
			preload("preload", "$WORK/library.so"),
			preload("copy-preload", "$WORK/library.so", "%TMPDIR/library.so"),
			preload("copy-preload", "$WORK/library.so", "%HOME/library.so"),
		}},
		{ID: "CON-P133", What: "a refused program of the work folder names workdir_exec", Kind: Boundary, special: namesKey},
		{ID: "CON-P140", What: "map memory executable", Kind: Boundary, Tries: []Try{
			{Do: []string{"memfd-map", "$TRUE"}, Scoped: "EPERM|EACCES", Sealed: "EPERM|EACCES", Control: []string{"map-exec", "$TRUE"}},
		}},
	}
}

// preload loads a library that lies where commands may write into an allowed
// program.
func preload(do ...string) Try {
	return Try{Do: append(do, "$TRUE"), Scoped: "EPERM", Sealed: "EPERM", Gap: "loader_exec", Control: []string{"exec", "$TRUE"}}
}
