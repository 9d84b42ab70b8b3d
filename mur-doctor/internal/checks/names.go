package checks

// Names are the ids of checks with what each is about, in the order of a report
// (DIA-206). An id never changes its meaning; a report may have several rows of
// one, told apart by their subjects, or none.
func Names() [][2]string {
	return [][2]string{
		{"kernel", "the system, and who this program runs as"},
		{"landlock", "Landlock: state, ABI, what it holds and what it does not know"},
		{"seccomp", "seccomp filters can be installed"},
		{"mount-namespace", "the rehearsal of a composed root (P4)"},
		{"network-namespace", "the rehearsal of a network namespace with local routes (P5)"},
		{"private-proc", "a fresh proc in a PID namespace (P6)"},
		{"cgroup", "a scope can be made for a session's processes, and in which hierarchies (P7)"},
		{"apparmor", "the value of `userns_grant` (P3)"},
		{"root", "only as root: as whom commands would run (P8)"},
		{"containment", "the strongest class of this host"},
		{"system-calls", "the kernel answers the calls mur is built on"},
		{"namespaces", "each kind of namespace a sealed session has of its own can be made"},
		{"cgroup-layout", "cgroup v2, v1 or hybrid, with the controllers of each"},
		{"memfd", "`vm.memfd_noexec`, which is not relied on"},
		{"open-files", "the limits of open files of this process"},
		{"tun", "that `/dev/net/tun` is not needed"},
		{"cgroup-leftover", "an empty cgroup of a killed program"},
		{"engine.core", "the engine for core modules"},
		{"engine.component", "the engine for components"},
		{"command", "one of the six commands is there and of this version"},
		{"home", "the murmur home is, or can be made, a directory of this user"},
		{"config", "a configuration file parses"},
		{"env-file", "the project's `.env` parses"},
		{"secrets", "a file that holds secrets is this user's alone"},
		{"mode", "a directory of the murmur home that others can enter"},
		{"session", "a stale session directory, and how many there are"},
		{"running-record", "a running record without its session, and how many sessions run"},
		{"compiled-form", "a compiled form that would never be loaded, and how many there are"},
		{"bundle", "how much of the murmur home's bundles no session uses"},
		{"store-entry", "a store entry that is not whole"},
		{"temporary", "an unfinished file of a killed writer"},
		{"manifest", "the manifest parses, and its unknown keys"},
		{"lock", "`murmur.lock` parses"},
		{"artifact", "a declared artifact is installed, as pinned, signed where demanded, and for this platform"},
		{"environment", "a variable or credential that is needed is set somewhere"},
		{"spend", "what is used of the day's ceilings"},
		{"spawn", "a capsule that may be delegated to"},
		{"staging", "a refusal of `mur-stage --check`, or that there is none"},
		{"posture", "a warning of `mur-stage --check`"},
	}
}
